import { setTimeout as pause } from 'node:timers/promises';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { accept, createFake, images } from '../kit/fake.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { S3Server } from '../storage/s3-server.ts';

/**
 * Takes the storage away under load and brings it back; every result that was paid for must be
 * stored.
 */

export interface OutageReport {
  outage_seconds: number;
  accepted: number;
  /** Submits and chats refused during the outage. */
  refused_503: number;
  chats: { ok: number; failed: number };
  /** The most results that were held on disk at the same time. */
  held_max: number;
  held_bytes_max: number;
  /** From the end of the outage until the last held result was stored. */
  seconds_to_clear: number;
  completed: number;
  violations: string[];
}

interface Options {
  outageSeconds: number;
  /** Time before the outage, and after it. */
  calmSeconds: number;
  submitters: number;
  log: (line: string) => void;
}

export async function storageOutage(options: Options): Promise<OutageReport> {
  const s3 = new S3Server();
  const { host } = new URL(await s3.listen());
  const address = `s3+http://AKTEST:se%2Fcr%2Bet@${host}/bucket?region=eu-test-1`;
  // Half of the images come in the answer to the start, half by polling.
  const fake = createFake({ class: 'C', concurrency: 32 });
  fake.behave.start = async (job) => {
    await pause(500 + Math.random() * 1_500);
    const isInstant = String(job.input.prompt).startsWith('instant');
    return isInstant ? { outcome: 'done', result: images(1) } : accept(fake, job);
  };
  const service = await startService({ fake, running: true, env: { FAREBOX_STORAGE: address } });
  try {
    const account = await service.account({ usd: 10_000, open_jobs: 100_000 });
    return await play(service, account, s3, options);
  } finally {
    await service.stop();
    await s3.close();
  }
}

async function play(
  service: Service,
  account: TestAccount,
  s3: S3Server,
  { outageSeconds, calmSeconds, submitters, log }: Options,
): Promise<OutageReport> {
  const tally = { ids: [] as string[], refused: 0, ok: 0, failed: 0, held: 0, bytes: 0 };
  const over = new AbortController();
  const load = [
    ...Array.from({ length: submitters }, () => submitting(service, account, tally, over.signal)),
    chatting(service, account, tally, over.signal),
    watching(service, tally, over.signal),
  ];
  await pause(calmSeconds * 1000);
  log(`${tally.ids.length} accepted; the storage goes away`);
  s3.before = () => 'cut';
  await pause(outageSeconds * 1000);
  log(`${tally.ids.length} accepted, ${tally.held} held at most; the storage is back`);
  s3.before = () => null;
  const backAt = performance.now();
  while ((await figure(service, 'farebox_spool_results')) > 0) await pause(100);
  const seconds_to_clear = Math.round((performance.now() - backAt) / 100) / 10;
  await pause(calmSeconds * 1000);
  over.abort();
  await Promise.all(load);
  const { completed, violations } = await judged(service, account, tally.ids);
  return {
    outage_seconds: outageSeconds,
    accepted: tally.ids.length,
    refused_503: tally.refused,
    chats: { ok: tally.ok, failed: tally.failed },
    held_max: tally.held,
    held_bytes_max: tally.bytes,
    seconds_to_clear,
    completed,
    violations,
  };
}

type Tally = {
  ids: string[];
  refused: number;
  ok: number;
  failed: number;
  held: number;
  bytes: number;
};

async function submitting(
  service: Service,
  { key }: TestAccount,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const prompt = Math.random() < 0.5 ? 'instant' : 'looked at';
    const reply = await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt } });
    if (reply.status === 202) tally.ids.push(reply.body.request_id);
    else if (reply.status === 503) tally.refused += 1;
    else throw new Error(`a submit got ${reply.status}: ${reply.text}`);
    await pause(400);
  }
}

async function chatting(
  service: Service,
  { key }: TestAccount,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  const body = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
  while (!over.aborted) {
    const { status } = await service.call('POST', '/v1/chat/completions', { key, body });
    if (status === 200) tally.ok += 1;
    else tally.failed += 1;
    await pause(500);
  }
}

async function watching(service: Service, tally: Tally, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    tally.held = Math.max(tally.held, await figure(service, 'farebox_spool_results'));
    tally.bytes = Math.max(tally.bytes, await figure(service, 'farebox_spool_bytes'));
    await pause(500);
  }
}

async function figure(service: Service, name: string): Promise<number> {
  const { text } = await service.call('GET', '/metrics');
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? 0);
}

/**
 * Waits until all requests have ended. Returns the requests that were lost, made twice or are still
 * held.
 */
async function judged(service: Service, account: TestAccount, ids: string[]) {
  const violations: string[] = [];
  const limit = performance.now() + 120_000;
  const open = () =>
    service.db.run(rawSql('select from requests where completed_at is null limit 1'));
  while ((await open()).length > 0 && performance.now() < limit) await pause(200);
  const rows = await service.db.run<{ id: string; status: string; charged: bigint | null }>(
    rawSql(`select id, status, charged_usd_micro as charged from requests where kind = 'image'`),
  );
  const starts = new Map<string, number>();
  for (const { request_id } of service.fake.starts)
    starts.set(request_id, (starts.get(request_id) ?? 0) + 1);
  for (const { id, status, charged } of rows) {
    if (status !== 'COMPLETED' || charged !== 10_000n) violations.push(`${id} ended as ${status}`);
    if (starts.get(id) !== 1) violations.push(`${id} was started ${starts.get(id) ?? 0} times`);
  }
  if (rows.length !== ids.length) violations.push(`${ids.length} accepted, ${rows.length} kept`);
  const { reserved } = await service.balance(account);
  if (reserved !== 0n) violations.push(`${reserved} is still reserved`);
  await service.audit().catch((error: Error) => violations.push(error.message));
  return { completed: rows.filter(({ status }) => status === 'COMPLETED').length, violations };
}
