import * as queue from '../db/queue.ts';
import { builtIn } from '../upstreams/index.ts';
import { print, seconds, table, withDatabase, type Context } from './output.ts';

export async function list(context: Context): Promise<void> {
  const rows = await withDatabase(context, (db) => queue.upstreamStates(db, builtIn));
  const cells = rows.map((row) => [
    row.name,
    row.waiting < queue.waitingMax ? String(row.waiting) : `${queue.waitingMax} or more`,
    row.waiting > 0 ? seconds(row.oldest_seconds) : '-',
    String(row.in_use),
    row.resting_seconds > 0 ? seconds(row.resting_seconds) : '-',
    String(row.failures),
    row.last_error ?? '-',
  ]);
  const head = ['UPSTREAM', 'WAITING', 'OLDEST', 'IN USE', 'RESTS FOR', 'FAILURES', 'LAST ERROR'];
  print(context, { data: rows.map(view) }, table(head, cells));
}

function view({ resting_seconds, oldest_seconds, waiting, ...row }: queue.UpstreamState) {
  const until = new Date(Date.now() + resting_seconds * 1000);
  return {
    ...row,
    waiting,
    oldest_seconds: waiting > 0 ? Math.round(oldest_seconds) : null,
    resting_until: resting_seconds > 0 ? until.toISOString() : null,
  };
}
