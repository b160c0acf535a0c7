/** The API within the web pages: which account pays, and who may spend. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as accounts from '../../../src/db/accounts/accounts.ts';
import * as keys from '../../../src/db/accounts/keys.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { setPrice } from '../../../src/operations/accounts/account.ts';
import { images, tinyPng } from '../../kit/fake.ts';
import type { TestAccount } from '../../kit/service.ts';
import {
  originOf,
  person,
  startWebService,
  stranger,
  withWebService,
  type Person,
} from '../../kit/web.ts';

const { service } = withWebService();

const film = '/v1/queue/fake/film/text-to-video';
const image = '/v1/queue/fake/image';
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };

async function world(usd = 10) {
  const account = await service.account({ usd });
  const owner = await person(service, { [account.account_id]: 'owner' });
  return { account, owner, at: owner.of(account.account_id) };
}

/** Requests and transfers, to prove that nothing has happened. */
async function traces({ account_id }: TestAccount) {
  const [row] = await service.db.run<{ requests: bigint; transfers: bigint }>(
    rawSql(
      `select (select count(*) from requests where account_id = $1) as requests,
        (select count(*) from transfers where account_id = $1) as transfers`,
      [account_id],
    ),
  );
  return row!;
}

async function finish(): Promise<void> {
  await service.work();
  await service.wakeAll();
  await service.work();
}

async function studioKeyId({ account_id }: TestAccount): Promise<string> {
  const [row] = await service.db.run<{ id: string }>(sql`
    select id from keys where account_id = ${account_id} and is_studio`);
  return row!.id;
}

function upload(who: Person, { account_id }: TestAccount, bytes = tinyPng) {
  return fetch(`${originOf(service)}/api/accounts/${account_id}/v1/files`, {
    method: 'POST',
    headers: {
      origin: originOf(service),
      'content-type': 'image/png',
      cookie: [...who.cookies].map((pair) => pair.join('=')).join('; '),
    },
    body: new Uint8Array(bytes),
  });
}

