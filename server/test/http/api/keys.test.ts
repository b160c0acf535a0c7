/** Keys by the API: a program with a key of scope `keys` makes, limits and revokes other keys. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as accounts from '../../../src/db/accounts/accounts.ts';
import * as keys from '../../../src/db/accounts/keys.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { livingKeysMax, madeADayMax } from '../../../src/operations/accounts/key.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { before, person, withWebService, type Person } from '../../kit/web.ts';

interface World extends TestAccount {
  owner: Pick<Person, 'call'>;
  /** The key of scope `keys`, which the owner has made on the pages. */
  manager: { key: string; key_id: string };
  call(method: string, path?: string, body?: unknown): Promise<Reply>;
}

let own: World;
let other: World;
const { service } = withWebService({ env: { FAREBOX_RPM: '1000' } });
before(async () => {
  own = await world();
  other = await world();
});

async function world(): Promise<World> {
  const account = await service.account();
  const { account_id } = account;
  const owner = (await person(service, { [account_id]: 'owner' })).of(account_id);
  const made = await owner.call('POST', '/keys', { name: 'platform', scope: 'keys' });
  assert.equal(made.status, 201, made.text);
  const { key } = made.body;
  const call: World['call'] = (method, path = '', body) =>
    service.call(method, `/v1/keys${path}`, { key, body });
  return { ...account, owner, manager: made.body, call };
}

async function create(form: object = {}, { call }: World = own): Promise<Record<string, any>> {
  const reply = await call('POST', '', { name: 'Customer 42', ...form });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}
const submit = (key: string) =>
  service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a cat' } });
const namesOf = async (path: string, { call }: World = own) =>
  (await call('GET', path)).body.data.map(({ key_id }: { key_id: string }) => key_id);
const countOf = async ({ account_id }: World) =>
  (await keys.list(service.db, { account_id, limit: 3_000 })).length;

describe('a key made by the API', () => {
  test('works at once within its limits, and is shown on the pages with its maker', async () => {
    const { key, ...shown } = await create({
      monthly_limit_usd_micro: '15000',
      rpm: 40,
      open_jobs: 2,
      models: ['fake/image'],
    });
    assert.match(key, /^fbx_[0-9A-Za-z]{38}$/);
    assert.deepEqual(
      [shown.scope, shown.state, shown.monthly_limit_usd_micro, shown.rpm, shown.open_jobs],
      ['spend', 'active', '15000', 40, 2],
    );
    assert.equal(shown.created_by, own.manager.key_id);
    const first = await submit(key);
    assert.deepEqual([first.status, first.headers.get('ratelimit-limit')], [202, '40']);
    assertRefused(await submit(key), 'key_limit_reached');
    const { body, text } = await own.call('GET', `/${shown.key_id}`);
    assert.deepEqual([body.spent_usd_micro, body.open_requests], ['10000', 1]);
    assert.equal(text.includes(key), false, 'the secret is shown once');
    const { data } = (await own.owner.call('GET', '/keys')).body;
    const row = data.find(({ key_id }: { key_id: string }) => key_id === shown.key_id);
    assert.deepEqual([row.name, row.created_by_name], ['Customer 42', 'platform']);
  });

  test('follows a change from its next call on; null takes a limit away', async () => {
    const { key, key_id } = await create({ monthly_limit_usd_micro: '10000', rpm: 50 });
    assert.equal((await submit(key)).status, 202);
    assertRefused(await submit(key), 'key_limit_reached');
    const raised = await own.call('PATCH', `/${key_id}`, { monthly_limit_usd_micro: '20000' });
    assert.deepEqual([raised.status, raised.body.rpm], [200, 50]);
    assert.equal((await submit(key)).status, 202);
    assertRefused(await submit(key), 'key_limit_reached');
    const open = { monthly_limit_usd_micro: null, name: 'Customer 43' };
    const { body } = await own.call('PATCH', `/${key_id}`, open);
    assert.deepEqual([body.monthly_limit_usd_micro, body.name], [null, 'Customer 43']);
    assert.equal((await submit(key)).status, 202);
  });

  test('is revoked at once and for good, also by a repeat', async () => {
    const { key, key_id } = await create();
    const gone = await own.call('DELETE', `/${key_id}`);
    assert.deepEqual([gone.status, gone.body.state], [200, 'revoked']);
    assertRefused(await submit(key), 'unauthorized');
    const again = await own.call('DELETE', `/${key_id}`);
    assert.deepEqual([again.status, again.body.revoked_at], [200, gone.body.revoked_at]);
    assertRefused(await own.call('PATCH', `/${key_id}`, { rpm: 5 }), 'bad_request');
    assert.equal((await namesOf('?limit=100')).includes(key_id), false);
    assert.equal((await namesOf('?limit=100&state=all')).includes(key_id), true);
  });

  test('is on one page of the list, newest first', async () => {
    const alone = await world();
    const made = [await create({}, alone), await create({}, alone), await create({}, alone)];
    const expected = [...made.map(({ key_id }) => key_id).reverse(), alone.manager.key_id];
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await alone.call('GET', `?limit=2${cursor}`);
      seen.push(...body.data.map(({ key_id }: { key_id: string }) => key_id));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    assert.deepEqual(seen, [...expected, alone.key_id]);
  });

  test('ends at a time that is given with its offset, as Python writes it', async () => {
    const { expires_at, key_id } = await create({ expires_at: '2127-01-01T02:00:00.000000+02:00' });
    assert.equal(expires_at, '2127-01-01T00:00:00.000Z');
    const later = { expires_at: '2127-02-01T00:00:00+00:00' };
    const { body } = await own.call('PATCH', `/${key_id}`, later);
    assert.equal(body.expires_at, '2127-02-01T00:00:00.000Z');
  });
});

