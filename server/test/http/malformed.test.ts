import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/core/errors.ts';
import { brokenBodies, brokenEncodings, brokenMembers, oddMembers } from '../kit/odd-json.ts';
import { assertRefused } from '../kit/refusal.ts';
import { assertUnharmed } from '../kit/rough.ts';
import { startService, type Reply, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';

/**
 * Bodies that are broken, hostile or odd, at every call that reads JSON: refused with a word, or
 * taken; nothing else.
 */

const marker = 'PROMPT-MARKER-5f2c';
let service: Service;
let account: TestAccount;
let calls = 0;
before(async () => {
  service = await startService({ env: { FAREBOX_OPEN_JOBS: '10000' } });
  account = await service.account({ usd: 10_000 });
});
after(async () => {
  await service.audit();
  await service.stop();
});

/** The calls that read a JSON body, each with a good one that takes further members. */
const targets = {
  estimate: {
    path: '/v1/estimate',
    good: `{"model_id":"fake/image","input":{"prompt":"${marker}"}}`,
    status: 200,
  },
  submit: { path: '/v1/queue/fake/image', good: `{"prompt":"${marker}"}`, status: 202 },
  chat: {
    path: '/v1/chat/completions',
    good: `{"model":"fake/chat","messages":[{"role":"user","content":"${marker}"}]}`,
    status: 200,
  },
};
type Target = keyof typeof targets;
const names = Object.keys(targets) as Target[];

/** Sends bytes as JSON; whatever they are, the answer comes soon. */
function post(path: string, raw: string | Buffer): Promise<Reply> {
  calls++;
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(10_000);
  return service.call('POST', path, { key: account.key, raw, headers, signal });
}

async function refusedEverywhere(
  bodyOf: (target: Target) => string | Buffer,
  code: ErrorCode,
): Promise<void> {
  const earlier = await traces(service);
  for (const name of names)
    assertRefused(await post(targets[name].path, bodyOf(name)), code, { about: name });
  assert.deepEqual(await traces(service), earlier);
}

/** Lets go of what a good submit reserved. */
async function cancel(reply: Reply): Promise<void> {
  const path = `/v1/requests/${reply.body.request_id}/cancel`;
  assert.equal((await service.call('POST', path, { key: account.key })).status, 200);
}

describe('a body that is no JSON object, or holds what no text of ours may', () => {
  for (const [i, { name, text }] of brokenMembers.entries()) {
    test(`is refused by each call: ${name}`, async () => {
      const first = (good: string) => good.replace('{', `{${text},`);
      const last = (good: string) => `${good.slice(0, -1)},${text}}`;
      const put = i % 2 === 0 ? first : last;
      await refusedEverywhere((target) => put(targets[target].good), 'bad_request');
    });
  }
  for (const { name, body } of brokenBodies) {
    test(`is refused by each call: ${name}`, () => refusedEverywhere(() => body, 'bad_request'));
  }
  for (const [i, { name }] of brokenEncodings('{"a":1}').entries()) {
    test(`is refused by each call: ${name}`, () =>
      refusedEverywhere((target) => brokenEncodings(targets[target].good)[i]!.body, 'bad_request'));
  }
});

describe('a body beyond the bounds', () => {
  const mebi = 1024 * 1024;
  const sized = (target: Target, bytes: number) => {
    const { good } = targets[target];
    return `${good.slice(0, -1)}${' '.repeat(bytes - good.length)}}`;
  };
  const bounds: [Target, number][] = [
    // It takes the body of a chat too.
    ['estimate', 10 * mebi],
    ['submit', mebi],
    ['chat', 10 * mebi],
  ];
  for (const [target, bytes] of bounds) {
    test(`of a ${target} is refused; one of just that size is taken`, async () => {
      const { path, status } = targets[target];
      const earlier = await traces(service);
      assertRefused(await post(path, sized(target, bytes + 1)), 'payload_too_large');
      assert.deepEqual(await traces(service), earlier);
      const reply = await post(path, sized(target, bytes));
      assert.equal(reply.status, status, reply.text.slice(0, 300));
      if (target === 'submit') await cancel(reply);
    });
  }

  test('is answered soon, however deep it is', async () => {
    const begun = performance.now();
    const deep = `{"a":${'['.repeat(5 * mebi)}`;
    assertRefused(await post(targets.chat.path, deep), 'bad_request');
    assert.ok(performance.now() - begun < 5_000);
  });
});

describe('what is only odd', () => {
  for (const { name, text } of oddMembers) {
    test(`is taken by each call: ${name}`, async () => {
      for (const target of names) {
        const { path, good, status } = targets[target];
        const reply = await post(path, good.replace('{', `{${text},`));
        assert.equal(reply.status, status, `${target}: ${reply.text.slice(0, 300)}`);
        if (target !== 'submit') continue;
        const card = await service.call('GET', `/v1/requests/${reply.body.request_id}`, {
          key: account.key,
        });
        // Stored as JSON is written, where a zero has no sign, without what is null.
        const kept = JSON.stringify(JSON.parse(good.replace('{', `{${text},`)));
        const given = Object.entries(JSON.parse(kept)).filter(([, value]) => value !== null);
        assert.deepEqual(card.body.input, Object.fromEntries(given));
        await cancel(reply);
      }
    });
  }

  const twice: [string, string, string, string][] = [
    [
      'the model',
      '/v1/estimate',
      '{"model_id":"fake/none","model_id":"fake/image","input":{}}',
      '10000',
    ],
    ['the count', '/v1/queue/fake/image', '{"prompt":"x","num_images":4,"num_images":1}', '10000'],
    [
      'the length',
      '/v1/queue/fake/film/text-to-video',
      '{"prompt":"x","duration_seconds":10,"duration_seconds":1,"resolution":"720p","resolution":"480p"}',
      '50000',
    ],
    [
      'the webhook',
      '/v1/queue/fake/image',
      '{"prompt":"x","webhook_url":"http://10.0.0.1/","webhook_url":"https://93.184.216.34/"}',
      '10000',
    ],
  ];
  for (const [name, path, body, price] of twice) {
    test(`of a field given twice the last one counts: ${name}`, async () => {
      const reply = await post(path, body);
      assert.ok(reply.status < 300, reply.text);
      assert.equal(reply.body.quoted_usd_micro ?? reply.body.price_usd_micro, price);
      if (reply.status === 202) await cancel(reply);
    });
  }
  test('of a webhook given twice the last one is judged', async () => {
    const body =
      '{"prompt":"x","webhook_url":"https://93.184.216.34/","webhook_url":"http://10.0.0.1/"}';
    assertRefused(await post('/v1/queue/fake/image', body), 'bad_webhook_url');
  });
});

test('there were more than 300 of them', () => {
  assert.ok(calls > 300, `${calls} calls`);
});

test('after all that nothing is harmed', () => assertUnharmed(service, account, marker));
