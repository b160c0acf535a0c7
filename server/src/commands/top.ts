import { setTimeout as pause } from 'node:timers/promises';
import { formatUsd } from '../core/price/money.ts';
import { readRevenueOfHours } from '../db/accounts/revenue.ts';
import { findNewest } from '../db/audit-results.ts';
import { countLiving } from '../db/processes.ts';
import { chatMaxSeconds, countRunning } from '../db/requests/open-requests.ts';
import { readUpstreamStates } from '../db/upstreams/states.ts';
import type { Connection } from '../lib/sql/sql.ts';
import { withDatabase } from './database.ts';
import { seconds, table, type CommandOutput, type Context, type TableColumns } from './output.ts';

const refreshMs = 2_000;
/** This one and the one before, so that the sums never begin empty. */
const hours = 2;
const hourMs = 3_600_000;

/** Clears the screen below the cursor, which goes to the upper left corner. */
const redraw = '\u001B[H\u001B[J';

/** Draws on a screen until its person leaves; elsewhere it prints one state. */
export function top(
  { once = false }: { once?: boolean },
  context: Context,
): Promise<CommandOutput> {
  const left = once || context.json ? undefined : context.screen?.();
  return withDatabase(context, async (db) => {
    let state = await readState(db);
    while (left && !left.aborted) {
      context.out(redraw + textOf(state));
      await pause(refreshMs, undefined, { signal: left }).catch(() => {});
      state = { ...(await readState(db)), before: state };
    }
    const { before: _before, at: _at, ...json } = state;
    return { json, text: textOf(state) };
  });
}

interface UpstreamLine {
  upstream: string;
  waiting: number;
  oldest_seconds: number;
  running: number;
  paused_seconds: number;
  completed: number;
  failed: number;
  charged_usd_micro: bigint;
  cost_usd_micro: bigint;
}

interface State {
  /** Milliseconds of a clock that is never set. */
  at: number;
  processes: { kind: string; count: number }[];
  books_ok: boolean | null;
  /** The sums begin here, at a full hour. */
  since: Date;
  upstreams: UpstreamLine[];
  before?: State;
}

async function readState(db: Connection): Promise<State> {
  const [states, running, revenue, processes, proof] = await Promise.all([
    readUpstreamStates(db, []),
    countRunning(db, chatMaxSeconds),
    readRevenueOfHours(db, hours),
    countLiving(db),
    findNewest(db),
  ]);
  const names = new Set([...states, ...running, ...revenue].map(nameOf));
  const upstreams = [...names].toSorted().map((upstream): UpstreamLine => {
    const state = states.find(({ name }) => name === upstream);
    const own = revenue.filter((row) => row.upstream === upstream);
    const sum = (field: Sum) => own.reduce((all, row) => all + row[field], 0n);
    return {
      upstream,
      waiting: state?.waiting ?? 0,
      oldest_seconds: Math.round(state?.oldest_seconds ?? 0),
      running: running.find((row) => row.upstream === upstream)?.running ?? 0,
      paused_seconds: Math.ceil(state?.paused_seconds ?? 0),
      completed: Number(sum('completed')),
      failed: Number(sum('failed')),
      charged_usd_micro: sum('charged_usd_micro'),
      cost_usd_micro: sum('cost_usd_micro'),
    };
  });
  const since = new Date((Math.floor(Date.now() / hourMs) + 1 - hours) * hourMs);
  return { at: performance.now(), since, processes, books_ok: proof && proof.ok, upstreams };
}

type Sum = 'completed' | 'failed' | 'charged_usd_micro' | 'cost_usd_micro';

function nameOf(row: { name: string } | { upstream: string }): string {
  return 'name' in row ? row.name : row.upstream;
}

function textOf({ at, since, processes, books_ok, upstreams, before }: State): string {
  const ended = (of: UpstreamLine[]) =>
    of.reduce((sum, { completed, failed }) => sum + completed + failed, 0);
  const total = (field: 'charged_usd_micro' | 'cost_usd_micro') =>
    formatUsd(upstreams.reduce((sum, row) => sum + row[field], 0n));
  const count = (field: 'waiting' | 'running') =>
    upstreams.reduce((sum, row) => sum + row[field], 0);
  // A new hour begins with smaller sums.
  const ends = before && Math.max(0, ended(upstreams) - ended(before.upstreams));
  const rate = before && ` (${((ends! * 1000) / (at - before.at)).toFixed(1)} a second)`;
  const living = processes.map((each) => `${each.count} ${each.kind}`).join(', ') || 'none';
  const books = books_ok === null ? 'not proved yet' : books_ok ? 'balance' : 'DO NOT BALANCE';
  return [
    `processes ${living}; books ${books}`,
    `waiting ${count('waiting')}, running ${count('running')}`,
    `since ${since.toISOString().slice(11, 16)} UTC ${ended(upstreams)} ended${rate ?? ''}, charged ${total('charged_usd_micro')} USD, cost ${total('cost_usd_micro')} USD`,
    '',
    table(upstreams, columns),
  ].join('\n');
}

const columns: TableColumns<UpstreamLine> = {
  UPSTREAM: 'upstream',
  WAITING: 'waiting',
  OLDEST: ({ oldest_seconds: oldest }) => (oldest > 0 ? seconds(oldest) : null),
  RUNNING: 'running',
  'PAUSED FOR': ({ paused_seconds: left }) => (left > 0 ? seconds(left) : null),
  COMPLETED: 'completed',
  FAILED: 'failed',
  'CHARGED USD': 'charged_usd_micro',
  'COST USD': 'cost_usd_micro',
};
