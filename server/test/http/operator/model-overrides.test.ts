/** Prices and routes that operators set beside the catalog's files, in two processes. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createFake, images, type Fake } from '../../kit/fake.ts';
import type { Reply } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';
import { before, operatorOf, withWebService, type Person } from '../../kit/web.ts';

const both = '[{ upstream: fake, model: a }, { upstream: other, model: b }]';
const image = (id: string, price: string, more = '') => `
  - { id: ${id}, kind: image, task: text-to-image, name: ${id}, price: { unit: image, ${price} }, max: 4, max_unit: images,
      input_schema: { type: object, properties: { prompt: { type: string }, num_images: { type: integer }, resolution: { type: string } } },
      example: { prompt: a cat }, upstreams: ${both} ${more} }`;
const catalog = `owned_by: test
models:${image('t/one/edit/image', 'usd: "0.02"')}${image('t/sized', 'usd_by_resolution: { 1k: "0.02", 2k: "0.04" }')}
  - { id: t/chat, kind: text, task: chat, name: t/chat, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100, upstreams: ${both} }
`;
const one = 't/one/edit/image';

let fake: Fake;
let operator: Person;
let second: Awaited<ReturnType<typeof service.another>>;
const other = createFake({ name: 'other' });
const { service, account: customer } = withWebService(async () => ({
  catalog,
  upstreams: [other],
  account: { usd: 10 },
}));
before(async () => {
  ({ fake } = service);
  operator = await operatorOf(service);
  second = await service.another();
});
after(() => second.app.stop(0));
beforeEach(async () => {
  for (const each of [fake, other]) Object.assign(each, { behave: {}, chats: [], starts: [] });
  for (const id of [one, 't/sized', 't/chat']) await operator.call('DELETE', `${at(id)}/override`);
});

const at = (id: string) => `/api/operator/models/${id}`;
const patch = async (id: string, body: object) => {
  const reply = await operator.call('PATCH', at(id), body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
};
const priced = async (model_id: string, input: object, base = service.base): Promise<string> => {
  const reply: Reply = await customer.post('/v1/estimate', { model_id, input }, { base });
  assert.equal(reply.status, 200, reply.text);
  return reply.body.price_usd_micro;
};
const submit = async (id = one): Promise<{ request_id: string; quoted_usd_micro: string }> => {
  const reply = await customer.post(`/v1/queue/${id}`, { prompt: 'a cat' });
  assert.equal(reply.status, 202, reply.text);
  return reply.body;
};

/** A price that is set, an input, and the price that every process then asks. */
const prices: [id: string, price: unknown, input: object, expected: string][] = [
  [one, 0.03, {}, '30000'],
  [one, '0.000001', { num_images: 3 }, '3'],
  [one, { usd: 0.05, unit: 'image' }, { num_images: 2 }, '100000'],
  [one, 0, {}, '0'],
  ['t/sized', { '1k': 0.01, '2k': '0.07' }, { resolution: '1k' }, '10000'],
  ['t/sized', { '1k': 0.01, '2k': '0.07' }, {}, '70000'],
  ['t/sized', 0.09, { resolution: '2k' }, '90000'],
  ['t/sized', { usd: 0.09, '1k': 0.01 }, { resolution: '2k' }, '90000'],
  [
    't/chat',
    { input: 3, output: 5 },
    { input_tokens: 1_000_000, output_tokens: 1_000_000 },
    '8000000',
  ],
];