describe('the right to spend', () => {
  for (const role of ['owner', 'developer'] as const) {
    test(`${role}: runs a model and pays exactly what the estimate said`, async () => {
      const { account } = await world();
      const at = (await person(service, { [account.account_id]: role })).of(account.account_id);
      const input = { prompt: 'a cat', num_images: 2 };
      const estimate = await at.call('POST', '/v1/estimate', { model_id: 'fake/image', input });
      service.fake.behave = { poll: () => ({ state: 'done', result: images(2) }) };
      const sent = await at.call('POST', image, input);
      assert.equal(sent.status, 202, sent.text);
      assert.equal(sent.body.quoted_usd_micro, estimate.body.price_usd_micro);
      await finish();
      service.fake.behave = {};
      const { body: card } = await at.call('GET', `/v1/requests/${sent.body.request_id}`);
      assert.equal(card.status, 'COMPLETED');
      assert.equal(card.charged_usd_micro, estimate.body.price_usd_micro);
      assert.equal(card.key_id, await studioKeyId(account));
      assert.equal((await service.balance(account)).available, 10_000_000n - 20_000n);
    });
  }

  for (const role of ['billing', 'read_only'] as const) {
    test(`${role}: reads and estimates, and spends nothing`, async () => {
      const { account, at: owner } = await world();
      const sent = await owner.call('POST', image, { prompt: 'a cat' });
      const uploader = await person(service, { [account.account_id]: 'owner' });
      const file = (await (await upload(uploader, account)).json()) as { file_id: string };
      const before = await traces(account);
      const who = await person(service, { [account.account_id]: role });
      const at = who.of(account.account_id);
      const id = sent.body.request_id;
      for (const [method, path, body] of [
        ['GET', '/v1/requests?model_id=fake/image'],
        ['GET', `/v1/requests/${id}`],
        ['GET', `/v1/requests/${id}/status`],
        ['GET', '/studio/allowance'],
        ['GET', '/studio/models'],
        ['GET', `/v1/files/${file.file_id}`],
        ['POST', '/v1/estimate', { model_id: 'fake/image', input: {} }],
        ['POST', '/studio/chat-price', chat],
      ] as const) {
        assert.equal((await at.call(method, path, body)).status, 200, `${method} ${path}`);
      }
      for (const [method, path, body] of [
        ['POST', image, { prompt: 'a cat' }],
        ['POST', '/v1/chat/completions', chat],
        ['POST', `/v1/requests/${id}/cancel`],
        ['PUT', `/v1/requests/${id}/cancel`],
      ] as const) {
        assert.equal((await at.call(method, path, body)).status, 403, `${method} ${path}`);
      }
      assert.equal((await upload(who, account)).status, 403);
      assert.deepEqual(await traces(account), before);
    });
  }

  test('nobody else: the account does not exist for them', async () => {
    const { account, at } = await world();
    const sent = await at.call('POST', image, { prompt: 'a cat' });
    const other = await world();
    const before = await traces(account);
    for (const [method, path, body] of [
      ['POST', image, { prompt: 'mine' }],
      ['POST', '/v1/estimate', { model_id: 'fake/image', input: {} }],
      ['GET', `/v1/requests/${sent.body.request_id}`],
      ['GET', '/studio/allowance'],
      ['GET', '/studio/models'],
      ['POST', '/studio/chat-price', chat],
    ] as const) {
      const reply = await other.owner.of(account.account_id).call(method, path, body);
      assert.equal(reply.status, 404, path);
      const away = await stranger(service).of(account.account_id).call(method, path, body);
      assert.equal(away.status, 401, path);
    }
    const own = await other.at.call('GET', `/v1/requests/${sent.body.request_id}`);
    assert.equal(own.status, 404);
    assert.deepEqual(await traces(account), before);
  });

  test('not a page of another site, nor anybody while the account is suspended', async () => {
    const { account, at } = await world();
    const evil = { origin: 'https://evil.example' };
    assert.equal((await at.call('POST', image, { prompt: 'a cat' }, evil)).status, 403);
    await accounts.setStatus(service.db, account.account_id, 'suspended');
    assert.equal((await at.call('POST', image, { prompt: 'a cat' })).status, 403);
    assert.equal((await at.call('POST', '/v1/chat/completions', chat)).status, 403);
    assert.equal((await traces(account)).requests, 0n);
  });

  test('nobody in a suspended account, where people still look and see prices', async () => {
    const { account, at } = await world();
    const { body } = await at.call('POST', image, { prompt: 'a cat' });
    await accounts.setStatus(service.db, account.account_id, 'suspended');
    for (const [method, path, asked] of [
      ['GET', '/v1/requests'],
      ['GET', `/v1/requests/${body.request_id}`],
      ['GET', '/studio/allowance'],
      ['POST', '/v1/estimate', { model_id: 'fake/image', input: {} }],
      ['POST', '/studio/chat-price', chat],
    ] as const) {
      assert.equal((await at.call(method, path, asked)).status, 200, `${method} ${path}`);
    }
    const before = await traces(account);
    assert.equal((await at.call('POST', `/v1/requests/${body.request_id}/cancel`)).status, 403);
    assert.equal((await at.call('POST', image, { prompt: 'a cat' })).status, 403);
    assert.deepEqual(await traces(account), before);
  });
});

