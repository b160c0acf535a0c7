import type { ReactNode } from 'react';
import { fold } from '../../studio/models.ts';

/** The entries of the palette, and which of them match a search text. */

export interface Offer {
  /** Stable, so that a recently chosen entry is recognised. */
  id: string;
  label: string;
  /** Shown beside the label: the section it belongs to. */
  note?: string;
  /** More words to match. */
  words?: string;
  icon: ReactNode;
  run: () => void;
}

export interface OfferGroup {
  name: string;
  offers: Offer[];
}

/**
 * The entries that contain every word of the text. Entries whose label begins with the first word
 * come first.
 */
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

/**
 * A request id, or the beginning of one, in a search text; null if there is none. Our number of a
 * call is the id of its request without dashes.
 */
export function idIn(typed: string): string | null {
  const number = /req_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})/i.exec(
    typed,
  );
  if (number) return number.slice(1).join('-').toLowerCase();
  const whole = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(typed);
  // Fewer than six digits would match the ids of whole days.
  const part = /^[0-9a-f]{6,8}(?:-[0-9a-f-]{0,27})?$/i.exec(typed.trim());
  return (whole ?? part)?.[0].toLowerCase() ?? null;
}

/** A text that may be a caller's own number of a call: one word with a digit. */
export function numberIn(typed: string): string | null {
  const text = typed.trim();
  return /^(?=.*\d)[!-~]{6,128}$/.test(text) ? text : null;
}

const most = 5;
const storageKeyOf = (person_id: string) => `farebox-recent-${person_id}`;

/** Ids of the last chosen entries, newest first. */
export function recentOf(person_id: string): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKeyOf(person_id)) ?? '[]');
    return Array.isArray(kept) ? kept.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

export function keepRecent(person_id: string, id: string): void {
  const others = recentOf(person_id).filter((each) => each !== id);
  localStorage.setItem(storageKeyOf(person_id), JSON.stringify([id, ...others].slice(0, most)));
}
