import assert from 'node:assert/strict';
import { sql } from '../../src/lib/sql/sql.ts';
import { assertErrorShape } from './refusal.ts';
import type { Reply, Service, TestAccount } from './service.ts';
import { wake } from './states.ts';
import { traces } from './traces.ts';
import { exchange, type ExchangeOptions } from './wire.ts';

/** Malformed calls, and assertions that they did no harm. */

export interface RoughCall extends ExchangeOptions {
  headers?: string[];
  body?: string | Buffer;
  /** Replaces the usual headers: Host, `Connection: close` and the account's key. */
  usual?: string[];
}

/** Sends a request built line by line. Returns its only reply; asserts that the connection ends. */
export function send(
  service: Service,
  account: TestAccount,
  line: string,
  sent: RoughCall = {},
): Promise<Reply | undefined> {
  const { headers = [], body = '', usual, ...options } = sent;
  const own = usual ?? ['Host: x', 'Connection: close', `Authorization: Key ${account.key}`];
  const head = [`${line} HTTP/1.1`, ...own, ...headers].join('\r\n');
  return sendBytes(service, Buffer.concat([latin1(`${head}\r\n\r\n`), latin1(body)]), options);
}

/** Sends bytes. Asserts at most one reply, no internal error, and the end of the connection. */
export async function sendBytes(
  service: Service,
  bytes: string | Buffer,
  options: ExchangeOptions = {},
): Promise<Reply | undefined> {
  const { replies, closed } = await exchange(service.base, bytes, options);
  assert.ok(closed, 'the connection hangs');
  assert.ok(replies.length <= 1, `${replies.length} replies`);
  const [reply] = replies;
  if (reply) assert.ok(reply.status < 500, `a fault of ours: ${reply.text}`);
  if (reply && reply.status >= 400) assertErrorShape(reply);
  return reply;
}

/** The headers and the body of a JSON call. */
export function json(body: string): { headers: string[]; body: string } {
  const length = Buffer.byteLength(body);
  return { headers: ['Content-Type: application/json', `Content-Length: ${length}`], body };
}

/** Bytes of a text, one for each character. */
export function latin1(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
}

/** Runs calls and asserts that they left nothing behind. */
export async function leavingNothing(
  service: Service,
  work: () => Promise<unknown>,
): Promise<void> {
  const earlier = await traces(service);
  await work();
  assert.deepEqual(await traces(service), earlier);
}

/**
 * Asserts that the service is unharmed: nothing is in progress or reserved, the books are right,
 * the log holds no secret and no internal error, and a job runs from submit to output. `marker` was
 * in every prompt.
 */
export async function assertUnharmed(
  service: Service,
  account: TestAccount,
  marker: string,
): Promise<void> {
  const { reserved, open_jobs, open_requests } = await traces(service);
  const none = { reserved: 0n, open_jobs: 0n, open_requests: 0n };
  assert.deepEqual({ reserved, open_jobs, open_requests }, none);
  assert.equal((await service.app.metrics.inFlight.get()).values[0]?.value ?? 0, 0);
  assert.ok(!('isAdmin' in {}), 'a prototype was changed');

  const { key } = account;
  const body = { prompt: marker };
  const submitted = await service.call('POST', '/v1/queue/fake/image', { key, body });
  const id: string = submitted.body.request_id;
  await service.work();
  await wake(service, id);
  await service.work();
  const response = await service.call('GET', `/v1/requests/${id}/response`, { key });
  assert.equal(response.status, 200, response.text);
  await service.audit();
  await assertDiscreetLog(service, [key, marker]);
}

async function assertDiscreetLog(service: Service, hidden: string[]): Promise<void> {
  const rows = await service.db.run<{ webhook_secrets: string[] }>(sql`select webhook_secrets
    from accounts`);
  const log = service.log.join('');
  const secrets = rows.flatMap(({ webhook_secrets }) => webhook_secrets);
  for (const secret of [...hidden, ...secrets, 'whsec_']) {
    assert.ok(!log.includes(secret), `the log holds ${secret.slice(0, 8)}…`);
  }
  const levels = service.log.map((line) => JSON.parse(line).level as number);
  assert.ok(
    levels.every((level) => level < 50),
    log,
  );
}