/** Changes that a row cannot have: the body, and the reason of the refusal. */
const wrong: [id: string, body: object, reason: string | undefined][] = [
  [one, { price: -0.01 }, 'price_invalid'],
  [one, { price: 'free' }, 'price_invalid'],
  [one, { price: '0.0000001' }, 'price_invalid'],
  [one, { price: 1e10 }, 'price_invalid'],
  [one, { price: { usd: 1, unit: 'parsec' } }, 'price_invalid'],
  [one, { price: { usd: 1, unit: 'MP' } }, 'price_invalid'],
  [one, { price: { '1k': 1 } }, 'price_invalid'],
  [one, { price: {} }, 'price_invalid'],
  [one, { price: { input: 1, output: 2 } }, 'price_invalid'],
  ['t/sized', { price: { '1k': 1 } }, 'price_invalid'],
  ['t/sized', { price: { '1k': 1, '2k': 2, usd: 3 } }, 'price_invalid'],
  ['t/sized', { price: { '4k': 1 } }, 'price_invalid'],
  ['t/chat', { price: 2 }, 'price_invalid'],
  ['t/chat', { price: { input: 1 } }, 'price_invalid'],
  [one, { price: [1] }, undefined],
  [one, { upstreams: [] }, undefined],
  [one, { upstreams: [{ name: 'nobody' }] }, 'route_unknown'],
  [one, { upstreams: [{ name: 'fake', model: 'b' }] }, 'route_unknown'],
  [one, { upstreams: [{ name: 'fake' }, { name: 'fake' }] }, 'route_twice'],
  [
    one,
    {
      upstreams: [
        { name: 'fake', share: 60 },
        { name: 'other', share: 60 },
      ],
    },
    'shares_total',
  ],
  [one, { upstreams: [{ name: 'fake', share: 100 }, { name: 'other' }] }, 'shares_total'],
  [one, { upstreams: [{ name: 'fake', share: 0 }] }, 'shares_total'],
  [one, { upstreams: [{ name: 'fake', share: -1 }] }, undefined],
  [one, { price: 0.5, upstreams: [{ name: 'nobody' }] }, 'route_unknown'],
  [one, { prise: 0.5 }, 'field_unknown'],
];

describe('a price that an operator sets', () => {
  for (const [id, price, input, expected] of prices)
    test(`is asked everywhere: ${id} at ${JSON.stringify(price)}`, async () => {
      await patch(id, { price });
      assert.equal(await priced(id, input), expected);
      await until('the other process asks it', async () => {
        return (await priced(id, input, second.base)) === expected;
      });
    });

  test('leaves what is quoted and runs as it was, and the books whole', async () => {
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'not now' });
    const before = await submit();
    fake.behave = {};
    for (const price of [0.5, 0.001]) {
      await patch(one, { price });
      const now = await submit();
      assert.equal(now.quoted_usd_micro, String(price * 1_000_000));
      await service.wakeAll();
      await service.work();
      const card = await customer.get(`/v1/requests/${now.request_id}`);
      assert.equal(card.body.charged_usd_micro, now.quoted_usd_micro);
    }
    const card = await customer.get(`/v1/requests/${before.request_id}`);
    assert.deepEqual([card.body.quoted_usd_micro, card.body.charged_usd_micro], ['20000', '20000']);
    await service.audit();
  });

  test('is shown as set, with the loss that it makes', async () => {
    const reply = await patch(one, { price: 0.05, reason: 'dearer' });
    assert.deepEqual(
      [reply.price, reply.override.price, reply.override.by],
      [0.05, 0.05, operator.email],
    );
    const { body } = await operator.call('GET', at(one));
    assert.deepEqual([body.price, body.sold.price, body.filed.price], [0.05, 0.05, 0.02]);
    const { body: list } = await operator.call('GET', '/api/operator/models');
    assert.deepEqual(
      list.data.filter(({ override }: any) => override !== null).map(({ id }: any) => id),
      [one],
    );
  });

  test('no longer counts once its file has other resolutions', async () => {
    await patch('t/sized', { price: { '1k': 0.5, '2k': 0.6 } });
    const path = join(service.dir, 'catalog', 'fake.yaml');
    const changed = catalog.replace('1k: "0.02", 2k: "0.04"', '1k: "0.02", 4k: "0.08"');
    writeFileSync(path, changed);
    await service.app.catalog.reload();
    assert.equal(await priced('t/sized', { resolution: '1k' }), '20000');
    const { body } = await operator.call('GET', at('t/sized'));
    assert.deepEqual(body.override.unfit, ['price']);
    await service.app.catalog.reload();
    const warned = service.log.filter((line) => line.includes('no longer fits'));
    assert.equal(warned.length, 1, warned.join(''));
    assert.match(warned[0]!, /t\/sized/);
    writeFileSync(path, catalog);
    await service.app.catalog.reload();
    assert.equal(await priced('t/sized', { resolution: '1k' }), '500000');
  });
});

describe('what a row cannot have is refused, and nothing of it is kept', () => {
  for (const [id, body, reason] of wrong)
    test(`${id}: ${JSON.stringify(body)}`, async () => {
      const before = (await operator.call('GET', at(id))).body.sold;
      const reply = await operator.call('PATCH', at(id), body);
      assert.equal(reply.status, 400, reply.text);
      assert.equal(reply.body.error.details?.reason, reason, reply.text);
      const now = await operator.call('GET', at(id));
      assert.deepEqual([now.body.sold, now.body.override], [before, null]);
    });
});

