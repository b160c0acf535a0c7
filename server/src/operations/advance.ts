import type { Ending, Moving } from '../core/request.ts';
import * as requests from '../db/requests.ts';
import { newId } from '../lib/id.ts';
import { storableJson, storableText } from '../lib/json.ts';
import { openBooks, writeBooks } from '../ledger/ledger.ts';
import { openUsage, writeUsage } from '../ledger/usage.ts';
import type { Database } from '../lib/sql.ts';

/**
 * The door through which requests move. Every write names the attempt it was decided under; one
 * that was overtaken by a later claim, by a cancel or by the end changes nothing and answers false.
 */

/** Moves without money, in order. */
export async function moveMany(db: Database, moves: Moving[]): Promise<boolean[]> {
  const only = <To extends Moving['to']>(to: To) =>
    moves.filter((move): move is Extract<Moving, { to: To }> => move.to === to);
  const run = async <To extends Moving['to']>(
    to: To,
    write: (db: Database, moves: Extract<Moving, { to: To }>[]) => Promise<{ id: string }[]>,
  ) => {
    const wanted = only(to);
    return wanted.length === 0 ? [] : (await write(db, wanted)).map(({ id }) => `${to} ${id}`);
  };
  const done = await Promise.all([
    run('begin', requests.beginMany),
    run('accepted', requests.acceptMany),
    run('wait', requests.waitMany),
    run('requeue', requests.requeueMany),
    run('notified', requests.notifiedMany),
    run('expired', requests.expiredMany),
    run('rest', requests.restMany),
  ]);
  const moved = new Set(done.flat());
  return moves.map((move) => moved.has(`${move.to} ${move.id}`));
}

/** Ends requests: status, money and outputs in one transaction. */
export function endMany(db: Database, endings: Ending[]): Promise<(boolean | Error)[]> {
  return db.tx(async (tx) => {
    const [books, usage, rows] = await Promise.all([
      openBooks(
        tx,
        endings.map((e) => e.account_id),
      ),
      openUsage(
        tx,
        endings.map((e) => e.key_id),
      ),
      requests.lockMany(
        tx,
        endings.map((e) => e.id),
      ),
    ]);
    const open = new Map(rows.map((row) => [row.id, row]));
    const ended: requests.Ended[] = [];
    const verdicts = endings.map((ending) => {
      const row = open.get(ending.id);
      if (!row || !mayEnd(ending, row)) return false;
      const charge = ending.to === 'COMPLETED' ? ending.charge : null;
      if (charge !== null && (charge < 0n || charge > row.quoted_usd_micro)) {
        return new Error(
          `charge ${charge} outside the reservation ${row.quoted_usd_micro} of ${row.id}`,
        );
      }
      const reserved = row.quoted_usd_micro;
      books.settle({
        id: newId(),
        request_id: row.id,
        account_id: ending.account_id,
        reserved,
        charge,
      });
      usage.settle(ending.key_id, row.month, reserved, charge ?? 0n, ending.opens_job);
      ended.push(endOf(ending));
      // A second ending of the same request in this batch finds it gone.
      open.delete(ending.id);
      return true;
    });
    if (ended.length > 0) {
      requests.endMany(tx, ended);
      // A call that failed may be made again under the same key: nothing was charged and nothing
      // came of it.
      const free = endings.filter(
        (e, i) => verdicts[i] === true && e.to === 'FAILED' && !e.opens_job,
      );
      if (free.length > 0)
        requests.freeKeys(
          tx,
          free.map((e) => e.id),
        );
      writeBooks(tx, books);
      writeUsage(tx, usage);
    }
    return verdicts;
  });
}

function mayEnd(ending: Ending, row: requests.Locked): boolean {
  if (ending.attempt === null) return row.status === 'IN_QUEUE';
  if (row.attempt !== ending.attempt) return false;
  return row.status === 'IN_PROGRESS' || (row.status === 'IN_QUEUE' && ending.to === 'FAILED');
}

function endOf(ending: Ending): requests.Ended {
  const { id, account_id, to: status } = ending;
  const empty = {
    error_code: null,
    error_message: null,
    ttl_seconds: null,
    output: null,
    quantity: null,
  };
  const base = {
    id,
    account_id,
    status,
    charged_usd_micro: 0n,
    cost_usd_micro: null,
    outputs: [],
    ...empty,
  };
  if (ending.to === 'CANCELLED') return base;
  if (ending.to === 'FAILED') {
    const error_message = storableText(ending.message.slice(0, 2000));
    return {
      ...base,
      error_code: ending.code,
      error_message,
      cost_usd_micro: ending.cost_usd_micro,
    };
  }
  return {
    ...base,
    charged_usd_micro: ending.charge,
    ttl_seconds: ending.outputs.length > 0 ? ending.ttl_seconds : null,
    output: ending.output === null ? null : storableJson(ending.output),
    quantity: ending.quantity,
    cost_usd_micro: ending.cost_usd_micro,
    outputs: ending.outputs,
  };
}