describe('the prices of an account', () => {
  test('are the same in its catalog and in its estimates, and the list stays the list', async () => {
    const { account, at } = await world();
    const other = await world();
    const list = (await other.at.call('GET', '/studio/models')).text;
    await setPrice(service.db, account.account_id, 1_333_333);
    const own = new Map<string, any>(
      (await at.call('GET', '/studio/models')).body.data.map((model: any) => [model.id, model]),
    );
    const rates = async (path: string, body: object): Promise<string[]> => {
      const quote = (await at.call('POST', path, body)).body;
      return quote.breakdown.map((line: any) => line.unit_price_usd_micro);
    };
    const estimate = (model_id: string, input = {}) => rates('/v1/estimate', { model_id, input });

    assert.equal(own.get('fake/image').price, 0.013334);
    assert.deepEqual(await estimate('fake/image'), ['13334']);
    const film = own.get('fake/film/text-to-video');
    assert.deepEqual(film.price_by_resolution, { '480p': 0.066667, '720p': 0.133334 });
    assert.equal(film.price, 0.133334);
    assert.deepEqual(await estimate(film.id, { resolution: '480p' }), ['66667']);
    assert.deepEqual(await estimate(film.id), ['133334']);
    assert.deepEqual(own.get('fake/chat').price, { input: 1.333333, output: 2.666666 });
    assert.deepEqual(await rates('/studio/chat-price', chat), ['1333333', '2666666']);

    const published = (await service.call('GET', '/v1/models')).body.data;
    assert.deepEqual(JSON.parse(list).data, published);
    assert.equal((await other.at.call('GET', '/studio/models')).text, list);
  });
});

describe('one submit', () => {
  test('sent twice with its key is one request and one reservation', async () => {
    const { account, at } = await world();
    const headers = { 'idempotency-key': 'press-1' };
    const replies = await Promise.all(
      [1, 2].map(() => at.call('POST', image, { prompt: 'a cat' }, headers)),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 202]);
    assert.equal(replies[0]!.text, replies[1]!.text);
    assert.equal((await traces(account)).requests, 1n);
    assert.equal((await service.balance(account)).reserved, 10_000n);
    const other = await at.call('POST', image, { prompt: 'a dog' }, headers);
    assert.equal(other.body.error.code, 'idempotency_conflict');
    assert.equal((await traces(account)).requests, 1n);
  });
});

