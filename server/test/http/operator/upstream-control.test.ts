/** Upstreams that an operator lets drain, switches off, or gives another key. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createFake, images, type Fake } from '../../kit/fake.ts';
import { until } from '../../kit/until.ts';
import { before, operatorOf, withWebService, type Person } from '../../kit/web.ts';

const routes = '[{ upstream: fake, model: a }, { upstream: other, model: b }]';
const image = (id: string, upstreams: string) => `
  - { id: ${id}, kind: image, task: text-to-image, name: ${id}, price: { unit: image, usd: "0.01" },
      input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: a cat },
      upstreams: ${upstreams} }`;
const text = (id: string, upstreams: string) => `
  - { id: ${id}, kind: text, task: chat, name: ${id}, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100, upstreams: ${upstreams} }`;
const catalog = `owned_by: test
models:${image('t/two', routes)}${image('t/one', '[{ upstream: fake, model: a }]')}${text('t/chat', routes)}
`;
const acme = (host: string) => `
upstream: { name: acme, adapter: openai, url: "http://${host}/v1", key_from: ACME_KEY }
models:${text('acme/chat', '[{ upstream: acme, model: there }]')}
`;

let fake: Fake;
let operator: Person;
let server: Server;
/** The keys that the upstream got, in order. */
let seen: string[] = [];
const other = createFake({ name: 'other' });
const { service, account: customer } = withWebService(async () => ({
  catalog,
  upstreams: [other],
  account: { usd: 10 },
}));
before(async () => {
  ({ fake } = service);
  operator = await operatorOf(service);
  server = createServer((req, res) => {
    seen.push(String(req.headers.authorization));
    req.resume().on('end', () => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: 'hello' };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      res.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, choices, usage }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(service.dir, 'catalog', 'acme.yaml'), acme(host));
  await service.app.catalog.reload();
});
after(() => server.close());
beforeEach(async () => {
  forget();
  await state('fake', 'on');
  // The process may know the former state a moment longer.
  await until('it is on', async () => (await submit('t/one')).status === 202);
  await service.work();
  forget();
});
const forget = () => {
  for (const each of [fake, other])
    Object.assign(each, { behave: {}, chats: [], starts: [], jobs: new Map() });
};

const state = async (name: string, wanted: string, reason?: string) => {
  const path = `/api/operator/upstreams/${name}`;
  const reply = await operator.call('PATCH', path, { state: wanted, reason });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
};
const submit = (id: string, base = service.base) =>
  customer.post(`/v1/queue/${id}`, { prompt: 'a cat' }, { base });
const chat = (model: string, base = service.base) =>
  customer.post(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'hi' }] },
    { base },
  );
const statusOf = async (id: string) => (await customer.get(`/v1/requests/${id}`)).body.status;
const counts = () => [fake.starts.length, other.starts.length, fake.chats.length];

describe('an upstream that may start nothing new', () => {
  for (const wanted of ['draining', 'off'])
    test(`${wanted}: all processes use the next one, or refuse where there is none`, async () => {
      const second = await service.another();
      try {
        await state('fake', wanted);
        for (const base of [service.base, second.base]) {
          await until('the refusal', async () => (await submit('t/one', base)).status === 503);
          const refused = await submit('t/one', base);
          assert.ok(Number(refused.headers.get('retry-after')) > 0, 'it may come back');
          assert.equal(refused.body.error.details?.reason, undefined);
          fake.chats.length = 0;
          assert.equal((await chat('t/chat', base)).status, 200);
          assert.equal((await submit('t/two', base)).status, 202);
        }
        await service.work();
        assert.deepEqual(counts(), [0, other.starts.length, 0]);
        assert.ok(other.starts.length >= 2);
      } finally {
        await second.app.stop(0);
      }
    });

  test('what waits there moves to the next one, or waits until it is on', async () => {
    const [two, one] = [await submit('t/two'), await submit('t/one')];
    await state('fake', 'draining');
    await until('the other one has it', async () => {
      await service.work();
      return (await statusOf(two.body.request_id)) === 'COMPLETED';
    });
    assert.deepEqual(counts(), [0, 1, 0]);
    assert.equal(await statusOf(one.body.request_id), 'IN_QUEUE');
    await state('fake', 'on');
    await service.work();
    assert.equal(await statusOf(one.body.request_id), 'COMPLETED');
  });

  test('a refused start is not repeated there', async () => {
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'not now' });
    const { body } = await submit('t/one');
    await service.work();
    await state('fake', 'draining');
    fake.behave = {};
    await service.wakeAll();
    await service.work();
    assert.equal(fake.starts.length, 1);
    await state('fake', 'on');
    await service.db.run(rawSql('update upstreams set paused_until = null'));
    await service.wakeAll();
    await service.work();
    assert.equal(await statusOf(body.request_id), 'COMPLETED');
  });
});

