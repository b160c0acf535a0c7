import { cpuSeconds } from './cpu.ts';
import { httpRequest, load, type LoadResult } from './load.ts';
import type { Row } from './run.ts';
import type { Bench, Process, ProcessOptions } from './service.ts';

/** What every bench of HTTP calls does the same way. */

export const connections = 64;
const warmupSeconds = 3;

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

/** A line of a table; `reference` is the rate that 100 % stand for. */
export function line(what: string, result: Measured, reference: number): Row {
  return {
    what,
    'per second': Math.round(result.rate),
    'of reference': `${Math.round((result.rate / reference) * 100)} %`,
    'p50 ms': round(result.p50_ms),
    'p99 ms': round(result.p99_ms),
    'service µs': Math.round(result.service_us),
    'postgres µs': Math.round(result.postgres_us),
    'RSS MB': result.rss_mb,
    replies: JSON.stringify(result.statuses),
  };
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
