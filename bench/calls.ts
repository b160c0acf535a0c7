import { cpuSeconds } from './cpu.ts';
import { httpRequest, load, within, type LoadResult } from './load.ts';
import type { Row } from './run.ts';
import type { Bench, Process } from './service.ts';

/** Shared by all benches of HTTP calls. */

export const connections = 64;
/**
 * Uncounted time at the start of a process, in which its hot paths are compiled and PostgreSQL
 * counts the rows of its new tables.
 */
const warmupSeconds = 16;
/**
 * The contenders alternate this often, because a machine's speed rarely stays the same for longer.
 */
const sliceSeconds = 0.5;
/** Uncounted beginning of each slice, in which its connections are opened. */
const sliceWarmupSeconds = 0.1;

export const model = 'bench/flux/dev/text-to-image';
export const input = JSON.stringify({
  prompt: 'a lighthouse at dawn, oil on canvas, very detailed',
  num_images: 1,
  seed: 42,
});

export function headers(key: string): Record<string, string> {
  return { authorization: `Key ${key}`, 'content-type': 'application/json' };
}

export function submitRequest(key: string, path = `/v1/queue/${model}`): Buffer {
  return httpRequest('POST', path, headers(key), input);
}

/** One of the compared contenders: a server, and the bytes of the n-th request to it. */
export interface Contender {
  what: string;
  start: () => Promise<Process>;
  request: (n: number) => Buffer;
  /** PID of its PostgreSQL, if it has another one than this bench. */
  databasePid?: number;
}

interface Effort {
  /** Measured time of each contender in each round. */
  seconds: number;
  rounds: number;
}

/** A running contender, and its results so far. */
interface Line extends Contender {
  process: Process;
  slices: Slice[];
}

interface Slice extends LoadResult {
  /** CPU seconds. */
  service: number;
  postgres: number;
}

/** The result of one contender in one round. */
interface Measurement {
  requests: number;
  /** Replies with an unexpected status or none. */
  failed: number;
  rate: number;
  p50_ms: number;
  p99_ms: number;
  rss_mb: number;
  /** CPU microseconds of one call. */
  service_us: number;
  postgres_us: number;
}

/**
 * Measures all contenders and prints the medians of the rounds; the first contender is the
 * reference. All run at the same time and are loaded in turn for half a second each, in rotating
 * order, so that each ratio covers the same period. Each round starts new processes: two processes
 * of the same code differ by a tenth and more, and a process keeps its speed for its life.
 * `beforeRound` removes leftovers.
 */
export async function compare(
  bench: Bench,
  contenders: Contender[],
  { seconds, rounds }: Effort,
  beforeRound: () => Promise<void> = async () => {},
): Promise<Row[]> {
  const results: Measurement[][] = [];
  for (let round = 0; round < rounds; round++) {
    await beforeRound();
    results.push(await measureRound(bench, contenders, seconds));
  }
  return contenders.map(({ what }, i) => {
    const all = results.map((round) => round[i]!);
    return told(
      what,
      all,
      results.map((round) => round[0]!),
    );
  });
}

async function measureRound(
  bench: Bench,
  contenders: Contender[],
  seconds: number,
): Promise<Measurement[]> {
  const lines: Line[] = [];
  try {
    for (const each of contenders) lines.push({ ...each, process: await each.start(), slices: [] });
    for (const line of lines) await loadOne(bench, line, warmupSeconds);
    for (let n = 0; n < seconds / sliceSeconds; n++) {
      for (const line of n % 2 === 0 ? lines : lines.toReversed())
        line.slices.push(await loadOne(bench, line, sliceSeconds));
    }
    return lines.map(measured);
  } finally {
    for (const { process } of lines) await process.stop();
  }
}

async function loadOne(bench: Bench, line: Line, seconds: number): Promise<Slice> {
  const { process, request, databasePid = bench.databasePid } = line;
  const spent = () => [cpuSeconds(process.pid), cpuSeconds(databasePid)] as const;
  const before = spent();
  const result = await load({
    port: process.port,
    connections,
    seconds,
    warmupSeconds: sliceWarmupSeconds,
    request,
  });
  const after = spent();
  return { ...result, service: after[0] - before[0], postgres: after[1] - before[1] };
}

function measured({ slices, process }: Line): Measurement {
  const sum = (of: (slice: Slice) => number) => slices.reduce((all, each) => all + of(each), 0);
  const requests = sum((slice) => slice.requests);
  const sent = sum((slice) => slice.sent);
  const latencies = slices.flatMap((slice) => slice.latencies).sort((a, b) => a - b);
  return {
    requests,
    failed: sum((slice) => slice.errors + slice.requests - good(slice)),
    rate: sum((slice) => slice.rate) / slices.length,
    p50_ms: within(latencies, 0.5),
    p99_ms: within(latencies, 0.99),
    rss_mb: process.rssMb(),
    service_us: (sum((slice) => slice.service) / sent) * 1e6,
    postgres_us: (sum((slice) => slice.postgres) / sent) * 1e6,
  };
}

function told(what: string, all: Measurement[], reference: Measurement[]): Row {
  const middle = (of: (result: Measurement) => number) => median(all.map(of));
  const ratios = all.map((result, i) => (result.rate / reference[i]!.rate) * 100);
  return {
    what,
    'per second': Math.round(middle((m) => m.rate)),
    'of reference': `${Math.round(median(ratios))} %`,
    from: `${Math.round(Math.min(...ratios))} %`,
    to: `${Math.round(Math.max(...ratios))} %`,
    'p50 ms': round(middle((m) => m.p50_ms)),
    'p99 ms': round(middle((m) => m.p99_ms)),
    'service µs': Math.round(middle((m) => m.service_us)),
    'postgres µs': Math.round(middle((m) => m.postgres_us)),
    'RSS MB': Math.max(...all.map((m) => m.rss_mb)),
    errors: all.reduce((sum, m) => sum + m.failed, 0),
  };
}

function good({ statuses }: LoadResult): number {
  return (statuses['200'] ?? 0) + (statuses['202'] ?? 0);
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