describe('a start whose answer was lost', () => {
  const routed = async (upstreams: object[] | null) => {
    const reply = await operator.call('PATCH', '/api/operator/models/t/two', { upstreams });
    assert.equal(reply.status, 200, reply.text);
    await service.app.catalog.reload();
  };
  const steps = async () => {
    for (let n = 0; n < 3; n++) {
      await service.wakeAll();
      await service.app.worker!.runOnce();
    }
  };

  test('is repeated at no other upstream when its own is left out, and there when it is back', async () => {
    fake.behave.start = () => ({ outcome: 'unknown', message: 'no answer' });
    const { body } = await submit('t/two');
    await service.app.worker!.runOnce();
    const started = fake.starts.length;
    await routed([{ name: 'other' }]);
    await steps();
    assert.deepEqual([started, fake.starts.length, other.starts.length], [1, 1, 0]);
    fake.behave = {};
    await routed(null);
    await steps();
    await service.work();
    assert.deepEqual([await statusOf(body.request_id), other.starts.length], ['COMPLETED', 0]);
    assert.equal(fake.starts.at(-1)!.idempotency_key, body.request_id);
  });

  test('ends as unknown at its age when its upstream is left out, and costs nothing', async () => {
    fake.behave.start = () => ({ outcome: 'unknown', message: 'no answer' });
    const { body } = await submit('t/two');
    await service.app.worker!.runOnce();
    await routed([{ name: 'other' }]);
    await service.db.run(
      rawSql(
        "update requests set deadline_at = now() - interval '1 s' where status = 'IN_PROGRESS'",
      ),
    );
    await steps();
    const ended = (await customer.get(`/v1/requests/${body.request_id}`)).body;
    assert.deepEqual(
      [ended.status, ended.error?.code, ended.charged_usd_micro, other.starts.length],
      ['FAILED', 'outcome_unknown', '0', 0],
    );
    await routed(null);
  });
});

describe('a job that runs', () => {
  let polls = 0;
  const running = async () => {
    polls = 0;
    fake.behave.poll = () => {
      polls++;
      return { state: 'running', poll_after_ms: 0 };
    };
    const { body } = await submit('t/one');
    await service.app.worker!.runOnce();
    return body.request_id as string;
  };
  const done = () => {
    fake.behave.poll = () => {
      polls++;
      return { state: 'done', result: images(1) };
    };
  };

  test('goes on to its end while its upstream drains', async () => {
    const id = await running();
    const { open } = await state('fake', 'draining');
    assert.deepEqual(open, { waiting: 0, running: 1 });
    done();
    await service.wakeAll();
    await service.work();
    assert.deepEqual([await statusOf(id), polls > 0], ['COMPLETED', true]);
  });

  test('is not asked about while its upstream is off, and ends when it is on', async () => {
    const id = await running();
    await state('fake', 'off');
    done();
    polls = 0;
    for (let n = 0; n < 3; n++) {
      await service.wakeAll();
      await service.app.worker!.runOnce();
    }
    assert.deepEqual([await statusOf(id), polls], ['IN_PROGRESS', 0]);
    await state('fake', 'on');
    await service.wakeAll();
    await service.work();
    assert.equal(await statusOf(id), 'COMPLETED');
  });

  test('ends at its age while its upstream is off, and costs nothing', async () => {
    const id = await running();
    await state('fake', 'off', 'a quarrel about the bill');
    await service.db.run(
      rawSql(
        "update requests set deadline_at = now() - interval '1 s', wake_at = now() where status = 'IN_PROGRESS'",
      ),
    );
    polls = 0;
    await service.app.worker!.runOnce();
    const { body } = await customer.get(`/v1/requests/${id}`);
    assert.deepEqual(
      [body.status, body.error.code, body.charged_usd_micro, polls],
      ['FAILED', 'timeout', '0', 0],
    );
    const log = await operator.call('GET', '/api/operator/log?action=upstream.state');
    const { target, details } = log.body.data[0];
    assert.deepEqual(
      [target, details.state, details.reason],
      ['fake', 'off', 'a quarrel about the bill'],
    );
    await service.audit();
  });
});

