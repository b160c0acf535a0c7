import { readFileSync } from 'node:fs';
import { clearPayloads } from '../server/src/db/requests/requests.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { cpuSeconds } from './cpu.ts';
import { fill } from './history-fill.ts';
import type { Question, Row } from './run.ts';
import { openBench, type Bench } from './service.ts';

/** Measures how payloads past their retention are deleted from a history of 90 days. */

const keptDays = 30;
/** As many as the service deletes in one statement. */
const batch = 500;
/** Each input and each answer has so many random ones. */
const payloadBytes = 1_000;
const tables = ['requests', 'request_inputs', 'request_results'];

const question: Question = {
  asks: 'what does it cost to delete the payloads of old requests (--requests N)?',
  async measure(_bench, { requests }) {
    const settings = {
      shared_buffers: '1GB',
      max_wal_size: '4GB',
      log_autovacuum_min_duration: '0',
    };
    const bench = await openBench(settings);
    try {
      await fill(bench.db, requests, (done) => console.log(`${done} requests`), payloadBytes);
      return await measured(bench, requests);
    } finally {
      await bench.stop();
    }
  },
};
export default question;

async function measured(bench: Bench, requests: number): Promise<Row[]> {
  const rows: Row[] = [];
  const { db } = bench;
  const add = (what: string, value: number | string) => rows.push({ what, value });
  const sizes = async (when: string) => {
    for (const name of tables)
      add(`${name} ${when}, MB`, mb(await asked(bench, `pg_total_relation_size('${name}')`)));
  };
  await db.run(rawSql('checkpoint'));
  await sizes('before');
  const lsn = () => asked(bench, `pg_current_wal_lsn() - '0/0'::pg_lsn`);
  const [wal, cpu, began] = [await lsn(), cpuSeconds(bench.databasePid), performance.now()];
  const took: number[] = [];
  let deleted = 0;
  for (let count = batch; count === batch; deleted += count) {
    const from = performance.now();
    count = await clearPayloads(db, keptDays, batch);
    took.push(performance.now() - from);
  }
  const seconds = (performance.now() - began) / 1000;
  took.sort((a, b) => a - b);
  add('requests whose payloads were deleted', deleted);
  add('a second', Math.round(deleted / seconds));
  add('a batch of 500, median ms', Math.round(took[took.length >> 1]!));
  add('a batch of 500, longest ms', Math.round(took.at(-1)!));
  add(
    'PostgreSQL, CPU µs a request',
    Math.round(((cpuSeconds(bench.databasePid) - cpu) / deleted) * 1e6),
  );
  add('log of writes, bytes a request', Math.round(((await lsn()) - wal) / deleted));
  await sizes('after');
  await vacuumed(bench);
  for (const [name, seconds_] of vacuums(bench)) add(`autovacuum of ${name}, s`, seconds_);
  await sizes('after autovacuum');
  await fill(db, requests * 1.2, () => {}, payloadBytes);
  await sizes('after a fifth more requests');
  return rows;
}

/** Waits until autovacuum has nothing left to do. */
async function vacuumed(bench: Bench): Promise<void> {
  const dead = `(select max(n_dead_tup::float8 / (n_live_tup + 1)) from pg_stat_user_tables
    where relname in (${tables.map((name) => `'${name}'`).join()}))`;
  for (let n = 0; n < 300 && (await asked(bench, dead)) > 0.02; n++)
    await new Promise((resolve) => void setTimeout(resolve, 1_000));
}

/** Seconds of all runs of autovacuum by table, from the log of PostgreSQL. */
function vacuums({ dir }: Bench): Map<string, number> {
  const log = readFileSync(`${dir}/data/postgres.log`, 'utf8');
  const runs = /automatic vacuum of table "[^"]*\.(\w+)"[^]*?elapsed: ([\d.]+) s/g;
  const sums = new Map<string, number>();
  for (const [, name, seconds] of log.matchAll(runs))
    if (tables.includes(name!))
      sums.set(name!, Math.round(((sums.get(name!) ?? 0) + Number(seconds)) * 10) / 10);
  return sums;
}

async function asked({ db }: Bench, expression: string): Promise<number> {
  const [row] = await db.run<{ n: number }>(rawSql(`select (${expression})::float8 as n`));
  return row!.n;
}

const mb = (bytes: number) => Math.round(bytes / 1e6);
