import { rawSql } from '../server/src/lib/sql/sql.ts';
import { cpuSeconds } from './cpu.ts';
import { round, submitRequest } from './calls.ts';
import { load, within } from './load.ts';
import type { Question, Row } from './run.ts';

/** Submits per second of a steady load, during which the backlog is measured. */
const offeredPerSecond = 2_400;
const connections = 64;
const lookMs = 5_000;

const question: Question = {
  asks: 'how many requests a second go from submit to COMPLETED with an instant upstream, for a minute, in one process?',
  async measure(bench, { seconds }) {
    const lasting = Math.max(seconds, 60);
    const keys = await bench.keys(20);
    const each = keys.map((key) => submitRequest(key, '/v1/queue/bench/instant'));
    const process = await bench.start({ role: 'service', worker: true });
    const rows: Row[] = [];
    const began = performance.now();
    const look = setInterval(() => void note(), lookMs);
    const before = { service: cpuSeconds(process.pid), postgres: cpuSeconds(bench.databasePid) };
    const result = await load({
      port: process.port,
      connections,
      seconds: lasting,
      warmupSeconds: 3,
      perSecond: offeredPerSecond,
      request: (n) => each[n % each.length]!,
    });
    clearInterval(look);
    await note();
    const [done] = await bench.db.run<{ n: bigint; ms: number }>(
      rawSql(`
      select count(*) filter (where status = 'COMPLETED') as n,
        percentile_cont(0.5) within group (order by extract(epoch from completed_at - created_at) * 1000)::float8 as ms
      from requests`),
    );
    const total = Number(done!.n);
    rows.push({
      what: 'all',
      completed: total,
      'per second': Math.round(total / ((performance.now() - began) / 1000)),
      backlog: 0,
      'p50 ms from submit to end': round(done!.ms),
      'p99 ms of submit': round(within(result.latencies, 0.99)),
      'RSS MB': process.rssMb(),
      'service µs': Math.round(((cpuSeconds(process.pid) - before.service) / total) * 1e6),
      'postgres µs': Math.round(((cpuSeconds(bench.databasePid) - before.postgres) / total) * 1e6),
    });
    await process.stop();
    return rows;

    async function note(): Promise<void> {
      const [row] = await bench.db.run<{ done: bigint; open: bigint }>(
        rawSql(`
        select count(*) filter (where status = 'COMPLETED') as done, count(*) filter (where completed_at is null) as open
        from requests`),
      );
      const at = Math.round((performance.now() - began) / 1000);
      rows.push({
        what: `after ${at} s`,
        completed: Number(row!.done),
        'per second': Math.round(Number(row!.done) / at),
        backlog: Number(row!.open),
        'RSS MB': process.rssMb(),
      });
    }
  },
};
export default question;
