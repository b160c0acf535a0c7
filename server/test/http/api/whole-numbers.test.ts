import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Model } from '../../../src/core/catalog/catalog.ts';
import { formValue } from '../../../src/core/request/translated.ts';
import { exactJson } from '../../../src/lib/long-integers.ts';
import { images } from '../../kit/fake.ts';
import { fakeCatalog } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { moneyOf } from '../../worker/floor.ts';

/** Integers that a JavaScript number would round keep their digits at every place. */

const seed = '18446744073709551615';
const id = '-9007199254740993';
const huge = '340282366920938463463374607431768211457';

const row = `  - id: fake/seeded
    kind: image
    task: text-to-image
    name: Fake with seeds of 64 bits
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    upstream_model: seeded
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string }
        num_images: { type: integer }
        seed: { type: integer, minimum: 0, maximum: ${seed}, default: 9007199254740993 }
        seeds: { type: array, items: { type: integer, exclusiveMinimum: ${id} } }
        version: { const: 9007199254740993 }
        style: { enum: [random, ${seed}, 18446744073709551614] }
    example: { prompt: a cat, seed: ${seed} }
`;

const { service, account } = withService({
  catalog: fakeCatalog + row,
  account: { open_jobs: 1_000 },
});
beforeEach(() => void (service.fake.behave = {}));

const send = (
  raw: string,
  { path = '/v1/queue/fake/image', ...headers }: Record<string, string> = {},
) =>
  service.call('POST', path, {
    key: account.key,
    raw,
    headers: { 'content-type': 'application/json', ...headers },
  });
const get = (path: string) => account.get(path);

describe('an integer of a caller', () => {
  const inputs: [what: string, more: string][] = [
    ['a seed of 64 bits', `"seed":${seed}`],
    ['just beyond 2^53', `"seed":9007199254740993`],
    ['below it', `"seed":${id}`],
    ['longer than 128 bits', `"seed":${huge}`],
    ['in a list of objects', `"loras":[{"id":${id},"weight":0.5},{"id":${seed}}]`],
  ];
  for (const [what, more] of inputs)
    test(`${what}: reaches upstream, card and reply as it was sent`, async () => {
      const input = `{"prompt":"x",${more}}`;
      const reply = await send(input);
      assert.equal(reply.status, 202, reply.text);
      service.fake.behave.poll = () => ({
        state: 'done',
        result: { ...images(1), fields: exactJson(`{${more}}`) as Record<string, unknown> },
      });
      await service.work();
      await service.wakeAll();
      await service.work();
      const { input: sent } = service.fake.starts.at(-1)!;
      assert.ok(JSON.stringify(sent).includes(more), JSON.stringify(sent));
      const path = `/v1/requests/${reply.body.request_id}`;
      const card = await get(path);
      assert.ok(card.text.includes(`"input":${input}`), card.text);
      const response = await get(`${path}/response`);
      assert.equal(response.status, 200, response.text);
      assert.ok(response.text.includes(more), response.text);
      assert.equal(await moneyOf(service, reply.body.request_id), 'reserve 10000, charge 10000');
    });

  test('makes another call of an Idempotency-Key, and not another one in another spelling', async () => {
    const key = { 'idempotency-key': 'long-1' };
    const first = await send(`{"prompt":"x","seed":9007199254740993}`, key);
    assert.equal(first.status, 202, first.text);
    const other = await send(`{"prompt":"x","seed":9007199254740992}`, key);
    assert.deepEqual([other.status, other.body.error.code], [409, 'idempotency_conflict']);
    const same = await send(`{ "seed": 9007199254740993.0, "prompt": "x" }`, key);
    assert.deepEqual([same.status, same.body], [200, first.body]);
  });

  test('is refused by name where only a small one has a meaning', async () => {
    const calls: [raw: string, code: string, field: RegExp][] = [
      [`{"prompt":"x","num_images":${seed}}`, 'unpriceable', /num_images/],
      [`{"prompt":${seed}}`, 'invalid_input', /prompt must be string/],
      [
        `{"prompt":"x","image_url":{"a":${seed}},"num_images":9007199254740993}`,
        'unpriceable',
        /num_images/,
      ],
    ];
    for (const [raw, code, field] of calls) {
      const reply = await send(raw);
      assert.deepEqual([reply.status, reply.body.error.code], [400, code], reply.text);
      assert.match(reply.body.error.message, field);
    }
    const { reserved } = await service.balance(account);
    assert.equal(reserved, 10_000n, 'only the job of the test before');
  });
});

