import type { Config } from '../../config.ts';
import { formatUsd } from '../../core/price/money.ts';
import { lagMaxSeconds, whyUnused, type UnusedWhy } from '../../core/standby.ts';
import * as auditResults from '../../db/audit-results.ts';
import { listUnsafeSettings } from '../../db/migrate.ts';
import { countLiving } from '../../db/processes.ts';
import { readLeftWork } from '../../db/requests/queue.ts';
import { schemaNumber } from '../../db/schema.ts';
import { readServerHealth, type ServerHealth } from '../../db/server-health.ts';
import {
  listUnreadable,
  readStandbyState,
  readOrigin,
  readPosition,
  type Origin,
} from '../../db/standby.ts';
import { readUpstreamStates } from '../../db/upstreams/states.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { codeOf, messageOf } from '../../lib/unknown.ts';
import { openProbe } from '../../worker/background/reader.ts';
import { seconds } from '../output.ts';
import { openTrialAccounts } from '../trial/trial-accounts.ts';
import { findingsOf, type Diagnosis } from './finding.ts';

/** Facts that only the database knows, beside the lines that the console shows too. */

const fullShare = 0.8;
const transactionMaxSeconds = 3_600;
/** PostgreSQL itself begins to force a vacuum at 200 million, and refuses writes at 2 billion. */
const frozenAgeMax = 1_000_000_000;
const dueMaxSeconds = 300;

export async function checkInside(
  db: Database,
  config: Config,
  upstreams: string[],
): Promise<Diagnosis[]> {
  const [health, unsafe, processes, left, verdict, trial, queues] = await Promise.all([
    readServerHealth(db),
    listUnsafeSettings(db),
    countLiving(db),
    readLeftWork(db),
    auditResults.findNewest(db),
    openTrialAccounts(db),
    readUpstreamStates(db, upstreams),
  ]);
  return [
    ...ofServerHealth(withOwnSizes(health, config), config, processes, unsafe),
    ofProcesses(processes),
    ofWork(left),
    ofQueue(queues),
    ofProof(verdict),
    ...(await checkStandby(db, config)),
    ofTrial(trial, config),
  ];
}

/** The embedded server has sizes for a small host on purpose. */
function withOwnSizes(health: ServerHealth, { DATABASE_URL: url }: Config): ServerHealth {
  return url === null ? { ...health, untuned: [] } : health;
}

export function ofServerHealth(
  health: ServerHealth,
  config: Pick<Config, 'FAREBOX_DATABASE_POOL' | 'FAREBOX_UNSAFE_DATABASE'>,
  processes: { count: number }[] = [],
  unsafe: string[] = [],
): Diagnosis[] {
  return [
    ...ofServer(health, unsafe, config.FAREBOX_UNSAFE_DATABASE),
    ofConnections(health, config.FAREBOX_DATABASE_POOL, processes),
    ...ofIndexes(health),
    ofTransactions(health),
    ofBackups(health),
  ];
}

function ofServer(health: ServerHealth, unsafe: string[], isAllowed: boolean): Diagnosis[] {
  const make = findingsOf('database');
  const growing = 'PostgreSQL has autovacuum = off; its tables only grow.';
  const faults = [...unsafe, ...(health.autovacuum ? [] : [growing])];
  const todo = 'See docs/operating.md#postgresql.';
  if (faults.length > 0)
    return faults.map((says) => (isAllowed ? make.note : make.wrong)(says, todo));
  const is = `PostgreSQL ${health.version} answers; this version knows migration ${schemaNumber}.`;
  if (health.untuned.length === 0) return [make.fine(is)];
  return [make.note(`${is} ${health.untuned.join(', ')} have their defaults.`, todo)];
}

function ofConnections(
  { connections, connections_max: max }: ServerHealth,
  pool: number,
  processes: { count: number }[],
): Diagnosis {
  const make = findingsOf('connections');
  const says = `${connections} of ${max} connections are open.`;
  const count = processes.reduce((sum, each) => sum + each.count, 0);
  if (connections >= fullShare * max)
    return make.wrong(says, 'Raise max_connections, or lower FAREBOX_DATABASE_POOL.');
  if (count * (pool + 1) <= max) return make.fine(says);
  const may = `${says} ${count} processes may open ${count * (pool + 1)}.`;
  return make.wrong(may, 'Raise max_connections, or lower FAREBOX_DATABASE_POOL.');
}

function ofIndexes({ invalid_indexes: names }: ServerHealth): Diagnosis[] {
  const make = findingsOf('indexes');
  if (names.length === 0) return [make.fine('All are valid.')];
  return names.map((name) =>
    make.wrong(
      `The index ${name} is invalid and not used.`,
      `Run: reindex index concurrently ${name}`,
    ),
  );
}

function ofTransactions({ transaction_seconds, sees_all, frozen_age }: ServerHealth): Diagnosis {
  const make = findingsOf('transactions');
  if (frozen_age > frozenAgeMax)
    return make.wrong(
      `The oldest rows were frozen ${frozen_age} transactions ago: PostgreSQL will refuse writes.`,
      'Run: vacuum freeze. Look what holds autovacuum up.',
    );
  if (transaction_seconds > transactionMaxSeconds)
    return make.wrong(
      `A transaction has been open for ${seconds(transaction_seconds)}: nothing is cleaned up behind it.`,
      'Find it in pg_stat_activity (xact_start), and end it.',
    );
  return make.fine(
    sees_all
      ? 'None is open for long.'
      : 'None of this role is open for long; to see those of others it needs pg_read_all_stats.',
  );
}

