import { pausedName, type UpstreamRefusal } from '../core/catalog/upstream-key.ts';
import { xpubVariable } from '../core/deposit/chain.ts';
import { chainState, isSecondReadingLate, type ChainState } from '../core/deposit/chain-state.ts';
import * as chains from '../db/deposits/chains.ts';
import { countHeld, type HeldCount } from '../db/deposits/deposit-search.ts';
import type { Database } from '../lib/sql/sql.ts';
import { countRunningBeyond } from '../db/requests/open-requests.ts';
import * as upstreamStates from '../db/upstreams/states.ts';
import * as stoppedModels from '../db/stopped-models.ts';
import { readLossesOfDay } from '../db/requests/losses.ts';
import {
  countUnknownByUpstream,
  type UnknownOutcomeCount,
} from '../db/requests/unknown-outcomes.ts';
import { timeOfId } from '../lib/id.ts';
import * as auditResults from '../db/audit-results.ts';
import * as operatorEvents from '../db/operator-events.ts';
import { findDifferingKeys, type DepositChain } from './deposits/deposit-address.ts';
import { readKeyStates } from './upstreams/upstream-keys.ts';
import { namesOf } from '../upstreams/keys.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/**
 * Lines that need the operator's attention: problems that do not end by themselves, or not soon.
 */

export const problems = [
  'restored_copy',
  'books_broken',
  'books_old',
  'disk_low',
  'storage_away',
  'clock_skew',
  'credential_refused',
  'credit_used_up',
  'upstream_paused',
  'model_paused',
  'jobs_stranded',
  'queue_old',
  'xpub_differs',
  'chain_stopped',
  'chain_refused',
  'chain_behind',
  'chain_rescan_late',
  'deposits_held',
  'chain_single_endpoint',
  'models_stopped',
  'costs_exceed_charges',
  'unknown_outcomes',
  'events_unsent',
  'catalog_problems',
  'rows_left_out',
  'sold_below_cost',
] as const;
export type Problem = (typeof problems)[number];

export interface AttentionLine {
  what: Problem;
  count: number;
  /** The first ones that have this problem. */
  of: string[];
  /** When the oldest of them began. */
  since?: Date;
}

/** The parts of a process that can have problems. */
export interface AttentionSources {
  db: Database;
  upstreams: ReadonlyMap<string, Upstream>;
  chains: { live: readonly (DepositChain & { endpoints: readonly unknown[] })[]; play: unknown };
  /** The contents of the catalog files, and their problems. */
  files: {
    contents: () => {
      rows: readonly { model: { id: string } }[];
      left_out: readonly { id: string }[];
    };
    problems: () => readonly { file: string }[];
    warnings: () => readonly { id: string }[];
  };
  settings: { FAREBOX_QUEUE_AGE_SECONDS: number };
  /** Why the database is on hold, and by how many seconds its clock is ahead; else null. */
  installation: { held: () => string | null; skew: () => number | null };
  storage: { isAway: () => boolean };
  /** Why nothing new is taken. */
  blocked: (needsStorage: boolean) => string | null;
}

const namedMax = 5;
const unsentMs = 5 * 60_000;
const proofMaxMs = 2 * 3_600_000;
/** A queue counts as old at this share of the age at which submits are refused. */
const oldShare = 0.5;

/** Empty when all is well. */
export async function readAttention(deps: AttentionSources): Promise<AttentionLine[]> {
  const { db } = deps;
  const [unknown, losses, verdict, upstreams, money, stops, unsent] = await Promise.all([
    countUnknownByUpstream(db),
    readLossesOfDay(db),
    auditResults.findNewest(db),
    ofUpstreams(db, deps),
    ofChains(deps),
    stoppedModels.list(db),
    operatorEvents.countUnsent(db),
  ]);
  const rows = new Set(deps.files.contents().rows.map(({ model }) => model.id));
  const stoppedRows = stops.map(({ model_id }) => model_id).filter((id) => rows.has(id));
  const lines: AttentionLine[] = [
    { what: 'restored_copy', count: deps.installation.held() === null ? 0 : 1, of: [] },
    ...ofBooks(verdict),
    { what: 'disk_low', count: deps.blocked(true) === 'disk space' ? 1 : 0, of: [] },
    { what: 'storage_away', count: deps.storage.isAway() ? 1 : 0, of: [] },
    { what: 'clock_skew', ...ofClock(deps.installation.skew()) },
    ...upstreams,
    ...money,
    line('models_stopped', stoppedRows),
    line(
      'costs_exceed_charges',
      losses.map(({ model_id }) => model_id).filter((id) => !stoppedRows.includes(id)),
    ),
    ofDoubts(unknown),
    ofEvents(unsent),
    ...ofCatalog(deps),
  ];
  return lines.filter(({ count }) => count > 0);
}

function line(what: Problem, of: string[]) {
  return { what, count: of.length, of: of.slice(0, namedMax) };
}

/** One line, however many unknown outcomes there are. */
function ofDoubts(sums: UnknownOutcomeCount[]): AttentionLine {
  const count = sums.reduce((sum, each) => sum + each.count, 0);
  const of = sums.map((each) => `${each.upstream} ${each.count}`).slice(0, namedMax);
  const oldest = Math.min(...sums.map(({ oldest_id }) => timeOfId(oldest_id)));
  return { what: 'unknown_outcomes', count, of, ...(count > 0 && { since: new Date(oldest) }) };
}

