import { cpuSeconds } from './cpu.ts';
import { httpRequest, load, type LoadResult } from './load.ts';
import type { Row } from './run.ts';
import type { Bench, Process, ProcessOptions } from './service.ts';

/** What every bench of HTTP calls does the same way. */

export const connections = 64;
/** So long does the compiler take to know the hot paths; a service that runs is past it. */
export const warmupSeconds = 8;

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

export interface Measured extends LoadResult {
  rss_mb: number;
  /** CPU microseconds of one call, warm-up and start included in both. */
  service_us: number;
  postgres_us: number;
}

/** Starts a process, loads it, and takes its figures. */
export async function measure(
  bench: Bench,
  options: ProcessOptions,
  seconds: number,
  request: (n: number, process: Process) => Buffer,
): Promise<Measured> {
  const process = await bench.start(options);
  try {
    const before = { service: cpuSeconds(process.pid), postgres: cpuSeconds(bench.databasePid) };
    const result = await load({
      port: process.port,
      connections,
      seconds,
      warmupSeconds,
      request: (n) => request(n, process),
    });
    const share = seconds / (seconds + warmupSeconds) / result.requests;
    return {
      ...result,
      rss_mb: process.rssMb(),
      service_us: (cpuSeconds(process.pid) - before.service) * share * 1e6,
      postgres_us: (cpuSeconds(bench.databasePid) - before.postgres) * share * 1e6,
    };
  } finally {
    await process.stop();
  }
}

/** One of those that are compared. */
export interface Contender {
  what: string;
  run: () => Promise<Measured>;
}

/**
 * Measures each in every round, the first one being the reference, and tells the medians. A machine
 * is seldom equally quick for minutes: only what ran in one round is compared, and the order turns.
 */
export async function compare(contenders: Contender[], rounds: number): Promise<Row[]> {
  const results = new Map<Contender, Measured[]>(contenders.map((each) => [each, []]));
  for (let round = 0; round < rounds; round++) {
    for (const each of round % 2 === 0 ? contenders : contenders.toReversed())
      results.get(each)!.push(await each.run());
  }
  const reference = results.get(contenders[0]!)!;
  return contenders.map((each) => {
    const all = results.get(each)!;
    const middle = (of: (result: Measured) => number) => median(all.map(of));
    const ratios = all.map((result, i) => (result.rate / reference[i]!.rate) * 100);
    return {
      what: each.what,
      'per second': Math.round(middle((m) => m.rate)),
      'of reference': `${Math.round(median(ratios))} %`,
      from: `${Math.round(Math.min(...ratios))} %`,
      to: `${Math.round(Math.max(...ratios))} %`,
      'p50 ms': round(middle((m) => m.p50_ms)),
      'p99 ms': round(middle((m) => m.p99_ms)),
      'service µs': Math.round(middle((m) => m.service_us)),
      'postgres µs': Math.round(middle((m) => m.postgres_us)),
      'RSS MB': Math.max(...all.map((m) => m.rss_mb)),
      errors: all.reduce((sum, m) => sum + m.errors + m.requests - good(m), 0),
    };
  });
}

function good({ statuses }: Measured): number {
  return (statuses['200'] ?? 0) + (statuses['202'] ?? 0);
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
