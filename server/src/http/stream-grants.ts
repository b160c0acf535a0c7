import { ApiError } from '../core/errors.ts';
import type { KeyGrant } from '../db/accounts/callers.ts';
import type { PersonGrant } from '../db/accounts/people.ts';
import { challenge } from './errors.ts';

export type Grant = PersonGrant | KeyGrant;

/** Checks regularly whether the keys and people behind open streams still have access. */
export interface StreamGrants {
  /**
   * Registers a stream until the returned function is called; `over` is called when access ends.
   * Throws `rate_limited` if the person has as many open as allowed.
   */
  join(grant: Grant, over: () => void): () => void;
  isFull(grant: Grant): boolean;
  close(): void;
}

interface Options {
  areStillThere: (grants: PersonGrant[]) => Promise<boolean[]>;
  /** For each hash, whether its key may be used now. */
  areGood: (hashes: Buffer[]) => Promise<boolean[]>;
  onError: (error: unknown) => void;
  everyMs: number;
}

/** Maximum number of streams and waiting calls of one person in this process, over all browsers. */
export const openMax = 20;
const againSeconds = 30;

export function overWords(grant: Grant): string {
  return 'key_hash' in grant
    ? 'This key was revoked or has expired, or its account is suspended.'
    : 'You are signed out, or no longer belong to this account.';
}

/** The refusal of a waiting call whose access has ended. */
export function accessOver(grant: Grant): ApiError {
  const message = overWords(grant);
  return 'key_hash' in grant
    ? new ApiError('unauthorized', { message, headers: challenge })
    : new ApiError('forbidden', { message, reason: 'access_over' });
}

export function createStreamGrants(options: Options): StreamGrants {
  const { areStillThere, areGood, onError, everyMs } = options;
  const open = new Map<() => void, Grant>();
  const held = new Map<string, number>();
  const timer = setInterval(() => void judge().catch(onError), everyMs).unref();

  async function judge(): Promise<void> {
    const people: [() => void, PersonGrant][] = [];
    const keys = new Map<string, { hash: Buffer; ends: (() => void)[] }>();
    for (const [over, grant] of open) {
      if (!('key_hash' in grant)) {
        people.push([over, grant]);
        continue;
      }
      // Thousands of streams may belong to one key, so each key is checked once.
      const name = grant.key_hash.toString('latin1');
      const group = keys.get(name);
      if (group) group.ends.push(over);
      else keys.set(name, { hash: grant.key_hash, ends: [over] });
    }
    const groups = [...keys.values()];
    const [there, good] = await Promise.all([
      people.length === 0 ? [] : areStillThere(people.map(([, grant]) => grant)),
      groups.length === 0 ? [] : areGood(groups.map(({ hash }) => hash)),
    ]);
    const ends = groups.flatMap((group, i) => (good[i] ? [] : group.ends));
    ends.push(...people.flatMap(([over], i) => (there[i] ? [] : [over])));
    for (const over of ends) if (open.has(over)) over();
  }

  // Streams opened with keys are limited by account, not here.
  const isFull = (grant: Grant) =>
    'person_id' in grant && (held.get(grant.person_id) ?? 0) >= openMax;

  function add(grant: Grant, count: 1 | -1): void {
    if (!('person_id' in grant)) return;
    const { person_id } = grant;
    const now = (held.get(person_id) ?? 0) + count;
    if (now === 0) held.delete(person_id);
    else held.set(person_id, now);
  }

  return {
    join(grant, over) {
      if (isFull(grant)) throw tooManyOpen();
      open.set(over, grant);
      add(grant, 1);
      return () => {
        if (open.delete(over)) add(grant, -1);
      };
    },
    isFull,
    close: () => clearInterval(timer),
  };
}

function tooManyOpen(): ApiError {
  return new ApiError('rate_limited', {
    message: `You have ${openMax} streams open, the most for one person. Close a page first.`,
    reason: 'pages_too_many',
    details: { limit: openMax },
    headers: { 'retry-after': String(againSeconds) },
  });
}
