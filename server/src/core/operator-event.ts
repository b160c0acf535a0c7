import { keysOf } from '../lib/records.ts';
import { formatUsd } from './price/money.ts';

/** Events to the operator: their types, their form on the wire, and emails about them. Pure. */

/** The facts of each type of event. Amounts are decimal strings, as on the wire. */
export interface EventFacts {
  'deposit.credited': DepositFacts & { transfer_id: string };
  'deposit.held': DepositFacts & { why: string };
  'account.created': { email: string };
  'balance.low': { available_usd_micro: string; low_balance_usd_micro: string };
  'upstream.paused': UpstreamFacts & { seconds: number };
  'upstream.credential': UpstreamFacts;
  'chain.stopped': { chain: string; why: string };
  'books.broken': { laws: string[] };
  /** `day`: the day (UTC) that was over, YYYY-MM-DD. */
  'books.sealed': { head: string; day: string; seals: number; transfers: number };
  'disk.low': { host: string; disk: 'data' | 'media'; free_bytes: number };
  'outcome.unknown': {
    count: number;
    /** The first few of all `count` requests. */
    request_ids: string[];
    since: string;
    until: string;
  };
}

interface DepositFacts {
  deposit_id: string;
  chain: string;
  token: string;
  tx_hash: string;
  log_position: number | null;
  amount_usd_micro: string;
}

interface UpstreamFacts {
  upstream: string;
  /** Null: the whole upstream. */
  model: string | null;
  /** The name of the key; null: the upstream has only one key, or all its keys are concerned. */
  key: string | null;
  why: string;
  /** The upstream's own words. */
  cause: string;
}

export type EventType = keyof EventFacts;

/** An event before it is written. */
export type NewEvent = {
  [Type in EventType]: { type: Type; account_id: string | null; data: EventFacts[Type] };
}[EventType];

/** Each type in one sentence. Events may be older than the code, so any fact may be missing. */
const sentences: Record<EventType, (of: FactOf) => string> = {
  'deposit.credited': (of) =>
    `A deposit of ${usdOf(of('amount_usd_micro'))} USD on ${of('chain')} was credited.`,
  'deposit.held': (of) =>
    `A deposit of ${usdOf(of('amount_usd_micro'))} USD on ${of('chain')} is held (${of('why')}).`,
  'account.created': (of) => `The account ${of('email')} was created.`,
  'balance.low': (of) => `An account has ${usdOf(of('available_usd_micro'))} USD left.`,
  'upstream.paused': (of) =>
    `The upstream ${of('upstream')} is paused${ofModel(of)}${withKey(of)} (${of('why')}): ${of('cause')}`,
  'upstream.credential': (of) =>
    of('why') === 'account'
      ? `Your account at the upstream ${of('upstream')} is out of credit${withKey(of)}.`
      : `The upstream ${of('upstream')} rejects your key${withKey(of)}.`,
  'chain.stopped': (of) => `The chain ${of('chain')} is not read: ${of('why')}`,
  'books.broken': (of) => `The books do not balance: ${of('laws').replaceAll(',', ', ')}`,
  'books.sealed': (of) => `The books of ${of('day')} are sealed: ${of('head')}`,
  'disk.low': (of) =>
    `The ${of('disk')} disk on ${of('host')} is nearly full: ${of('free_bytes')} bytes are free.`,
  'outcome.unknown': (of) => `Requests whose outcome is unknown: ${of('count')}.`,
};

export const eventTypes = keysOf(sentences);

/** Events of normal operation, about which no email is sent. */
const withoutLetter = new Set<EventType>([
  'deposit.credited',
  'account.created',
  'balance.low',
  'books.sealed',
]);

export function needsLetter(type: EventType): boolean {
  return !withoutLetter.has(type);
}

export interface StoredEvent {
  id: string;
  type: EventType;
  account_id: string | null;
  data: Record<string, unknown>;
  created_at: Date;
}

/** An event as the webhook and the operator's API show it. */
export function eventView({ id, type, account_id, data, created_at }: StoredEvent) {
  return { event_id: id, type, account_id, created_at, data };
}

/** The email about these events. `count`: the number of all events, also those not in `events`. */
export function eventLetter(
  events: readonly StoredEvent[],
  count: number,
  origin: string,
): { subject: string; text: string } {
  const lines = events.map(
    (event) => `- ${event.created_at.toISOString().slice(0, 16)}Z: ${sentenceOf(event)}`,
  );
  const more = count - events.length;
  const subject = count === 1 ? subjectOf(events[0]!) : `${count} events need attention`;
  const text = [
    [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n'),
    `The console:\n${origin}/operator`,
    '',
  ].join('\n\n');
  return { subject: `Farebox: ${subject}`, text };
}

/** Callers choose the address of an account, so a subject does not have it. */
function subjectOf(event: StoredEvent): string {
  return event.type === 'account.created' ? 'A new account' : sentenceOf(event).slice(0, 120);
}

function sentenceOf({ type, data }: StoredEvent): string {
  return sentences[type]((name) => String(data[name] ?? ''));
}

/** The text of a fact; empty if it is missing. */
type FactOf = (name: string) => string;

const ofModel = (of: FactOf) => of('model') && ` for the model ${of('model')}`;
const withKey = (of: FactOf) => of('key') && ` with the key ${of('key')}`;

function usdOf(amount: string): string {
  return /^\d{1,18}$/.test(amount) ? formatUsd(BigInt(amount)) : '?';
}
