import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/core/errors.ts';
import { rawSql } from '../../src/lib/sql.ts';
import { brokenBodies, brokenEncodings, brokenMembers, oddMembers } from '../kit/odd-json.ts';
import { assertRefused } from '../kit/refusal.ts';
import {
  fakeCatalog,
  startService,
  type Reply,
  type Service,
  type TestAccount,
} from '../kit/service.ts';
import { wake } from '../kit/states.ts';
import { traces } from '../kit/traces.ts';

/** Bodies that are broken, hostile or odd, at every call that reads one: refused with a word, or taken; nothing else. */

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
const marker = 'PROMPT-MARKER-5f2c';

let service: Service;
let account: TestAccount;
let calls = 0;
before(async () => {
  service = await startService({
    catalog: fakeCatalog + edges,
    env: { FAREBOX_OPEN_JOBS: '10000' },
  });
  assert.equal(service.app.catalog.current().models.size, 6, service.log.join(''));
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
  return service.call('POST', path, {
    key: account.key,
    raw,
    headers,
    signal: AbortSignal.timeout(10_000),
  });
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
  calls++;
  const { status } = await service.call('POST', `/v1/requests/${reply.body.request_id}/cancel`, {
    key: account.key,
  });
  assert.equal(status, 200);
}

describe('a body that is no JSON object, or holds what no text of ours may', () => {
  for (const { name, text } of brokenMembers) {
    test(`is refused by each call: ${name}`, async () => {
      await refusedEverywhere(
        (target) => targets[target].good.replace('{', `{${text},`),
        'bad_request',
      );
      await refusedEverywhere(
        (target) => `${targets[target].good.slice(0, -1)},${text}}`,
        'bad_request',
      );
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
    ['estimate', mebi],
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
        // Stored as JSON is written: a zero has no sign there.
        const kept = JSON.stringify(JSON.parse(good.replace('{', `{${text},`)));
        assert.deepEqual(card.body.input, JSON.parse(kept));
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

describe('numbers that money is made of', () => {
  const film = { model: 'fake/film/text-to-video', rest: '"prompt":"x","resolution":"480p"' };
  const image = { model: 'fake/image', rest: '"prompt":"x"' };
  const never = [
    '"5"',
    '"5abc"',
    '""',
    'null',
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
      taken: { 1: 10_000, 4: 40_000, '2.0': 20_000, '3e0': 30_000, '0.1e1': 10_000 },
      refused: ['5', '0.1', '1.5', '4.9999999', '1e-320', '4294967297', '2.0000000000000004'],
    },
    {
      field: 'num_images',
      model: 'fake/thousandth',
      rest: '"a":1',
      taken: { 1: 1_005_000, 3: 3_015_000 },
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
    'null',
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
    const reply = await post(`/v1/queue/${film.model}`, `{${film.rest},"duration_seconds":1e-320}`);
    await service.work();
    await wake(service, reply.body.request_id);
    await service.work();
    const { body } = await service.call('GET', `/v1/requests/${reply.body.request_id}`, {
      key: account.key,
    });
    assert.equal(body.status, 'COMPLETED');
    assert.ok(Number(body.charged_usd_micro) <= 1);
  });
});

describe('a chat that is', () => {
  const said = { role: 'user', content: marker };
  const refused: [string, Record<string, unknown>, ErrorCode][] = [
    ['without messages', { messages: undefined }, 'bad_messages'],
    ...[null, '', 'hi', 5, true, {}, [], [null], ['hi'], [[]], [5], [{}]].map(
      (messages): [string, Record<string, unknown>, ErrorCode] => [
        `of messages ${JSON.stringify(messages)}`,
        { messages },
        'bad_messages',
      ],
    ),
    ...[null, 5, '', 'User', 'root', ['user'], {}, '__proto__', 'constructor'].map(
      (role): [string, Record<string, unknown>, ErrorCode] => [
        `of the role ${JSON.stringify(role)}`,
        { messages: [{ role, content: 'x' }] },
        'bad_messages',
      ],
    ),
    ...[
      5,
      null,
      true,
      {},
      [],
      [5],
      [null],
      [[]],
      [{}],
      [{ type: 'text' }],
      [{ type: 'text', text: 5 }],
      [{ type: 'constructor' }],
      [{ type: 'image_url' }],
      [{ type: 'image_url', image_url: 'x' }],
      [{ type: 'image_url', image_url: { url: '' } }],
      [{ type: 'input_audio', input_audio: {} }],
      [{ type: 'file', file: {} }],
      [{ type: 'text', text: 'x' }, 'y'],
    ].map((content): [string, Record<string, unknown>, ErrorCode] => [
      `of the content ${JSON.stringify(content)}`,
      { messages: [said, { role: 'user', content }] },
      'bad_messages',
    ]),
    [
      'of 10,001 messages',
      { messages: Array.from({ length: 10_001 }, () => said) },
      'bad_messages',
    ],
    [
      'of a tool call that is none',
      { messages: [{ role: 'assistant', tool_calls: 'x' }] },
      'bad_messages',
    ],
    ...['true', 1, 'yes', [], {}].map((stream): [string, Record<string, unknown>, ErrorCode] => [
      `streamed ${JSON.stringify(stream)}`,
      { stream },
      'bad_request',
    ]),
    ...[0, -1, 1.5, '5', true, [5], {}, -0, 2 ** 53, 1e308, 5e-324].map(
      (max_tokens): [string, Record<string, unknown>, ErrorCode] => [
        `of ${JSON.stringify(max_tokens)} tokens`,
        { max_tokens },
        'bad_request',
      ],
    ),
    ['of two limits that differ', { max_tokens: 5, max_completion_tokens: 6 }, 'bad_request'],
    ...[0, 2, -1, '1', 1.5, true].map((n): [string, Record<string, unknown>, ErrorCode] => [
      `of ${JSON.stringify(n)} replies`,
      { n },
      'bad_request',
    ]),
    ['of a stop that is a number', { stop: 5 }, 'bad_request'],
    ['of a stop of numbers', { stop: ['a', 5] }, 'bad_request'],
    ['of tools that are no list', { tools: {} }, 'bad_request'],
    ['of a tool with a fee of its own', { tools: [{ type: 'web_search' }] }, 'bad_request'],
    ['of a warm text', { temperature: '1' }, 'bad_request'],
    ['of options that are none', { stream: true, stream_options: true }, 'bad_request'],
    [
      'of a usage that is no flag',
      { stream: true, stream_options: { include_usage: 'x' } },
      'bad_request',
    ],
    ['without a model', { model: undefined }, 'bad_request'],
    ['of a model that is a number', { model: 5 }, 'bad_request'],
    ['of a model that is nothing', { model: '' }, 'bad_request'],
    ['of a model that every object has', { model: 'constructor' }, 'unknown_model'],
    ['of a model of 100,000 characters', { model: 'm'.repeat(100_000) }, 'unknown_model'],
  ];
  for (const [name, change, code] of refused) {
    test(`${name.slice(0, 80)} is refused, and reserves nothing`, async () => {
      const earlier = await traces(service);
      const body = { model: 'fake/chat', messages: [said], ...change };
      assertRefused(await post('/v1/chat/completions', JSON.stringify(body)), code);
      assert.deepEqual(await traces(service), earlier);
    });
  }

  const taken: [string, Record<string, unknown>][] = [
    ['of 10,000 messages', { messages: Array.from({ length: 10_000 }, () => said) }],
    ['of empty words', { messages: [{ role: 'user', content: '' }] }],
    ['of the most tokens a number can name', { max_tokens: Number.MAX_SAFE_INTEGER }],
    ['of 2^31 tokens', { max_tokens: 2 ** 31 }],
    ['of one token', { max_tokens: 1 }],
    [
      'of nulls where nothing is meant',
      { max_tokens: null, stream: null, n: null, stop: null, tools: null },
    ],
    ['of fields that nobody knows', { service_tier: 'x', a: { b: [1] } }],
  ];
  for (const [name, change] of taken) {
    test(`${name} is taken, and reserves no more than the model can say`, async () => {
      const body = { model: 'fake/chat', messages: [said], ...change };
      const reply = await post('/v1/chat/completions', JSON.stringify(body));
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      const id = reply.body.id.replace('chatcmpl-', '');
      const card = await service.call('GET', `/v1/requests/${id}`, { key: account.key });
      assert.ok(BigInt(card.body.quoted_usd_micro) <= 100_000n + 2n * 8_192n);
    });
  }
});

describe('after all that', () => {
  test('there were more than 600 calls', () => {
    assert.ok(calls > 600, `${calls} calls`);
  });

  test('nothing is reserved, open or half done', async () => {
    const { reserved, open_jobs, open_requests } = await traces(service);
    assert.deepEqual(
      { reserved, open_jobs, open_requests },
      { reserved: 0n, open_jobs: 0n, open_requests: 0n },
    );
    await service.audit();
  });

  test('nothing that was refused is kept', async () => {
    const [row] = await service.db.run<{ n: bigint }>(
      rawSql(
        `select count(*) as n from requests r join request_inputs i on i.request_id = r.id
       where r.kind <> 'text' and i.input ->> 'prompt' is null and r.model_id <> 'fake/thousandth'`,
      ),
    );
    assert.equal(row!.n, 0n);
    assert.ok(!('isAdmin' in {}), 'a prototype was changed');
  });

  test('the service does its work as before', async () => {
    assert.equal((await service.call('GET', '/readyz')).status, 200);
    const reply = await post('/v1/queue/fake/image', '{"prompt":"x"}');
    await service.work();
    await wake(service, reply.body.request_id);
    await service.work();
    const { status } = await service.call('GET', `/v1/requests/${reply.body.request_id}/response`, {
      key: account.key,
    });
    assert.equal(status, 200);
  });

  test('no line of the log holds a key, a secret or a prompt, or tells of a fault of ours', async () => {
    const [row] = await service.db.run<{ webhook_secrets: string[] }>(
      rawSql('select webhook_secrets from accounts where id = $1', [account.account_id]),
    );
    const log = service.log.join('');
    for (const secret of [account.key, ...row!.webhook_secrets, 'whsec_', marker])
      assert.ok(!log.includes(secret));
    const levels = service.log.map((line) => JSON.parse(line).level as number);
    assert.deepEqual(
      levels.filter((level) => level >= 50),
      [],
    );
  });
});