describe('the amount to spend', () => {
  test('is the balance, and no more than the monthly limit of the studio', async () => {
    const { account, at } = await world(1);
    const fresh = await at.call('GET', '/studio/allowance');
    assert.deepEqual(fresh.body, {
      available_usd_micro: '1000000',
      reserved_usd_micro: '0',
      limit_usd_micro: null,
      spent_usd_micro: '0',
      resets_at: null,
      open_jobs: 0,
      open_jobs_limit: 50,
      upload_max_bytes: 104_857_600,
    });
    await at.call('POST', film, { prompt: 'x', duration_seconds: 2, resolution: '480p' });
    const id = await studioKeyId(account);
    await keys.change(
      service.db,
      id,
      { monthly_limit_usd_micro: 105_000n, open_jobs: 2 },
      'operator',
    );
    const { body } = await at.call('GET', '/studio/allowance');
    assert.match(body.resets_at, /^\d{4}-\d{2}-01T00:00:00\.000Z$/);
    assert.deepEqual(body, {
      available_usd_micro: '900000',
      reserved_usd_micro: '100000',
      limit_usd_micro: '105000',
      spent_usd_micro: '100000',
      resets_at: body.resets_at,
      open_jobs: 1,
      open_jobs_limit: 2,
      upload_max_bytes: 104_857_600,
    });
    const before = await traces(account);
    const over = await at.call('POST', image, { prompt: 'a cat' });
    assert.equal(over.status, 402);
    assert.equal(over.body.error.code, 'key_limit_reached');
    assert.equal(over.body.error.details.resets_at, body.resets_at);
    await keys.change(service.db, id, { monthly_limit_usd_micro: null, open_jobs: 1 }, 'operator');
    assert.equal((await at.call('POST', image, { prompt: 'a cat' })).status, 429);
    await keys.change(service.db, id, { open_jobs: null }, 'operator');
    const dear = { prompt: 'x', duration_seconds: 10, resolution: '720p' };
    const poor = await at.call('POST', film, dear);
    assert.equal(poor.body.error.code, 'insufficient_balance');
    assert.deepEqual(await traces(account), before);
  });

  test('calls that spend count against the calls a minute of a key, reads do not', async () => {
    const { account, at } = await world();
    const estimate = () => at.call('POST', '/v1/estimate', { model_id: 'fake/image', input: {} });
    await estimate();
    await keys.change(service.db, await studioKeyId(account), { rpm: 2 }, 'operator');
    const looks = await Promise.all(Array.from({ length: 5 }, estimate));
    assert.ok(looks.every(({ status }) => status === 200));
    const statuses = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await at.call('POST', image, { prompt: 'a cat' })).status);
    assert.deepEqual(statuses, [202, 202, 429]);
    assert.equal((await estimate()).status, 200);
  });

  test('a person who reads too often is limited in every process, and nobody else', async () => {
    const small = await startWebService({ env: { FAREBOX_RPM: '4' } });
    try {
      const { account_id } = await small.account();
      const [eve, ada] = [
        await person(small, { [account_id]: 'read_only' }),
        await person(small, { [account_id]: 'developer' }),
      ];
      const other = await small.another({ FAREBOX_RPM: '4' });
      const list = (base: string) =>
        fetch(`${base}/api/accounts/${account_id}/v1/requests`, {
          headers: { cookie: [...eve.cookies].map((pair) => pair.join('=')).join('; ') },
        });
      const replies = [];
      for (const base of [small.base, other.base, small.base, other.base, small.base, other.base])
        replies.push(await list(base));
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200, 200, 200, 429, 429],
      );
      assert.ok(Number(replies.at(-1)!.headers.get('retry-after')) > 0);
      const mine = ada.of(account_id);
      assert.equal((await mine.call('POST', image, { prompt: 'a cat' })).status, 202);
      assert.equal((await mine.call('GET', '/v1/requests')).status, 200);
    } finally {
      await small.stop();
    }
  });

  test('the shown maximum of a chat call is its reservation', async () => {
    const { account, at } = await world();
    const call = { ...chat, max_tokens: 50, stream: true };
    const ceiling = await at.call('POST', '/studio/chat-price', call);
    assert.equal(ceiling.status, 200, ceiling.text);
    assert.equal(ceiling.body.max_tokens, 50);
    assert.equal((await traces(account)).requests, 0n);
    const reply = await at.call('POST', '/v1/chat/completions', { ...call, stream: false });
    assert.equal(reply.status, 200, reply.text);
    const { body } = await at.call('GET', '/v1/requests?limit=1');
    assert.equal(body.data[0].quoted_usd_micro, ceiling.body.price_usd_micro);
    assert.equal(body.data[0].charged_usd_micro, reply.body.usage.cost_usd_micro);
  });

  test('an unknown maximum comes with the reason', async () => {
    const { at } = await world();
    for (const [body, code] of [
      [{ ...chat, model: 'fake/none' }, 'unknown_model'],
      [{ ...chat, model: 'fake/image' }, 'unknown_model'],
      [{ model: 'fake/chat', messages: [] }, 'bad_messages'],
    ] as const) {
      const reply = await at.call('POST', '/studio/chat-price', body);
      assert.equal(reply.body.error.code, code);
    }
  });
});

describe('a file of the account', () => {
  test('is shown to its people as it was uploaded, and to nobody else', async () => {
    const { account, owner, at } = await world();
    const sent = await upload(owner, account);
    assert.equal(sent.status, 201);
    const { file_id } = (await sent.json()) as { file_id: string };
    const address = `${originOf(service)}/api/accounts/${account.account_id}/v1/files/${file_id}`;
    const cookie = [...owner.cookies].map((pair) => pair.join('=')).join('; ');
    const shown = await fetch(address, { headers: { cookie } });
    assert.deepEqual(Buffer.from(await shown.arrayBuffer()), tinyPng);
    assert.match(shown.headers.get('content-security-policy')!, /sandbox/);
    assert.equal((await fetch(address)).status, 401);
    const other = await world();
    assert.equal((await other.at.call('GET', `/v1/files/${file_id}`)).status, 404);
    assert.equal((await at.call('GET', '/v1/files/file_nonsense')).status, 404);
  });
});
