import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { localUpstream } from './chat.ts';
import { headers, median, round } from './calls.ts';
import { mainThreadMs } from './cpu.ts';
import { httpRequest, messageSize, within } from './load.ts';
import type { Question, Row } from './run.ts';
import type { Bench } from './service.ts';

const system = 'You are brief.';
const user = 'What is a lighthouse for?';
const say = (role: string, content: string) => ({ role, content });

/** The same call in each form. */
const calls = {
  'chat/completions': { max_tokens: 200, messages: [say('system', system), say('user', user)] },
  responses: { max_output_tokens: 200, instructions: system, input: user },
  messages: { max_tokens: 200, system, messages: [say('user', user)] },
};
const warmupSeconds = 8;

interface Line {
  what: string;
  port: number;
  pid: number;
  request: Buffer;
}

/** Milliseconds of the calls of a line, in ascending order. */
interface Times {
  latencies: number[];
  /** CPU time of the service's main thread. */
  cpu: number[];
}

const question: Question = {
  asks: 'what do Responses and Messages add to the latency of the same chat completion, whole and streamed? With --beside each call has the same call of the other checkout as its reference.',
  async measure(bench, { seconds, rounds, beside }) {
    const upstream = await localUpstream();
    const services: Service[] = [];
    const rows: Row[] = [];
    try {
      if (beside) services.push(await service(', beside', beside, upstream.url));
      services.push(await service('', bench, upstream.url));
      for (const stream of [false, true]) {
        const lines = services.flatMap((each) => linesOf(each, stream));
        await inTurn(lines, warmupSeconds);
        const results: Times[][] = [];
        while (results.length < rounds) results.push(await inTurn(lines, seconds * lines.length));
        rows.push(...lines.map(({ what }, i) => rowOf(what, i, referenceOf(i), results)));
      }
      return rows;
    } finally {
      for (const each of services) await each.stop();
      await upstream.close();
    }
  },
};
export default question;

interface Service {
  /** Ends the names of its rows. */
  name: string;
  port: number;
  pid: number;
  key: string;
  stop(): Promise<void>;
}

async function service(name: string, bench: Bench, url: string): Promise<Service> {
  writeFileSync(join(bench.dir, 'catalog', 'local.yaml'), catalog(url));
  const key = await bench.key();
  const { port, pid, stop } = await bench.start({ role: 'service' });
  return { name, port, pid, key, stop };
}

function linesOf({ name, port, pid, key }: Service, stream: boolean): Line[] {
  return Object.entries(calls).map(([path, call]) => {
    const body = JSON.stringify({ model: 'local/chat', stream, ...call });
    const request = httpRequest('POST', `/v1/${path}`, headers(key), body);
    return { what: `${path}, ${stream ? 'streamed' : 'whole'}${name}`, port, pid, request };
  });
}

/**
 * The times of the calls of each line. One call is open at a time, and the lines alternate with every call, so that each has the same share of the machine's slow moments.
 */
async function inTurn(lines: readonly Line[], seconds: number): Promise<Times[]> {
  const times = lines.map((): Times => ({ latencies: [], cpu: [] }));
  const ports = [...new Set(lines.map(({ port }) => port))];
  const sockets = new Map(
    ports.map((port) => [port, net.connect(port, '127.0.0.1').setNoDelay(true)]),
  );
  const end = performance.now() + seconds * 1000;
  for (let n = 0; performance.now() < end; n++) {
    const at = (n + Math.floor(n / lines.length)) % lines.length;
    const { port, pid, request } = lines[at]!;
    const socket = sockets.get(port)!;
    const cpu = mainThreadMs(pid);
    const began = performance.now();
    socket.write(request);
    let reply: Buffer = Buffer.alloc(0);
    for (let size: number | null = null; size === null || reply.length < size;) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      reply = Buffer.concat([reply, chunk]);
      size = messageSize(reply);
    }
    times[at]!.latencies.push(performance.now() - began);
    times[at]!.cpu.push(mainThreadMs(pid) - cpu);
    if (!reply.toString('latin1', 0, 12).endsWith('200')) throw new Error(reply.toString());
  }
  for (const socket of sockets.values()) socket.destroy();
  for (const { latencies, cpu } of times)
    for (const each of [latencies, cpu]) each.sort((a, b) => a - b);
  return times;
}

/** The line that a line is compared with: its own call of the other checkout, or the first one. */
function referenceOf(i: number): number {
  const forms = Object.keys(calls).length;
  return i < forms ? 0 : i - forms;
}

function rowOf(what: string, i: number, reference: number, results: Times[][]): Row {
  const p50 = (of: keyof Times, at: number) => results.map((each) => within(each[at]![of], 0.5));
  const ratios = (of: keyof Times) => {
    const others = p50(of, reference);
    return p50(of, i).map((own, n) => (own / others[n]!) * 100);
  };
  const percent = (value: number) => `${round(value)} %`;
  const ms = (values: number[]) => Math.round(1000 * median(values)) / 1000;
  return {
    what: i === reference ? `${what} (reference)` : what,
    'p50 ms': ms(p50('latencies', i)),
    'of reference': percent(median(ratios('latencies'))),
    from: percent(Math.min(...ratios('latencies'))),
    to: percent(Math.max(...ratios('latencies'))),
    'CPU ms': ms(p50('cpu', i)),
    'CPU of reference': percent(median(ratios('cpu'))),
    'p99 ms': round(median(results.map((each) => within(each[i]!.latencies, 0.99)))),
    calls: results.reduce((sum, each) => sum + each[i]!.latencies.length, 0),
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