describe('the card of a model', () => {
  test('shows limits and examples as they are in the catalog', async () => {
    const { text } = await get('/v1/models/fake/seeded');
    for (const part of [
      `"maximum":${seed}`,
      `"default":9007199254740993`,
      `"exclusiveMinimum":${id}`,
      `"seed":${seed}`,
    ])
      assert.ok(text.includes(part), part);
  });

  test('its limits hold to the last digit', async () => {
    const path = '/v1/queue/fake/seeded';
    const cases: [more: string, status: number, says?: RegExp][] = [
      [`"seed":${seed}`, 202],
      ['"seed":18446744073709551616', 400, / \/seed must be <= 18446744073709551615\.$/],
      ['"seed":-9007199254740993', 400, /\/seed must be >= 0/],
      ['"seeds":[1,-9007199254740992]', 202],
      [`"seeds":[1,${id}]`, 400, / \/seeds\/1 must be > -9007199254740993/],
      ['"seed":"18446744073709551615"', 400, /\/seed must be integer/],
      ['"version":9007199254740993', 202],
      ['"version":9007199254740992', 400, /\/version must be 9007199254740993\.$/],
      [`"style":${seed}`, 202],
      ['"style":"random"', 202],
      ['"style":18446744073709551614', 202],
      [
        '"style":18446744073709551613',
        400,
        / "random", 18446744073709551615, 18446744073709551614\.$/,
      ],
      ['"style":1', 400, /\/style must be one of "random", 18446744073709551615/],
    ];
    for (const [more, status, says] of cases) {
      const reply = await send(`{"prompt":"x",${more}}`, { path });
      assert.equal(reply.status, status, `${more} ${reply.text}`);
      if (says) assert.match(reply.body.error.message, says);
    }
  });

  test('its default reaches the upstream', async () => {
    await send('{"prompt":"x"}', { path: '/v1/queue/fake/seeded' });
    await service.work();
    const sent = service.fake.starts.map(({ input }) => JSON.stringify(input));
    assert.ok(sent.includes('{"seed":9007199254740993,"num_images":1,"prompt":"x"}'), sent.join());
  });
});

test('a field of a form is read as whole, too', () => {
  const model = { input_schema: { properties: { seed: { type: 'integer' } } } } as unknown as Model;
  for (const digits of [seed, id, '7'])
    assert.equal(JSON.stringify(formValue('seed', digits, model)), digits);
  for (const text of ['1e30', '9007199254740993.5', ''])
    assert.equal(formValue('seed', text, model), text);
});

describe('an integer in a chat', () => {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'find', arguments: `{"id":${id}}` },
  };

  test("reaches the upstream as the call's seed", async () => {
    const body = `{"model":"fake/chat","messages":[{"role":"user","content":"hi"}],"seed":${seed}}`;
    const reply = await send(body, { path: '/v1/chat/completions' });
    assert.equal(reply.status, 200, reply.text);
    assert.ok(JSON.stringify(service.fake.chats.at(-1)!.body).includes(`"seed":${seed}`));
  });

  test('is an argument of a tool at the Messages API, in both directions', async () => {
    service.fake.behave.chat = () => ({
      outcome: 'reply',
      reply: {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', tool_calls: [call] },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { prompt_tokens: 5, completion_tokens: 2 },
      },
    });
    const begun = `{"model":"fake/chat","max_tokens":9,"tools":[{"name":"find","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"}`;
    const reply = await send(`${begun}]}`, { path: '/v1/messages' });
    assert.equal(reply.status, 200, reply.text);
    assert.ok(reply.text.includes(`"input":{"id":${id}}`), reply.text);
    const told = `{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"find","input":{"id":${id}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"ok"}]}`;
    const next = await send(`${begun},${told}]}`, { path: '/v1/messages' });
    assert.equal(next.status, 200, next.text);
    assert.ok(
      JSON.stringify(service.fake.chats.at(-1)!.body).includes(
        JSON.stringify(call.function.arguments),
      ),
    );
  });
});
