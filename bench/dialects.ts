import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { localUpstream } from './chat.ts';
import { headers, median, round } from './calls.ts';
import { httpRequest, messageSize, within } from './load.ts';
import type { Question, Row } from './run.ts';

const system = 'You are brief.';
const user = 'What is a lighthouse for?';
const say = (role: string, content: string) => ({ role, content });

/** The same call in each form; the first is the reference. */
const calls = {
  'chat/completions': { max_tokens: 200, messages: [say('system', system), say('user', user)] },
  responses: { max_output_tokens: 200, instructions: system, input: user },
  messages: { max_tokens: 200, system, messages: [say('user', user)] },
};
const warmupSeconds = 8;

const question: Question = {
  asks: 'what do Responses and Messages add to the latency of the same chat completion, whole and streamed?',
  async measure(bench, { seconds, rounds }) {
    const key = await bench.key();
    const upstream = await localUpstream();
    writeFileSync(join(bench.dir, 'catalog', 'local.yaml'), catalog(upstream.url));
    const service = await bench.start({ role: 'service' });
    const rows: Row[] = [];
    try {
      for (const stream of [false, true]) {
        const requests = Object.entries(calls).map(([path, call]) => {
          const body = JSON.stringify({ model: 'local/chat', stream, ...call });
          return httpRequest('POST', `/v1/${path}`, headers(key), body);
        });
        await inTurn(service.port, requests, warmupSeconds);
        const results: number[][][] = [];
        while (results.length < rounds)
          results.push(await inTurn(service.port, requests, seconds * requests.length));
        Object.keys(calls).forEach((path, i) =>
          rows.push(rowOf(`${path}, ${stream ? 'streamed' : 'whole'}`, i, results)),
        );
      }
      return rows;
    } finally {
      await service.stop();
      await upstream.close();
    }
  },
};
export default question;

/**
 * Milliseconds of the calls of each kind, in ascending order. One call is open at a time, and the
 * kinds alternate with every call, so that each has the same share of the machine's slow moments.
 */
async function inTurn(port: number, requests: Buffer[], seconds: number): Promise<number[][]> {
  const latencies = requests.map((): number[] => []);
  const socket = net.connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const end = performance.now() + seconds * 1000;
  for (let n = 0; performance.now() < end; n++) {
    const at = (n + Math.floor(n / requests.length)) % requests.length;
    const began = performance.now();
    socket.write(requests[at]!);
    let reply: Buffer = Buffer.alloc(0);
    for (let size: number | null = null; size === null || reply.length < size;) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      reply = Buffer.concat([reply, chunk]);
      size = messageSize(reply);
    }
    latencies[at]!.push(performance.now() - began);
    if (!reply.toString('latin1', 0, 12).endsWith('200')) throw new Error(reply.toString());
  }
  socket.destroy();
  return latencies.map((each) => each.sort((a, b) => a - b));
}

function rowOf(what: string, i: number, results: number[][][]): Row {
  const p50 = (round: number[][], at: number) => within(round[at]!, 0.5);
  const ratios = results.map((each) => (p50(each, i) / p50(each, 0)) * 100);
  const percent = (value: number) => `${round(value)} %`;
  return {
    what: i === 0 ? `${what} (reference)` : what,
    'p50 ms': Math.round(1000 * median(results.map((each) => p50(each, i)))) / 1000,
    'of reference': percent(median(ratios)),
    from: percent(Math.min(...ratios)),
    to: percent(Math.max(...ratios)),
    'p99 ms': round(median(results.map((each) => within(each[i]!, 0.99)))),
    calls: results.reduce((sum, each) => sum + each[i]!.length, 0),
  };
}

const catalog = (url: string) => `
upstream: { name: local, adapter: openai, url: "${url}" }
models:
  - id: local/chat
    kind: text
    task: chat
    name: Local chat
    price: { unit: 1M tokens, input_usd: "0.10", output_usd: "0.40" }
    context_tokens: 128000
    max_output_tokens: 8192
    on_disconnect: stop
    upstream_model: chat
`;