describe('a key of scope keys', () => {
  test('cannot be changed or revoked by itself or another', async () => {
    const { body: second } = await own.owner.call('POST', '/keys', { name: '2', scope: 'keys' });
    for (const key_id of [own.manager.key_id, second.key_id]) {
      const path = `/${key_id}`;
      for (const body of [{ rpm: 1_000 }, { name: 'mine' }, { expires_at: null }])
        assertRefused(await own.call('PATCH', path, body), 'forbidden');
      assertRefused(await own.call('DELETE', path), 'forbidden');
      const { body } = await own.call('GET', path);
      assert.deepEqual([body.scope, body.state, body.rpm], ['keys', 'active', null]);
    }
    assert.equal((await own.owner.call('DELETE', `/keys/${second.key_id}`)).status, 200);
  });

  test('sees nothing of another account', async () => {
    const foreign = await create({}, other);
    const paths = [`/${foreign.key_id}`, `/${other.key_id}`, `/${other.manager.key_id}`, '/x'];
    for (const path of paths)
      for (const [method, body] of [['GET'], ['PATCH', { rpm: 1 }], ['DELETE']] as const)
        assertRefused(await own.call(method, path, body), 'not_found');
    assert.equal((await namesOf('?limit=100')).includes(foreign.key_id), false);
    assert.equal((await submit(foreign.key)).status, 202);
  });

  test('reaches keys made by people, but not the key of the studio', async () => {
    assert.equal((await own.call('PATCH', `/${own.key_id}`, { rpm: 70 })).body.rpm, 70);
    const { studio } = (await own.owner.call('GET', '/keys')).body;
    for (const [method, body] of [['GET'], ['PATCH', { rpm: 1 }], ['DELETE']] as const)
      assertRefused(await own.call(method, `/${studio.key_id}`, body), 'not_found');
    assert.equal((await namesOf('?state=all&limit=100')).includes(studio.key_id), false);
  });

  test('stops when it is revoked or its account suspended; the keys it made do not', async () => {
    const leaked = await world();
    const { key } = await create({}, leaked);
    await leaked.owner.call('DELETE', `/keys/${leaked.manager.key_id}`);
    assertRefused(await leaked.call('POST', '', { name: 'more' }), 'unauthorized');
    assert.equal((await submit(key)).status, 202);
    await accounts.setStatus(service.db, other.account_id, 'suspended');
    assertRefused(await other.call('GET'), 'unauthorized');
    await accounts.setStatus(service.db, other.account_id, 'active');
  });

  test('is made with no limit that would have no effect', async () => {
    const earlier = await countOf(own);
    for (const [field, value] of Object.entries({
      monthly_limit_usd_micro: '5',
      open_jobs: 5,
      models: ['fake/image'],
    })) {
      const form = { [field]: value };
      const made = await own.owner.call('POST', '/keys', { name: 'x', scope: 'keys', ...form });
      assert.deepEqual([made.status, made.body.error.param], [400, field], made.text);
      const path = `/keys/${own.manager.key_id}`;
      const changed = await own.owner.call('PATCH', path, form);
      assert.deepEqual([changed.status, changed.body.error.param], [400, field]);
    }
    assert.equal(await countOf(own), earlier);
  });
});

describe('the keys of an account', () => {
  const add = (account_id: string, count: number, revoked: boolean) =>
    service.db.run(sql`with k as (
          insert into keys (id, account_id, name, hash, prefix, last4, revoked_at)
          select gen_random_uuid(), ${account_id}, 'many', sha256((gen_random_uuid()::text)::bytea), 'fbx_ab',
            'wxyz', case when ${revoked}::bool then now() end
          from generate_series(1, ${count}::int) returning id, account_id)
        insert into key_usage (key_id, account_id, month) select id, account_id,
          date_trunc('month', now() at time zone 'utc')::date from k`);

  test('are as many as on the pages: many at once do not exceed it', async () => {
    const full = await world();
    await add(full.account_id, livingKeysMax - (await countOf(full)) - 1, false);
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => full.call('POST', '', { name: 'last' })),
    );
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted(),
      [201, 400, 400, 400, 400, 400],
    );
    const { details } = replies.find(({ status }) => status === 400)!.body.error;
    assert.deepEqual([details.reason, details.limit], ['keys_too_many', livingKeysMax]);
  });

  test('made in a day are bounded, revoked ones too', async () => {
    const busy = await world();
    await add(busy.account_id, madeADayMax - (await countOf(busy)), true);
    const earlier = await countOf(busy);
    const reply = await busy.call('POST', '', { name: 'one more' });
    const { details } = assertRefused(reply, 'rate_limited');
    assert.equal(details.limit, madeADayMax);
    assert.ok(Number(reply.headers.get('retry-after')) > 80_000);
    assert.equal((await busy.owner.call('POST', '/keys', { name: 'one more' })).status, 429);
    assert.equal(await countOf(busy), earlier);
  });

  test('at once near the bound of a day do not exceed it', async () => {
    const busy = await world();
    await add(busy.account_id, madeADayMax - 2 - (await countOf(busy)), true);
    const before = await countOf(busy);
    const names = Array.from({ length: 12 }, (_, at) => `at once ${at}`);
    const replies = await Promise.all(names.map((name) => busy.call('POST', '', { name })));
    const made = replies.filter(({ status }) => status === 201);
    assert.equal(made.length, 2);
    for (const reply of replies) if (reply.status !== 201) assertRefused(reply, 'rate_limited');
    assert.equal(await countOf(busy), before + 2);
  });
});
