import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { median, round, headers } from './calls.ts';
import { localUpstream } from './chat.ts';
import { httpRequest, messageSize } from './load.ts';
import type { Effort, Question, Row } from './run.ts';
import type { Bench } from './service.ts';
import { rawSql, type Database } from '../server/src/lib/sql/sql.ts';

const warmupSeconds = 8;
/** The contenders alternate this often, so that each has a share of the machine's slow moments. */
const sliceSeconds = 0.5;

interface Contender {
  what: string;
  port: number;
  request: Buffer;
  stop(): Promise<unknown>;
}

const question: Question = {
  asks: 'how long until the first token of a streamed chat, beside the upstream alone and a bare proxy with one look-up and one commit?',
  async measure(bench, effort) {
    const upstream = await localUpstream();
    const lines: Contender[] = [
      {
        what: 'the upstream alone (reference)',
        port: Number(new URL(upstream.url).port),
        request: callOf('x'),
        stop: upstream.close,
      },
    ];
    try {
      lines.push(await farebox('farebox', bench, upstream.url));
      if (effort.beside) lines.push(await farebox('beside', effort.beside, upstream.url));
      lines.push(await bareProxy(bench, upstream.url));
      for (const line of lines) await firstTokens(line, 1, warmupSeconds);
      const rows: Row[] = [];
      for (const connections of [1, 16]) rows.push(...(await compared(lines, connections, effort)));
      return [...rows, ...(await parts(bench, lines[1]!))];
    } finally {
      for (const line of lines.toReversed()) await line.stop();
    }
  },
};
export default question;

async function farebox(what: string, bench: Bench, url: string): Promise<Contender> {
  writeFileSync(join(bench.dir, 'catalog', 'local.yaml'), catalog(url));
  const { port, stop } = await bench.start({ role: 'service' });
  const [key] = await bench.keys(1);
  return { what, port, request: callOf(key!), stop };
}

async function bareProxy(bench: Bench, url: string): Promise<Contender> {
  const { port, stop } = await bench.start({ role: 'bare-proxy', env: { BENCH_UPSTREAM: url } });
  return { what: 'bare proxy: a look-up, a commit, a hop', port, request: callOf('x'), stop };
}

function callOf(key: string): Buffer {
  const messages = [{ role: 'user', content: 'What is a lighthouse for?' }];
  const body = JSON.stringify({ model: 'local/chat', max_tokens: 200, stream: true, messages });
  return httpRequest('POST', '/v1/chat/completions', headers(key), body);
}

async function compared(
  lines: Contender[],
  connections: number,
  { seconds, rounds }: Effort,
): Promise<Row[]> {
  const results: number[][] = [];
  while (results.length < rounds) {
    const found = lines.map((): number[] => []);
    for (let n = 0; n < seconds / sliceSeconds; n++)
      for (const i of n % 2 === 0 ? lines.keys() : [...lines.keys()].toReversed())
        found[i]!.push(...(await firstTokens(lines[i]!, connections, sliceSeconds)));
    results.push(found.map(median));
  }
  const added = (i: number) => results.map((each) => each[i]! - each[0]!);
  return lines.map(({ what }, i) => ({
    what,
    connections,
    'p50 ms': hundredths(median(results.map((each) => each[i]!))),
    'added ms': i === 0 ? '' : hundredths(median(added(i))),
  }));
}

const hundredths = (ms: number) => Math.round(ms * 100) / 100;

/** Milliseconds from each call to the first byte of its first event. */
async function firstTokens(
  { port, request }: Contender,
  connections: number,
  seconds: number,
): Promise<number[]> {
  const found: number[] = [];
  const end = performance.now() + seconds * 1000;
  const one = () =>
    new Promise<void>((done, fail) => {
      const socket = net.connect(port, '127.0.0.1').setNoDelay(true);
      let reply: Buffer = Buffer.alloc(0);
      let began = 0;
      let isFirst = true;
      const next = () => {
        if (performance.now() >= end) return void socket.end(done);
        [reply, isFirst, began] = [Buffer.alloc(0), true, performance.now()];
        socket.write(request);
      };
      socket.on('connect', next).on('error', fail);
      socket.on('data', (chunk) => {
        reply = reply.length === 0 ? chunk : Buffer.concat([reply, chunk]);
        if (isFirst && reply.includes('data: ')) {
          found.push(performance.now() - began);
          isFirst = false;
        }
        const size = messageSize(reply);
        if (size === null || reply.length < size) return;
        if (isFirst) fail(new Error(reply.toString()));
        else next();
      });
    });
  await Promise.all(Array.from({ length: connections }, one));
  return found;
}

/** Transactions of one call, and the time of each kind of transaction while nothing else runs. */
async function parts({ db }: Bench, farebox: Contender): Promise<Row[]> {
  const earlier = await transactions(db);
  const calls = (await firstTokens(farebox, 1, 3)).length;
  // Statistics reach the view with a delay.
  await new Promise((done) => setTimeout(done, 1_500));
  const each = Number((await transactions(db)) - earlier) / calls;
  const lookUp = await p50(() => db.run(rawSql('select id from accounts limit 1')));
  const commit = await p50(() =>
    db.run(rawSql('update accounts set name = name where id = (select id from accounts limit 1)')),
  );
  return [
    { what: 'transactions of a call, with its charge', 'per call': round(each) },
    { what: 'one look-up', 'p50 ms': hundredths(lookUp) },
    { what: 'one durable commit', 'p50 ms': hundredths(commit) },
  ];
}

async function transactions(db: Database): Promise<bigint> {
  const [row] = await db.run<{ count: bigint }>(
    rawSql('select xact_commit as count from pg_stat_database where datname = current_database()'),
  );
  return row!.count;
}

async function p50(run: () => Promise<unknown>): Promise<number> {
  const found: number[] = [];
  for (let n = 0; n < 500; n++) {
    const began = performance.now();
    await run();
    found.push(performance.now() - began);
  }
  return median(found);
}

const catalog = (url: string) => `
upstream: { name: local, adapter: openai, url: "${url}" }
models:
  - id: local/chat
    kind: text
    task: chat
    name: Local chat
    description: Answered by a local upstream.
    price: { unit: 1M tokens, input_usd: "0.10", output_usd: "0.40" }
    max: 4096
    max_unit: tokens
    cost_input_usd: "0.05"
    cost_output_usd: "0.2"
    context_tokens: 128000
    max_output_tokens: 8192
    upstream_model: chat
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;
