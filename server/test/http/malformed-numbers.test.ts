import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { assertRefused } from '../kit/refusal.ts';
import { assertUnharmed } from '../kit/rough.ts';
import {
  fakeCatalog,
  startService,
  type Reply,
  type Service,
  type TestAccount,
} from '../kit/service.ts';
import { wake } from '../kit/states.ts';
import { traces } from '../kit/traces.ts';
import { media } from '../upstreams/fakes/kit.ts';

/** Fields that decide a price: exact, or refused by name; the same in an estimate and in a submit. */

/** Rows at the edges of what money can be. */
const edges = `
  - id: fake/dear
    kind: video
    task: text-to-video
    name: The dearest
    price: { unit: sec, usd: "999999" }
    max: 0
    max_unit: seconds
    upstream_model: film
    input_schema: { type: object }
    example: {}
  - id: fake/thousandth
    kind: image
    task: text-to-image
    name: What a float cannot hold
    price: { unit: image, usd: "1.005" }
    max: 0
    max_unit: images
    upstream_model: image
    input_schema: { type: object }
    example: {}
`;

const marker = 'PROMPT-MARKER-77aa';
let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService({
    catalog: fakeCatalog + edges,
    env: { FAREBOX_OPEN_JOBS: '1000' },
  });
  assert.equal(service.app.catalog.current().models.size, 6, service.log.join(''));
  account = await service.account({ usd: 10_000 });
});
after(async () => {
  await service.audit();
  await service.stop();
});

/** Sends bytes as JSON; whatever they are, the answer comes soon. */
function post(path: string, raw: string | Buffer): Promise<Reply> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(10_000);
  return service.call('POST', path, { key: account.key, raw, headers, signal });
}

/** Lets go of what a good submit reserved. */
async function cancel(reply: Reply): Promise<void> {
  const path = `/v1/requests/${reply.body.request_id}/cancel`;
  assert.equal((await service.call('POST', path, { key: account.key })).status, 200);
}

describe('numbers that money is made of', () => {
  const film = { model: 'fake/film/text-to-video', rest: '"prompt":"x","resolution":"480p"' };
  const image = { model: 'fake/image', rest: '"prompt":"x"' };
  const never = [
    '"5"',
    '"5abc"',
    '""',
    'true',
    'false',
    '[5]',
    '[]',
    '{}',
    '-1',
    '0',
    '-0',
    '-5e-324',
    '1e308',
    '9007199254740993',
    '"Infinity"',
    '"0x5"',
    '"１"',
  ];
  const fields = [
    {
      field: 'duration_seconds',
      ...film,
      taken: {
        // As if left out.
        null: 250_000,
        '0.1': 5_000,
        '4.9999999': 250_000,
        '1e-320': 1,
        '5e-324': 1,
        '0.000001': 1,
        '0.00002': 1,
        '0.00003': 2,
        '10': 500_000,
        '1e1': 500_000,
        '9.999999999999999': 500_000,
        '5.0': 250_000,
        '0.30000000000000004': 15_001,
      },
      refused: ['10.000000000000002', '10.1', '11', '1e2', '4294967297'],
    },
    {
      field: 'num_images',
      ...image,
      taken: { null: 10_000, 1: 10_000, 4: 40_000, '2.0': 20_000, '3e0': 30_000, '0.1e1': 10_000 },
      refused: ['5', '0.1', '1.5', '4.9999999', '1e-320', '4294967297', '2.0000000000000004'],
    },
    {
      field: 'num_images',
      model: 'fake/thousandth',
      rest: '"a":1',
      taken: { null: 1_005_000, 1: 1_005_000, 3: 3_015_000 },
      refused: ['101'],
    },
  ];
  for (const { field, model, rest, taken, refused } of fields) {
    for (const text of [...never, ...refused]) {
      test(`${model}: ${field} of ${text} is no price`, async () => {
        const earlier = await traces(service);
        const input = `{${rest},"${field}":${text}}`;
        for (const [path, body] of [
          ['/v1/estimate', `{"model_id":"${model}","input":${input}}`],
          [`/v1/queue/${model}`, input],
        ]) {
          const { param, message } = assertRefused(await post(path!, body!), 'unpriceable');
          assert.equal(param, field);
          assert.match(message, /must be/);
        }
        assert.deepEqual(await traces(service), earlier);
      });
    }
    for (const [text, price] of Object.entries(taken)) {
      test(`${model}: ${field} of ${text} is ${price} micro-USD, estimated and reserved`, async () => {
        const input = `{${rest},"${field}":${text}}`;
        const estimated = await post('/v1/estimate', `{"model_id":"${model}","input":${input}}`);
        assert.equal(estimated.body.price_usd_micro, String(price));
        const submitted = await post(`/v1/queue/${model}`, input);
        assert.equal(submitted.body.quoted_usd_micro, String(price), submitted.text);
        await cancel(submitted);
      });
    }
  }

  const resolutions = [
    '720',
    'true',
    '""',
    '"720P"',
    '"480p "',
    '"4k"',
    '["480p"]',
    '{"$eq":"480p"}',
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"480p\\u200b"',
  ];
  for (const text of resolutions) {
    test(`a resolution of ${text} is no price`, async () => {
      const input = `{"prompt":"x","resolution":${text}}`;
      assert.equal(
        assertRefused(
          await post('/v1/estimate', `{"model_id":"${film.model}","input":${input}}`),
          'unpriceable',
        ).param,
        'resolution',
      );
      assert.equal(
        assertRefused(await post(`/v1/queue/${film.model}`, input), 'unpriceable').param,
        'resolution',
      );
    });
  }

  test('a price at the ceiling asks for balance, one above it is no price', async () => {
    const earlier = await traces(service);
    const most = await post(
      '/v1/estimate',
      '{"model_id":"fake/dear","input":{"duration_seconds":1000}}',
    );
    assert.equal(most.body.price_usd_micro, '999999000000000');
    const { details } = assertRefused(
      await post('/v1/queue/fake/dear', '{"duration_seconds":1000}'),
      'insufficient_balance',
    );
    assert.equal(details.required_usd_micro, '999999000000000');
    for (const seconds of [1000.0011, 1001, 3600]) {
      const { param } = assertRefused(
        await post('/v1/queue/fake/dear', `{"duration_seconds":${seconds}}`),
        'unpriceable',
      );
      assert.equal(param, 'duration_seconds');
    }
    assert.deepEqual(await traces(service), earlier);
  });

  test('a length of next to nothing runs to its end like any other, and is charged at most 1', async () => {
    const source = { bytes: media.mp4 };
    const result = { media: [{ field: 'video', source }], fields: {} };
    service.fake.behave = { poll: () => ({ state: 'done', result }) };
    const reply = await post(`/v1/queue/${film.model}`, `{${film.rest},"duration_seconds":1e-320}`);
    await service.work();
    await wake(service, reply.body.request_id);
    await service.work();
    const { body } = await service.call('GET', `/v1/requests/${reply.body.request_id}`, {
      key: account.key,
    });
    assert.equal(body.status, 'COMPLETED');
    assert.ok(Number(body.charged_usd_micro) <= 1);
    service.fake.behave = {};
  });
});

test('after all that nothing is harmed', () => assertUnharmed(service, account, marker));
