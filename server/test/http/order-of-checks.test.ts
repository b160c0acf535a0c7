import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { adjust } from '../kit/by-command-line.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import * as keys from '../../src/db/accounts/keys.ts';
import { isLong } from '../kit/long.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { Reply, TestAccount } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';

/** The answer to a call with several faults names the first one in the documented order. */

/** The parts of a call that faults change. */
interface Attempt {
  account: TestAccount;
  path: string;
  key: string | null;
  body: Record<string, unknown>;
  /** In place of the body. */
  raw?: string;
  headers: Record<string, string>;
}

interface Fault {
  name: string;
  code: ErrorCode;
  apply: (attempt: Attempt) => Promise<void> | void;
}

const { service } = withService();

const used = 'used-before';

/** Faults in the order of their checks. */
const faults: Fault[] = [
  { name: 'no key', code: 'unauthorized', apply: (attempt) => void (attempt.key = null) },
  { name: 'too many calls', code: 'rate_limited', apply: ({ account }) => exhaust(account) },
  {
    name: 'a body of no type',
    code: 'unsupported_media_type',
    apply: (attempt) => void (attempt.headers['content-type'] = 'nonsense'),
  },
  {
    name: 'a broken body',
    code: 'bad_request',
    apply: (attempt) => void (attempt.raw = '{"prompt":'),
  },
  {
    name: 'an unknown model',
    code: 'unknown_model',
    apply: (attempt) => {
      attempt.path = '/v1/queue/fake/none';
      attempt.body.model = 'fake/none';
    },
  },
  {
    name: 'a key used for another body',
    code: 'idempotency_conflict',
    apply: (attempt) => void (attempt.headers['idempotency-key'] = used),
  },
  {
    name: 'the limit of the key',
    code: 'key_limit_reached',
    apply: async ({ account }) => {
      await keys.change(
        service.db,
        account.key_id,
        { monthly_limit_usd_micro: 5_000n },
        'operator',
      );
    },
  },
  {
    name: 'no balance',
    code: 'insufficient_balance',
    apply: async ({ account }) => {
      const { available: amount } = await service.balance(account);
      const reference = `drain ${account.account_id}`;
      await adjust(service.db, {
        account_id: account.account_id,
        amount: -amount,
        reference,
        reason: 'test',
      });
    },
  },
];

/** Limits the account to one call a minute, and makes it. */
async function exhaust(account: TestAccount): Promise<void> {
  await keys.change(service.db, account.key_id, { rpm: 1 }, 'operator');
  await account.get('/v1/requests');
}

const calls: Record<string, () => Pick<Attempt, 'path' | 'body'>> = {
  'a submit': () => ({ path: '/v1/queue/fake/image', body: { prompt: 'two' } }),
  'a video': () => ({
    path: '/v1/videos',
    body: { model: 'fake/film/text-to-video', prompt: 'two' },
  }),
  'a prediction': () => ({
    path: '/replicate/v1/predictions',
    body: { version: 'fake/image', input: { prompt: 'two' } },
  }),
  'a chat': () => ({
    path: '/v1/chat/completions',
    body: { model: 'fake/chat', messages: [{ role: 'user', content: 'two' }], max_tokens: 8_000 },
  }),
};

async function attempt(call: string, present: Fault[]): Promise<Reply> {
  const account = await service.account();
  const earlier = { prompt: 'one' };
  const headers = { 'idempotency-key': used };
  const first = await account.post('/v1/queue/fake/image', earlier, { headers });
  assert.equal(first.status, 202, first.text);
  const made: Attempt = { account, key: account.key, headers: {}, ...calls[call]!() };
  for (const { apply } of present) await apply(made);
  return send(made);
}

function send({ path, key, body, raw, headers }: Attempt): Promise<Reply> {
  const type = { 'content-type': 'application/json', ...headers };
  return service.call('POST', path, { key, raw: raw ?? JSON.stringify(body), headers: type });
}

