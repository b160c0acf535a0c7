import { runLongTransaction } from '../lib/sql/long-transaction.ts';
import { rawSql, sql, type Connection, type Database, type Transaction } from '../lib/sql/sql.ts';
import type { Law } from './law.ts';
import { laws } from './laws.ts';
import { wholeScope, relationsOf, scopeOf, type LawScope } from './scope.ts';
import { nextStretches, type Round } from './stretches.ts';

/** Proves the books. All laws see one snapshot, so a busy service can be audited. */

export interface AuditReport {
  ok: boolean;
  /** How many laws were checked, and over how many rows. */
  checked: { laws: number; accounts: number; transfers: number; requests: number; keys: number };
  violations: { law: string; says: string; found: Record<string, unknown>[] }[];
  /**
   * True if the broken laws are all of counters, so that these can be computed again. With another
   * one broken, they might count wrong rows.
   */
  mendable: boolean;
}

const shownMax = 5;

/** Proves everything, in its own transaction and snapshot. `signal` ends it. */
export function audit(db: Database, signal?: AbortSignal): Promise<AuditReport> {
  return inSnapshot(db, 'read only', proveBooks, signal);
}

/** An arbitrary number, but every version of the service must use the same one. */
export const auditLock = 770_219_003;

/**
 * Runs `work` while no other process audits. Returns null if another one does; with `waits`, waits
 * for it.
 */
export async function alone<T>(
  db: Database,
  work: () => Promise<T>,
  { waits = false, signal }: { waits?: boolean; signal?: AbortSignal | undefined } = {},
): Promise<T | null> {
  const locked = async (tx: Connection) => {
    const [lock] = await tx.run<{ mine: boolean }>(
      waits
        ? sql`select pg_advisory_xact_lock(${auditLock}) is not null as mine`
        : sql`select pg_try_advisory_xact_lock(${auditLock}) as mine`,
    );
    return lock!.mine ? work() : null;
  };
  return runLongTransaction(db, 'read only', locked, signal);
}

/**
 * @param access as after BEGIN: `read only` or `read write`
 */
export async function inSnapshot<T>(
  db: Database,
  access: 'read only' | 'read write',
  work: (tx: Transaction) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let pid: number | undefined;
  const known = async (tx: Transaction) => {
    const [own] = await tx.run<{ pid: number }>(rawSql('select pg_backend_pid() as pid'));
    pid = own!.pid;
    return work(tx);
  };
  try {
    return await runLongTransaction(db, `isolation level repeatable read ${access}`, known, signal);
  } finally {
    // The server would notice the closed connection only after finishing the query, minutes later,
    // so its process is ended here.
    if (signal?.aborted && pid !== undefined)
      await db.run(rawSql('select pg_terminate_backend($1)', [pid])).catch(() => {});
  }
}

/**
 * Proves everything as this transaction sees the books, including its own uncommitted changes.
 */
export async function proveBooks(tx: Connection): Promise<AuditReport> {
  const violations: AuditReport['violations'] = [];
  for (const law of laws) note(violations, law, await findBroken(tx, law, wholeScope));
  return reportOf(tx, violations, { transfers: 'select count(*) from transfers', ids: ['true'] });
}

/**
 * Proves what is new since the last seals, and the next part of what is old. `suspects` are laws
 * that were broken before: they are proved over everything until they hold again, because the rows
 * that break them may be old by now.
 */
