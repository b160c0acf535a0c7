import { rawSql } from '../server/src/lib/sql/sql.ts';
import { round, submitRequest } from './calls.ts';
import { load } from './load.ts';
import type { Bench } from './service.ts';
import type { Question, Row } from './run.ts';

/** Concurrent jobs at one upstream, each polled every 2 s. */
const jobs = 500;
/** Jobs at each of the failing upstreams. */
const disturbing = 150;
const goalMs = 3_000;

const question: Question = {
  asks: `with ${jobs} jobs in flight at one upstream: how long after a result is ready is it picked up, alone and while other upstreams hang, are slow or answer 429?`,
  async measure(bench) {
    const rows: Row[] = [await picked(bench, 'alone', [])];
    await bench.reset();
    for (const name of ['hanging', 'slow', 'limiting']) {
      rows.push(await picked(bench, `beside one that is ${name}`, [name]));
      await bench.reset();
    }
    rows.push(await picked(bench, 'beside all three', ['hanging', 'slow', 'limiting']));
    return rows;
  },
};
export default question;

async function picked(bench: Bench, what: string, others: string[]): Promise<Row> {
  const keys = await bench.keys(10);
  const process = await bench.start({ role: 'service', worker: true });
  try {
    for (const name of others) await submit(process.port, keys, name, disturbing);
    await submit(process.port, keys, 'paced', jobs);
    const [row] = await finished(bench);
    return {
      what,
      jobs: Number(row!.done),
      'p50 ms': round(row!.p50),
      'p99 ms': round(row!.p99),
      'max ms': round(row!.max),
      'within 3 s': `${Math.round((Number(row!.soon) / Number(row!.done)) * 1000) / 10} %`,
      'RSS MB': process.rssMb(),
    };
  } finally {
    await process.stop();
  }
}

async function submit(port: number, keys: string[], name: string, count: number): Promise<void> {
  const each = keys.map((key) => submitRequest(key, `/v1/queue/bench/${name}`));
  // Submit a few at a time until there are enough.
  let sent = 0;
  const request = (n: number) => {
    sent++;
    return each[n % each.length]!;
  };
  while (sent < count)
    await load({
      port,
      connections: 10,
      seconds: 0.2,
      warmupSeconds: 0,
      perSecond: count,
      request,
    });
}

interface PickedCounts {
  done: bigint;
  soon: bigint;
  p50: number;
  p99: number;
  max: number;
}

/**
 * Resolves when all jobs of the paced upstream have ended. That upstream writes into each result
 * when it was ready.
 */
async function finished(bench: Bench): Promise<PickedCounts[]> {
  for (;;) {
    const [open] = await bench.db.run<{ n: bigint }>(
      rawSql(
        `select count(*) as n from requests where model_id = 'bench/paced' and completed_at is null`,
      ),
    );
    if (open!.n === 0n) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return bench.db.run<PickedCounts>(
    rawSql(
      `with late as (
        select extract(epoch from r.completed_at) * 1000 - (s.output->>'ready_ms')::float8 as ms
        from requests r join request_results s on s.request_id = r.id where r.model_id = 'bench/paced')
      select count(*) as done, count(*) filter (where ms <= $1) as soon,
        percentile_cont(0.5) within group (order by ms)::float8 as p50,
        percentile_cont(0.99) within group (order by ms)::float8 as p99, max(ms)::float8 as max from late`,
      [goalMs],
    ),
  );
}
