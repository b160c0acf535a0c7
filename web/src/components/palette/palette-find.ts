import type { ReactNode } from 'react';
import { fold } from '../../studio/models.ts';

/** What the palette offers, and which of it fits what somebody has typed. */

export interface Offer {
  /** The same each time, so that it is known again among the recent ones. */
  id: string;
  label: string;
  /** Beside it: what it belongs to. */
  note?: string;
  /** By which it is found as well. */
  words?: string;
  icon: ReactNode;
  run: () => void;
}

export interface OfferGroup {
  name: string;
  offers: Offer[];
}

/** Those that hold every word, first where a name begins so. */
export function fitting(offers: Offer[], typed: string, most: number): Offer[] {
  const words = fold(typed).split(/\s+/).filter(Boolean);
  const scored = offers.map((offer) => ({ offer, score: scoreOf(offer, words) }));
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ offer }) => offer);
}

function scoreOf({ label, note = '', words = '' }: Offer, wanted: string[]): number {
  const name = fold(label);
  const all = `${name} ${fold(note)} ${fold(words)}`;
  if (!wanted.every((word) => all.includes(word))) return 0;
  const [first = ''] = wanted;
  if (name.startsWith(first)) return 3;
  return name.includes(first) ? 2 : 1;
}

/** The id of a request or how it begins, as it stands in what was typed or pasted; else null. */
export function idIn(typed: string): string | null {
  const whole = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(typed);
  // Fewer than six digits begin the ids of whole days.
  const part = /^[0-9a-f]{6,8}(?:-[0-9a-f-]{0,27})?$/i.exec(typed.trim());
  return (whole ?? part)?.[0].toLowerCase() ?? null;
}

const most = 5;
const keptFor = (person_id: string) => `farebox-recent-${person_id}`;

/** Ids of what somebody has last chosen here, the newest first. */
export function recentOf(person_id: string): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keptFor(person_id)) ?? '[]');
    return Array.isArray(kept) ? kept.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

export function keepRecent(person_id: string, id: string): void {
  const others = recentOf(person_id).filter((each) => each !== id);
  localStorage.setItem(keptFor(person_id), JSON.stringify([id, ...others].slice(0, most)));
}
