import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRevenue } from '../server/src/db/accounts/revenue.ts';
import { anyRequest, pageBelow, type PageFilter } from '../server/src/db/requests/request-pages.ts';
import { movements, seqsBetween } from '../server/src/ledger/statement.ts';
import { movementTotals } from '../server/src/ledger/transfer-sums.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';
import {
  rollUpDays,
  rollUpSpend,
  rollUpTransfers,
} from '../server/src/operations/accounts/roll-up.ts';
import { fill, type Large } from './history-fill.ts';
import type { Question, Row } from './run.ts';
import { openBench, type Bench } from './service.ts';

/** Measures calls of an account that has half of a long history, beside those of one with a short. */

const few = 20_000;
/** Calls of one kind in a round; the round counts by its median. */
const inRound = 7;

const question: Question = {
  asks: 'what do calls of an account take beside a long history (--requests N, kept between runs)?',
  async measure(_bench, { requests, rounds }) {
    const short = await open(few);
    try {
      const long = await open(requests);
      try {
        return await measured(short, long, rounds);
      } finally {
        await long.bench.stop();
      }
    } finally {
      await short.bench.stop();
    }
  },
};
export default question;

export const longFolder = (requests: number) => join(tmpdir(), `farebox-long-history-${requests}`);

interface Side {
  bench: Bench;
  large: Large;
  /** A call of the large account; gives the reply's body. */
  call(path: string, body?: object): Promise<unknown>;
  submitted: string;
  bytes: number;
}

async function open(requests: number): Promise<Side> {
  const bench = await openBench(
    { shared_buffers: '1GB', max_wal_size: '4GB' },
    longFolder(requests),
  );
  const large = await fill(bench.db, requests, (done) => console.log(`${done} requests`));
  const { port } = await bench.start({ role: 'service', worker: true });
  const call = async (path: string, body?: object) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${large.key}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return reply.json();
  };
  const submitted = String(fieldOf(await call(submit, input), 'request_id'));
  await rollUpDays(bench.db);
  await rollUpSpend(bench.db, large.account_id, Date.now());
  await rollUpTransfers(bench.db, large.account_id, 60_000);
  const [size] = await bench.db.run<{ bytes: bigint }>(
    rawSql(
      `select pg_database_size(current_database()) / (select count(*) from requests) as bytes`,
    ),
  );
  return { bench, large, call, submitted, bytes: Number(size!.bytes) };
}

const submit = '/v1/queue/bench/instant';
const input = { prompt: 'a cat' };
const page = { below_id: null, limit: 21 };
const found = ({ bench, large }: Side, more: Partial<PageFilter>) =>
  pageBelow(bench.db, { ...anyRequest, account_id: large.account_id, ...more }, page);
const everything = async ({ bench, large: { account_id } }: Side) => ({
  account_id,
  kinds: [],
  from: null,
  to: null,
  ...(await seqsBetween(bench.db, account_id, null, null)),
});

const calls: Record<string, (side: Side) => Promise<unknown>> = {
  submit: ({ call }) => call(submit, input),
  status: ({ call, submitted }) => call(`/v1/requests/${submitted}/status`),
  'list, newest': ({ call }) => call('/v1/requests'),
  'list, failed': ({ call }) => call('/v1/requests?status=FAILED'),
  'list, a model that none has': ({ call }) => call('/v1/requests?model_id=bench/none'),
  'list, a key that made none': ({ call, large }) => call(`/v1/requests?key_id=${large.rare_key}`),
  'usage by day': ({ call }) => call('/v1/usage?by=day'),
  'usage by model and key': ({ call }) => call('/v1/usage?by=model,key'),
  'library, newest': (side) => found(side, { library: { words: [], favorites: false } }),
  'library, a word that none has': (side) =>
    found(side, { library: { words: ['needle'], favorites: false } }),
  'statement, newest': async (side) =>
    movements(side.bench.db, { ...(await everything(side)), limit: 21 }),
  'statement, sums of all': async (side) => movementTotals(side.bench.db, await everything(side)),
  "operator's overview, 30 days": ({ bench }) => readRevenue(bench.db, 30),
};

async function measured(short: Side, long: Side, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [what, work] of Object.entries(calls)) {
    await Promise.all([medianMs(short, work), medianMs(long, work)]);
    const pairs: [number, number][] = [];
    for (let n = 0; n < rounds; n++)
      pairs.push([await medianMs(short, work), await medianMs(long, work)]);
    const ratios = pairs.map(([a, b]) => b / a).toSorted((a, b) => a - b);
    const middle = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
    rows.push({
      what,
      'short, ms': round(middle(pairs.map(([a]) => a))),
      'long, ms': round(middle(pairs.map(([, b]) => b))),
      'of short, %': percent(middle(ratios)),
      spread: `${percent(ratios[0]!)} to ${percent(ratios.at(-1)!)}`,
    });
    console.log(rows.at(-1));
  }
  rows.push({ what: 'bytes a request', 'short, ms': short.bytes, 'long, ms': long.bytes });
  return rows;
}

async function medianMs(side: Side, work: (side: Side) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < inRound; n++) {
    const began = performance.now();
    await work(side);
    times.push(performance.now() - began);
  }
  return times.toSorted((a, b) => a - b)[inRound >> 1]!;
}

const round = (ms: number) => Math.round(ms * 10) / 10;
const percent = (share: number) => Math.round(share * 100);