for (const call of Object.keys(calls)) {
  describe(`${call} with two faults`, () => {
    // The short form compares neighbours only, which together give the whole order.
    for (const [i, first] of faults.entries()) {
      for (const second of faults.slice(i + 1, isLong ? undefined : i + 2)) {
        test(`${first.name} is told before ${second.name}`, async () => {
          // The later fault is set up first, so that the order of setting up does not matter.
          assertRefused(await attempt(call, [second, first]), first.code);
        });
      }
    }

    test('each is reported if it is the only one', async () => {
      for (const fault of faults) assertRefused(await attempt(call, [fault]), fault.code);
    });

    test('taking away one after the other shows them all in order, and nothing is kept', async () => {
      for (const i of faults.keys()) {
        const reply = await attempt(call, faults.slice(i).toReversed());
        const earlier = await traces(service);
        assertRefused(reply, faults[i]!.code);
        assert.deepEqual(await traces(service), earlier);
      }
    });
  });
}

describe('among several faults in one body', () => {
  const image = '/v1/queue/fake/image';
  const bodies: [string, string, unknown, ErrorCode][] = [
    ['an unknown model before its input', '/v1/queue/none', {}, 'unknown_model'],
    [
      'a text model before its input',
      '/v1/queue/fake/chat',
      { webhook_url: 7 },
      'use_chat_completions',
    ],
    ['the webhook before the price', image, { webhook_url: 7, num_images: 0 }, 'bad_webhook_url'],
    ['the price before the schema', image, { num_images: 0 }, 'unpriceable'],
    ['the schema before the files', image, { image_url: 'ftp://x/' }, 'invalid_input'],
    ['the key of idempotency before the body', image, [], 'bad_request'],
  ];
  for (const [name, path, body, code] of bodies) {
    test(`${name} is told`, async () => {
      const { key } = await service.account();
      const earlier = await traces(service);
      assertRefused(await service.call('POST', path, { key, body }), code);
      assert.deepEqual(await traces(service), earlier);
    });
  }
});

describe('a call that was refused before reserving is not stored', () => {
  const refusals = faults.filter(({ code }) =>
    /unauthorized|rate|bad_request|unknown|limit|balance/.test(code),
  );
  for (const { name, code, apply } of refusals) {
    test(`${name}: the same Idempotency-Key works once the fault is gone`, async () => {
      const account = await service.account();
      const headers = { 'idempotency-key': 'again' };
      const call = { key: account.key, headers, ...calls['a submit']!() };
      const fine = { account, ...call };
      const broken: Attempt = { account, ...structuredClone(call) };
      await apply(broken);
      assertRefused(await send(broken), code);
      await repair(account);
      const reply = await send(fine);
      assert.equal(reply.status, 202, reply.text);
      assert.equal(reply.headers.get('idempotent-replayed'), null);
      assert.equal((await send(fine)).status, 200);
      assert.equal((await service.balance(account)).reserved, 10_000n);
    });
  }

  async function repair(account: TestAccount): Promise<void> {
    const { account_id, key_id } = account;
    await keys.change(service.db, key_id, { rpm: null, monthly_limit_usd_micro: null }, 'operator');
    const reference = `repair ${account_id}`;
    await adjust(service.db, { account_id, amount: 1_000_000n, reference, reason: 'test' });
  }
});

describe('a repeat of what was accepted', () => {
  const hindrances = faults.filter(({ code }) => /limit_reached|balance/.test(code));
  for (const { name, apply } of hindrances) {
    test(`is answered although there is ${name}`, async () => {
      const account = await service.account();
      const headers = { 'idempotency-key': 'once' };
      const made: Attempt = { account, key: account.key, headers, ...calls['a submit']!() };
      const first = await send(made);
      await apply(made);
      const earlier = await traces(service);
      const again = await send(made);
      assert.equal(again.status, 200, again.text);
      assert.equal(again.text, first.text);
      assert.deepEqual(await traces(service), earlier);
    });
  }

  test('is answered although the key has as many open jobs as it may', async () => {
    const account = await service.account({ open_jobs: 1 });
    const headers = { 'idempotency-key': 'once' };
    const made: Attempt = { account, key: account.key, headers, ...calls['a submit']!() };
    assert.equal((await send(made)).status, 202);
    assert.equal((await send(made)).status, 200);
    assertRefused(await send({ ...made, headers: {} }), 'rate_limited');
    assertRefused(await send({ ...made, headers: { 'idempotency-key': 'new' } }), 'rate_limited');
  });
});