/** Events whose webhook has failed for some minutes, or for so long that it was given up. */
function ofEvents({
  waiting,
  given_up,
  oldest_at,
  last_error,
}: operatorEvents.UnsentEvents): AttentionLine {
  const isOld = oldest_at !== null && Date.now() - oldest_at.getTime() > unsentMs;
  const count = isOld ? waiting + given_up : given_up;
  const of = last_error === null ? [] : [last_error];
  return { what: 'events_unsent', count, of, ...(isOld && { since: oldest_at }) };
}

function ofBooks(verdict: auditResults.AuditVerdict | null): AttentionLine[] {
  // Shortly after the start the books have not been proved yet.
  if (verdict === null) return [];
  const isOld = verdict.age_ms > Math.max(proofMaxMs, 2 * auditResults.intervalMs(verdict.took_ms));
  return [
    line(
      'books_broken',
      verdict.violations.map(({ law }) => law),
    ),
    { what: 'books_old', count: isOld ? 1 : 0, of: [] },
  ];
}

/** `skew`: seconds by which the database's clock is ahead; null if the clocks agree. */
function ofClock(skew: number | null): Omit<AttentionLine, 'what'> {
  return skew === null ? { count: 0, of: [] } : { count: 1, of: [`${skew} s`] };
}

async function ofUpstreams(
  db: Database,
  { upstreams, settings }: AttentionSources,
): Promise<AttentionLine[]> {
  const states = await upstreamStates.readUpstreamStates(db, [...upstreams.keys()]);
  const keys = (await readKeyStates(db, upstreams)).map(({ upstream, key, last_why }) => {
    return { name: pausedName(upstream, key), last_why };
  });
  const models = await upstreamStates.listPausedModels(
    db,
    states.map(({ name }) => name),
  );
  const stranded = await countRunningBeyond(db, namesOf(upstreams));
  const jobs = stranded.reduce((sum, each) => sum + each.jobs, 0);
  const at = stranded.map(({ upstream }) => upstream);
  const those = (what: Problem, is: (state: upstreamStates.UpstreamState) => boolean) =>
    line(
      what,
      states.filter(is).map(({ name }) => name),
    );
  const refused = (what: Problem, why: UpstreamRefusal) =>
    line(
      what,
      [...states, ...keys].filter(({ last_why }) => last_why === why).map(({ name }) => name),
    );
  const oldSeconds = settings.FAREBOX_QUEUE_AGE_SECONDS * oldShare;
  return [
    refused('credential_refused', 'credential'),
    refused('credit_used_up', 'account'),
    those('upstream_paused', ({ paused_seconds }) => paused_seconds > 0),
    line(
      'model_paused',
      models.map(({ upstream, model }) => `${upstream} ${model}`),
    ),
    { ...line('jobs_stranded', at), count: jobs },
    those('queue_old', (state) => state.waiting > 0 && state.oldest_seconds > oldSeconds),
  ];
}

/** Problems of chains that are set up, and deposits that wait for an operator. */
async function ofChains({
  db,
  chains: { live, play },
}: AttentionSources): Promise<AttentionLine[]> {
  const [rows, differing, held] = await Promise.all([
    chains.list(db),
    findDifferingKeys(db, live),
    countHeld(db),
  ]);
  const titleOf = (name: string) =>
    live.find(({ chain }) => chain.name === name)?.chain.title ?? name;
  const known = live.flatMap(({ chain }) =>
    rows.filter(({ name }) => name === chain.name).map((row) => ({ chain, row })),
  );
  const those = (what: Problem, is: (each: (typeof known)[number]) => boolean) =>
    line(
      what,
      known.filter(is).map(({ chain }) => chain.title),
    );
  const inState = (what: Problem, state: ChainState) =>
    those(what, ({ row, chain }) => chainState(row, chain) === state);
  const single = live.filter(({ endpoints }) => play === null && endpoints.length === 1);
  return [
    line('xpub_differs', differing.map(xpubVariable)),
    inState('chain_stopped', 'stopped'),
    inState('chain_refused', 'refused'),
    inState('chain_behind', 'behind'),
    those('chain_rescan_late', ({ row, chain }) => isSecondReadingLate(row, chain)),
    ofHeld(held, titleOf),
    line(
      'chain_single_endpoint',
      single.map(({ chain }) => chain.title),
    ),
  ];
}

function ofHeld(counts: HeldCount[], titleOf: (name: string) => string): AttentionLine {
  const byChain = new Map<string, number>();
  for (const { chain, waiting } of counts)
    if (waiting > 0) byChain.set(chain, (byChain.get(chain) ?? 0) + waiting);
  const count = counts.reduce((sum, { waiting }) => sum + waiting, 0);
  const of = [...byChain].map(([chain, n]) => `${titleOf(chain)} ${n}`).slice(0, namedMax);
  const oldest = Math.min(...counts.flatMap(({ since }) => since?.getTime() ?? []));
  return { what: 'deposits_held', count, of, ...(count > 0 && { since: new Date(oldest) }) };
}

function ofCatalog({ files }: AttentionSources): AttentionLine[] {
  const problems = files.problems();
  const named = [...new Set(problems.map(({ file }) => file).filter((file) => file !== ''))];
  return [
    { ...line('catalog_problems', named), count: problems.length },
    line(
      'rows_left_out',
      files.contents().left_out.map(({ id }) => id),
    ),
    line('sold_below_cost', [...new Set(files.warnings().map(({ id }) => id))]),
  ];
}