export async function proveNews(
  tx: Connection,
  days: number,
  suspects: readonly string[],
): Promise<{ report: AuditReport; round: Round }> {
  // The stretches are short, and statistics about them are not exact enough.
  await scanTables(tx, false);
  const round = await nextStretches(tx, days);
  // Nothing is sealed while a law is broken, so news beyond the first ones would never be read.
  if (suspects.length > 0 && round.isBehind) {
    await scanTables(tx, true);
    return { report: await proveBooks(tx), round };
  }
  const scopes = [scopeOf(round.news), scopeOf(round.part)];
  const violations: AuditReport['violations'] = [];
  const suspected = new Set(suspects);
  const ofTransfers = laws.filter(({ by, name }) => by === 'transfers' && !suspected.has(name));
  const broken = await Promise.all(scopes.map((scope) => brokenTogether(tx, ofTransfers, scope)));
  for (const law of laws) {
    const { by, name } = law;
    const isWhole = by === 'all' || suspected.has(name);
    // An account may have most of all rows.
    await scanTables(tx, isWhole || by === 'accounts');
    const over = scopes.filter((_, n) => by !== 'transfers' || broken[n]!.has(name));
    for (const scope of isWhole ? [wholeScope] : over)
      note(violations, law, await findBroken(tx, law, scope));
  }
  return { report: await reportOf(tx, violations, rowsOf(round)), round };
}

function scanTables(tx: Connection, may: boolean) {
  return tx.run(rawSql(`set local enable_seqscan = ${may ? 'on' : 'off'}`));
}

function findBroken(tx: Connection, { by, broken }: Law, scope: LawScope) {
  const relations = by === 'transfers' ? relationsOf(scope) : '';
  return tx.run(rawSql(`${relations} select * from (${broken(scope)}) broken limit ${shownMax}`));
}

/** The names of the broken ones of these laws, which read the transfers of the scope only once. */
async function brokenTogether(tx: Connection, some: Law[], scope: LawScope): Promise<Set<string>> {
  if (some.length === 0) return new Set();
  const each = some.map(
    ({ name, broken }) => `select '${name}' as law where exists (${broken(scope)})`,
  );
  const rows = await tx.run<{ law: string }>(
    rawSql(`${relationsOf(scope, true)} select law from (${each.join(' union all ')}) broken`),
  );
  return new Set(rows.map(({ law }) => law));
}

function note(violations: AuditReport['violations'], { name, says }: Law, found: object[]): void {
  if (found.length === 0) return;
  const rows = found.map((row) => plain({ ...row }));
  const known = violations.find(({ law }) => law === name);
  if (known) known.found = [...known.found, ...rows].slice(0, shownMax);
  else violations.push({ law: name, says, found: rows });
}

/** The number of read transfers as a query, and conditions on the ids of read requests. */
interface Rows {
  transfers: string;
  ids: string[];
}

function rowsOf({ news, part }: Round): Rows {
  const transfers = [...news.spans, ...part.spans].reduce(
    (sum, { after_seq, upto_seq }) => sum + (upto_seq > after_seq ? upto_seq - after_seq : 0n),
    0n,
  );
  const ids = [news, part].map((stretches) => scopeOf(stretches).ids('id'));
  return { transfers: `select ${transfers}::bigint`, ids };
}

async function reportOf(
  tx: Connection,
  violations: AuditReport['violations'],
  { transfers, ids }: Rows,
): Promise<AuditReport> {
  const requests = ids.map((condition) => `(select count(*) from requests where ${condition})`);
  const [counts] = await tx.run<Record<'accounts' | 'transfers' | 'requests' | 'keys', bigint>>(
    rawSql(`select (select count(*) from accounts) as accounts, (${transfers}) as transfers,
      ${requests.join(' + ')} as requests, (select count(*) from keys) as keys`),
  );
  const { accounts, keys, ...read } = counts!;
  const checked = {
    laws: laws.length,
    accounts: Number(accounts),
    transfers: Number(read.transfers),
    requests: Number(read.requests),
    keys: Number(keys),
  };
  const ofCounters = new Set(laws.filter((law) => law.counter_of).map(({ name }) => name));
  const ok = violations.length === 0;
  const mendable = !ok && violations.every(({ law }) => ofCounters.has(law));
  return { ok, checked, violations, mendable };
}

function plain(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : value,
    ]),
  );
}
