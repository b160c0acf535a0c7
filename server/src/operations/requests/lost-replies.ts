import { findLost, forgetLost, noteLost } from '../../db/requests/lost-replies.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { SubmitResult } from './admit.ts';

/**
 * Clients of other APIs repeat a call whose reply was lost, without an Idempotency-Key. The repeat
 * gets the request that the first call made.
 */
export interface LostReplies {
  find(caller: Caller, print: Buffer): Promise<SubmitResult | null>;
  /** The connection has closed. `made` resolves when the call's submit is over. */
  closed(made: Promise<SubmitResult | null>, print: Buffer, delivered: boolean): void;
}

interface Caller {
  account_id: string;
  key_id: string;
}

export function createLostReplies(db: Database, onError: (err: unknown) => void): LostReplies {
  /** Notes that are still being written, by fingerprint. */
  const noting = new Map<string, Promise<void>>();
  async function note(made: Promise<SubmitResult | null>, print: Buffer, delivered: boolean) {
    const submitted = await made;
    if (submitted === null) return;
    const { request_id, replayed } = submitted;
    if (!delivered) await noteLost(db, request_id, print);
    else if (replayed) await forgetLost(db, request_id, print);
  }
  return {
    async find(caller, print) {
      await noting.get(print.toString('hex'));
      const earlier = await findLost(db, caller, print);
      return earlier && { ...earlier, replayed: true };
    },
    closed(made, print, delivered) {
      const hex = print.toString('hex');
      const before = noting.get(hex);
      const noted = Promise.all([before, note(made, print, delivered)])
        .then(() => {}, onError)
        .finally(() => {
          if (noting.get(hex) === noted) noting.delete(hex);
        });
      noting.set(hex, noted);
    },
  };
}