function ofBackups({ archives, archived_at, archive_failed_at }: ServerHealth): Diagnosis {
  const make = findingsOf('backups');
  if (!archives)
    return make.unknown('PostgreSQL archives nothing; other backups are not known here.');
  if (archive_failed_at !== null && (archived_at === null || archive_failed_at > archived_at))
    return make.wrong(
      `The archive of the write-ahead log has refused a segment at ${archive_failed_at.toISOString()}.`,
      "Look at archive_command and PostgreSQL's log: its disk fills up meanwhile.",
    );
  const newest = archived_at === null ? 'nothing yet' : `last at ${archived_at.toISOString()}`;
  return make.fine(`The write-ahead log is archived, ${newest}.`);
}

function ofProcesses(processes: { kind: string; count: number }[]): Diagnosis {
  const make = findingsOf('processes');
  if (processes.length === 0)
    return make.note('No process of the service lives.', 'Start it: farebox serve');
  return make.fine(`${processes.map(({ kind, count }) => `${count} ${kind}`).join(', ')}.`);
}

function ofWork({
  due_seconds,
  late,
  reserved_usd_micro,
}: Awaited<ReturnType<typeof readLeftWork>>) {
  const make = findingsOf('work');
  if (due_seconds > dueMaxSeconds)
    return make.wrong(
      `Work has been due for ${seconds(due_seconds)}, and no worker takes it.`,
      'Start farebox worker, or farebox serve without --no-worker, and read its log.',
    );
  if (late > 0)
    return make.wrong(
      `${late} running jobs should have been given up an hour ago; they hold ${formatUsd(reserved_usd_micro)} USD.`,
      "Read the workers' log; farebox request cancel ID --running ends one.",
    );
  return make.fine('No due work is left.');
}

function ofQueue(queues: Awaited<ReturnType<typeof readUpstreamStates>>): Diagnosis {
  const waiting = queues.filter((each) => each.waiting > 0);
  const count = waiting.reduce((sum, each) => sum + each.waiting, 0);
  const oldest = Math.max(0, ...waiting.map((each) => each.oldest_seconds));
  const { fine } = findingsOf('queue');
  if (count === 0) return fine('No request waits.');
  return fine(`${count} requests wait, the oldest for ${seconds(oldest)}.`);
}

function ofProof(verdict: auditResults.AuditVerdict | null): Diagnosis {
  const make = findingsOf('books');
  if (verdict === null) return make.note('The books were never proved.', 'Run: farebox audit');
  const at = verdict.created_at.toISOString();
  if (verdict.is_behind)
    return make.note(
      `The proof of ${at} did not reach the newest transfers; they are not sealed yet.`,
      'The next one goes on; if this stays, run: farebox audit',
    );
  return make.fine(`Proved at ${at}.`);
}

const unusedWords: Record<UnusedWhy, string> = {
  takes_writes: 'It follows no primary: it is one, or was promoted.',
  another_database: 'It has the tables of another installation.',
  older_schema: `It has not replayed migration ${schemaNumber} yet.`,
  lags: `It is more than ${lagMaxSeconds / 2} s behind the primary.`,
};

/** As a service that starts would judge it. */
async function checkStandby(
  db: Database,
  { DATABASE_READ_URL: url }: Config,
): Promise<Diagnosis[]> {
  if (url === null) return [];
  const make = findingsOf('standby');
  const todo = 'The primary answers all reads until DATABASE_READ_URL is right, or unset.';
  const eye = openProbe(url);
  try {
    const unread = await listUnreadable(eye);
    const grant = 'Run on the primary: grant select on all tables in schema public to ROLE';
    if (unread.length > 0)
      return [make.wrong(`Its role may not read ${unread.slice(0, 5).join(', ')}.`, grant)];
    const look = await readStandbyState(eye, await readPosition(db));
    const limits = { needs: schemaNumber, lagMax: lagMaxSeconds, isUsed: false };
    const why = whyUnused(look, limits);
    if (why !== null) return [make.wrong(unusedWords[why], todo)];
    const [own, its] = await Promise.all([readOrigin(db), readOrigin(eye)]);
    const differs = differenceOf(own, its);
    if (differs !== null)
      return [make.wrong(`It follows another primary: it has ${differs}.`, todo)];
    const { connections, connections_max: max } = await readServerHealth(eye);
    const says = `It is ${look.lag_seconds!.toFixed(1)} s behind the primary; ${connections} of its ${max} connections are open.`;
    const full = 'Raise max_connections there, or lower FAREBOX_DATABASE_POOL.';
    return [connections >= fullShare * max ? make.wrong(says, full) : make.fine(says)];
  } catch (error) {
    return [make.wrong(`It does not answer: ${messageOf(error) || codeOf(error)}`, todo)];
  } finally {
    await eye.close();
  }
}

function differenceOf(own: Origin | null, its: Origin | null): string | null {
  for (const name of ['system_identifier', 'timeline'] as const) {
    const [here, there] = [own?.[name] ?? null, its?.[name] ?? null];
    if (here !== null && there !== null && here !== there)
      return `${name} ${there}, this one ${here}`;
  }
  return null;
}

/** Everyone who has read the trial's password could run the service. */
function ofTrial(open: string[], { DATABASE_URL: url }: Config): Diagnosis {
  const make = findingsOf('trial accounts');
  if (open.length === 0 || url === null) return make.fine('None is open.');
  return make.wrong(
    `${open.join(' and ')} of the trial are open, and their password is in its data folder.`,
    open.map((email) => `farebox account suspend ${email}`).join('; '),
  );
}
