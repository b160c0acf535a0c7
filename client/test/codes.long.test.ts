import type { SaidReply } from '../../server/test/kit/fake.ts';
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { after, before, describe, test } from 'node:test';
import { Farebox, FareboxError } from '../src/index.ts';
import { refusalIn } from '../../server/src/core/chat/refusal.ts';
import { errors, type ErrorCode } from '../../server/src/core/errors.ts';
import { absent, createWorld, type World } from '../../server/test/http/error-world.ts';
import {
  startService,
  type Reply,
  type Service,
  type TestAccount,
} from '../../server/test/kit/service.ts';

/** Each code of the catalogue as the client throws it, and the number of calls before. */

let service: Service;
let world: World;
let calls: number;
before(async () => {
  service = await startService({ env: { FAREBOX_UPLOAD_MAX_BYTES: '100' } });
  world = await createWorld(service);
});
after(async () => {
  await service.audit();
  await service.stop();
});

/** A client that retries once, after at most a second, if the code allows a retry. */
function clientOf(account: TestAccount, init: RequestInit = {}): Farebox {
  return new Farebox({
    apiKey: account.key,
    baseUrl: `${service.base}/v1`,
    maxRetries: 1,
    fetch: async (url, usual) => {
      calls++;
      const reply = await fetch(url, { ...usual, ...init });
      const headers = new Headers(reply.headers);
      if (headers.has('retry-after')) headers.set('retry-after', '0');
      return new Response(reply.body, { status: reply.status, headers });
    },
  });
}

interface Case {
  call: (farebox: Farebox, w: World) => Promise<unknown>;
  as?: (w: World) => TestAccount;
  init?: RequestInit;
  /** The client retries after this code. */
  again?: true;
  param?: string;
  details?: Record<string, unknown>;
}

const image = 'fake/image';
const chat = { model: 'fake/chat', messages: [{ role: 'user' as const, content: 'hi' }] };
const png = Buffer.from('89504e470d0a1a0a', 'hex');
/** Casts work of the client, which returns no Reply, for the world's helpers. */
const during = (work: () => Promise<unknown>) => work as () => Promise<Reply>;

const words = 'prompt is too long: 12 tokens > 9 maximum';
const tooManyTokens: SaidReply = {
  outcome: 'rejected',
  message: words,
  refusal: refusalIn(null, words),
};

const cases: Record<ErrorCode, Case> = {
  bad_request: { call: (f) => f.requests.list({ limit: 1000 }), param: 'limit' },
  unknown_model: { call: (f) => f.submit('no/such', {}) },
  unpriceable: { call: (f) => f.estimate(image, { prompt: 'x', num_images: 9 }) },
  invalid_input: { call: (f) => f.submit(image, { prompt: 7 }) },
  bad_webhook_url: {
    call: (f) => f.submit(image, { prompt: 'x' }, { webhookUrl: 'http://127.0.0.1/' }),
    param: 'webhook_url',
  },
  bad_messages: { call: (f) => f.chat.create({ ...chat, messages: [] }) },
  context_length_exceeded: {
    call: (f, w) =>
      w.acting(
        { chat: () => tooManyTokens },
        during(() => f.chat.create(chat)),
      ),
    param: 'messages',
  },
  use_chat_completions: { call: (f) => f.submit('fake/chat', { messages: [] }) },
  unauthorized: { call: (f) => f.balance(), as: (w) => w.over },
  insufficient_balance: {
    call: (f) => f.submit(image, { prompt: 'x', num_images: 2 }),
    as: (w) => w.poor,
    details: {
      required_usd_micro: 20_000n,
      available_usd_micro: 15_000n,
      reserved_usd_micro: 0n,
      top_up: [],
    },
  },
  key_limit_reached: {
    call: (f) => f.submit(image, { prompt: 'x', num_images: 2 }),
    as: (w) => w.limited,
  },
  forbidden: {
    call: (f) => f.submit(image, { prompt: 'x' }),
    as: (w) => w.narrow,
    details: { models: ['fake/chat'] },
  },
  not_found: { call: (f) => f.requests.get(absent) },
  method_not_allowed: { call: (f) => f.balance(), init: { method: 'DELETE' } },
  idempotency_conflict: {
    call: (f) => f.submit(image, { prompt: 'a dog' }, { idempotencyKey: 'used' }),
  },
  request_not_ready: {
    call: (f, w) => f.response(w.failed),
    details: { status: 'FAILED', error: { code: 'upstream_failed', message: 'out of paint' } },
  },
  not_cancellable: { call: (f, w) => f.cancel(w.completed), details: { status: 'COMPLETED' } },
  expired: { call: (f, w) => w.aDayLater(during(() => f.response(w.completed))) },
  payload_too_large: {
    call: (f) => f.upload(Buffer.concat([png, Buffer.alloc(200)])),
    details: { max_bytes: 100 },
  },
  unsupported_media_type: { call: (f) => f.upload(new Blob([png], { type: 'image/gif' })) },
  rate_limited: {
    call: (f) => f.balance().then(() => f.balance()),
    as: (w) => w.busy,
    again: true,
  },
  internal_error: {
    call: (f, w) =>
      w.having(
        'alter table request_inputs add constraint broken check (false) not valid',
        'alter table request_inputs drop constraint broken',
        during(() => f.submit(image, { prompt: 'x' })),
      ),
    again: true,
  },
  submit_failed: {
    call: (f, w) =>
      w.acting(
        { chat: () => ({ outcome: 'unknown', message: 'ECONNRESET at 10.0.0.7' }) },
        during(() => f.chat.create(chat)),
      ),
    again: true,
  },
  capacity_unavailable: {
    call: (f, w) =>
      w.acting(
        { chat: () => ({ outcome: 'not_accepted', message: '429', retry_after_ms: 6_500 }) },
        during(() => f.chat.create(chat)),
      ),
    again: true,
  },
};

describe('every code of the catalogue', () => {
  test('has its case', () => {
    assert.deepEqual(Object.keys(cases).sort(), Object.keys(errors).sort());
  });

  for (const [code, { call, as, init, again, param, details }] of Object.entries(cases)) {
    test(`${code} is thrown with its facts, ${again ? 'after one more try' : 'at once'}`, async () => {
      const account = as?.(world) ?? world.rich;
      calls = 0;
      const error = await call(clientOf(account, init), world).then(
        () => assert.fail('nothing was thrown'),
        (thrown: FareboxError) => thrown,
      );
      assert.ok(error instanceof FareboxError && error instanceof Error, inspect(error));
      const { status, type } = errors[code as ErrorCode];
      assert.deepEqual([error.code, error.status, error.type], [code, status, type]);
      assert.match(error.callId!, /^req_/);
      assert.ok(error.message.length > 20, error.message);
      if (param !== undefined) assert.equal(error.param, param);
      if (details !== undefined) assert.deepEqual(error.details, details);
      const expected = (code === 'rate_limited' ? 1 : 0) + (again ? 2 : 1);
      assert.equal(calls, expected, 'calls that were made');
      assert.ok(!inspect(error, { depth: 9 }).includes(account.key), 'the key shows');
    });
  }
});