describe('routes that an operator sets', () => {
  /** Where eight new requests start. */
  const started = async () => {
    for (let n = 0; n < 8; n++) await submit();
    await service.work();
    return [fake.starts.length, other.starts.length];
  };
  const cases: [named: string, upstreams: object[], expected: number[]][] = [
    ['the second first', [{ name: 'other' }, { name: 'fake' }], [0, 8]],
    ['only one', [{ name: 'other' }], [0, 8]],
    [
      'all to the second',
      [
        { name: 'fake', share: 0 },
        { name: 'other', share: 100 },
      ],
      [0, 8],
    ],
    [
      'all to the first',
      [
        { name: 'fake', share: 100 },
        { name: 'other', share: 0 },
      ],
      [8, 0],
    ],
    [
      'parts of one',
      [
        { name: 'fake', share: 1 },
        { name: 'other', share: 0 },
      ],
      [8, 0],
    ],
  ];
  for (const [named, upstreams, expected] of cases)
    test(named, async () => {
      await patch(one, { upstreams });
      assert.deepEqual(await started(), expected);
      const chat = { model: 't/chat', messages: [{ role: 'user', content: 'hi' }] };
      await patch('t/chat', { upstreams });
      assert.equal((await customer.post('/v1/chat/completions', chat)).status, 200);
      const [first] = expected;
      assert.deepEqual([fake.chats.length, other.chats.length], first === 0 ? [0, 1] : [1, 0]);
    });

  test('the next one is tried after the first, and one that is left out never', async () => {
    other.behave.start = () => ({ outcome: 'not_accepted', message: 'not now' });
    await patch(one, { upstreams: [{ name: 'other' }, { name: 'fake' }] });
    await submit();
    await service.work();
    await service.wakeAll();
    await service.work();
    assert.deepEqual([fake.starts.length, other.starts.length], [1, 1]);
    await patch(one, { upstreams: [{ name: 'other' }] });
    const { request_id } = await submit();
    await service.work();
    await service.wakeAll();
    await service.work();
    assert.equal(fake.starts.length, 1);
    other.behave = { start: () => ({ outcome: 'done', result: images(1) }) };
    await service.db.run(rawSql('update upstreams set paused_until = null'));
    await service.wakeAll();
    await service.work();
    assert.equal((await customer.get(`/v1/requests/${request_id}`)).body.status, 'COMPLETED');
  });
});

describe('the history of a model', () => {
  const history = async () =>
    (await operator.call('GET', `${at(one)}/history?limit=4`)).body.data as {
      log_id: string;
      reason: string | null;
      before: object | null;
      after: object | null;
    }[];

  test('names each change with its reason, and each can be undone', async () => {
    await patch(one, { price: 0.05, reason: 'dearer' });
    await patch(one, { status: 'stopped', status_note: 'moving' });
    await patch(one, {
      upstreams: [
        { name: 'other', share: 100 },
        { name: 'fake', share: 0 },
      ],
    });
    const [routed, stopped, priced_] = await history();
    assert.deepEqual(priced_?.before, { price: null });
    assert.deepEqual([priced_?.after, priced_?.reason], [{ price: 0.05 }, 'dearer']);
    assert.deepEqual(stopped?.before, { status: 'live', status_note: null });
    for (const each of [priced_, stopped, routed]) await patch(one, each!.before!);
    const { body } = await operator.call('GET', at(one));
    assert.deepEqual([body.override, body.stopped], [null, null]);
    assert.deepEqual(body.sold, body.filed);
    const [undone] = await history();
    await patch(one, undone!.before!);
    assert.equal((await operator.call('GET', at(one))).body.sold.upstreams[0].name, 'other');
  });

  test('a reset is one change, and can be undone too', async () => {
    await patch(one, { price: 0.05, status: 'stopped' });
    const reset = await operator.call('DELETE', `${at(one)}/override?reason=mistaken`);
    assert.deepEqual([reset.status, reset.body.status, reset.body.override], [200, 'live', null]);
    const [entry] = await history();
    assert.equal(entry?.reason, 'mistaken');
    const back = await patch(one, entry!.before!);
    assert.deepEqual([back.status, back.override.price], ['stopped', 0.05]);
    const log = await operator.call('GET', '/api/operator/log?action=model.change');
    assert.equal(log.body.data[0].target, one);
  });

  test('an unknown row has none', async () => {
    for (const [method, path] of [
      ['GET', '/history'],
      ['DELETE', '/override'],
    ] as const)
      assert.equal((await operator.call(method, `${at('t/nobody')}${path}`)).status, 404);
  });
});