describe('the key of an upstream', () => {
  const setKey = (name: string, body: object) =>
    operator.call('PUT', `/api/operator/upstreams/${name}/key`, body);

  test('tells nothing of a key below 12 characters', async () => {
    const key = 'a-short-one 12345678901 123456789012';
    const set = await setKey('acme', { key });
    assert.deepEqual(set.body.stored_key.ends_with, ['', '', '9012']);
    await setKey('acme', { key: null });
  });

  test('is used by all processes, never told, and survives another secret', async () => {
    assert.equal((await chat('acme/chat')).body.error.code, 'unknown_model', 'it has no key yet');
    const set = await setKey('acme', { key: 'sk-first-0123456789wxyz' });
    assert.equal(set.status, 200, set.text);
    assert.deepEqual(set.body.stored_key.ends_with, ['wxyz']);
    assert.equal((await chat('acme/chat')).status, 200, 'at once in this process');
    const second = await service.another();
    try {
      assert.equal((await chat('acme/chat', second.base)).status, 200);
      assert.deepEqual(new Set(seen), new Set(['Bearer sk-first-0123456789wxyz']));
      await setKey('acme', { key: 'sk-second-0123456789abcd' });
      seen = [];
      await until('the other process has the new key', async () => {
        await chat('acme/chat', second.base);
        return seen.at(-1) === 'Bearer sk-second-0123456789abcd';
      });
    } finally {
      await second.app.stop(0);
    }
    for (const path of ['/upstreams', '/upstreams/acme', '/log']) {
      const reply = await operator.call('GET', `/api/operator${path}`);
      assert.equal(reply.text.includes('0123456789'), false, path);
    }
    const stored = await service.db.run(rawSql('select * from upstream_controls'));
    assert.equal(JSON.stringify(stored).includes('0123456789'), false);
    assert.equal(service.log.join('').includes('0123456789'), false);
  });

  test('is sealed again with a new secret, so that the old one may go', async () => {
    await setKey('acme', { key: 'sk-third-0123456789abcd' });
    const sealedWith = async () => {
      const { body } = await operator.call('GET', '/api/operator/upstreams/acme');
      return body.stored_key.sealed_with as string;
    };
    const [old, newer] = [await sealedWith(), 'n'.repeat(64)];
    const secret = 'a secret of at least thirty-two characters';
    const rotated = await service.another({
      FAREBOX_SECRET: newer,
      FAREBOX_SECRET_PREVIOUS: secret,
    });
    assert.equal((await chat('acme/chat', rotated.base)).status, 200);
    await until('it is sealed again', async () => (await sealedWith()) !== old);
    await rotated.app.stop(0);
    const alone = await service.another({ FAREBOX_SECRET: newer });
    assert.equal((await chat('acme/chat', alone.base)).status, 200);
    await alone.app.stop(0);
    await until('the process of the old secret cannot read it', async () => {
      const { body } = await operator.call('GET', '/api/operator/upstreams/acme');
      return body.set_up === false && /sealed with a signing secret/.test(body.reason);
    });
    assert.equal((await setKey('acme', { key: null })).body.stored_key, null);
  });

  const wrong: [name: string, body: object, status: number, reason?: string][] = [
    ['acme', { key: 'ключ' }, 400, 'upstream_key_invalid'],
    ['acme', { key: 'a\u0000b' }, 400, undefined],
    ['acme', { key: '   ' }, 400, 'upstream_key_invalid'],
    ['acme', { key: '' }, 400, undefined],
    ['acme', {}, 400, undefined],
    ['fake', { key: 'sk-1' }, 400, 'upstream_without_key'],
    ['nobody', { key: 'sk-1' }, 404, undefined],
  ];
  for (const [name, body, status, reason] of wrong)
    test(`${name} refuses ${JSON.stringify(body)}`, async () => {
      const reply = await setKey(name, body);
      assert.equal(reply.status, status, reply.text);
      if (reason !== undefined) assert.equal(reply.body.error.details?.reason, reason);
    });
});
