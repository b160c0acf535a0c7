/** API keys on the customer's pages: new keys and changes apply to the API at once. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashKey } from '../../../src/core/account/key.ts';
import type { KeyChange } from '../../../src/core/account/key-settings.ts';
import * as keys from '../../../src/db/accounts/keys.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createKey, findOrMakeStudioKey } from '../../../src/operations/accounts/key.ts';
import { limitKey } from '../../kit/keys.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply } from '../../kit/service.ts';
import {
  before,
  person,
  stranger,
  withWebService,
  type Answer,
  type Person,
} from '../../kit/web.ts';

let owner: Person;
let mine: Pick<Person, 'call'>;
const { service, account } = withWebService({ env: { FAREBOX_RPM: '600' } });
before(async () => {
  owner = await person(service, { [account.account_id]: 'owner' });
  mine = owner.of(account.account_id);
});

let made = 0;
async function create(form: object = {}): Promise<any> {
  const reply = await mine.call('POST', '/keys', { name: `key ${++made}`, ...form });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}
const api = (key: string, method = 'GET', path = '/v1/requests', body?: unknown): Promise<Reply> =>
  service.call(method, path, { key, body });
const submit = (key: string) => api(key, 'POST', '/v1/queue/fake/image', { prompt: 'a cat' });
const rowOf = (key_id: string) => keys.find(service.db, account.account_id, key_id);
const refused = (reply: Answer, param: string | null, words: RegExp) => {
  assert.equal(reply.status, 400, reply.text);
  assert.deepEqual([reply.body.error.code, reply.body.error.param], ['bad_request', param]);
  assert.match(reply.body.error.message, words);
};
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe('making a key', () => {
  test('shows its secret once; it works at once, and the list shows only its hint', async () => {
    const { key, ...shown } = await create({ name: '  Web shop ' });
    assert.match(key, /^fbx_[0-9A-Za-z]{38}$/);
    assert.equal((await api(key)).status, 200);
    const { body, text } = await mine.call('GET', '/keys');
    const listed = body.data.find((row: any) => row.key_id === shown.key_id);
    assert.deepEqual(
      [listed.name, listed.hint, listed.state, listed.is_studio],
      ['Web shop', `${key.slice(0, 6)}…${key.slice(-4)}`, 'active', false],
    );
    assert.ok(listed.last_used_at);
    assert.equal(text.includes(key), false);
    assert.doesNotMatch(text, new RegExp(hashKey(key).toString('hex')));
  });

  test('with every limit keeps each of them', async () => {
    const expires_at = inDays(30);
    const { key, ...shown } = await create({
      monthly_limit_usd_micro: '15000',
      expires_at,
      models: ['fake/image', 'fake/chat', 'fake/image'],
      rpm: 40,
      open_jobs: 2,
    });
    assert.deepEqual(
      [shown.monthly_limit_usd_micro, shown.expires_at, shown.models, shown.rpm, shown.open_jobs],
      ['15000', expires_at, ['fake/image', 'fake/chat'], 40, 2],
    );
    const first = await submit(key);
    assert.equal(first.status, 202);
    assert.equal(first.headers.get('ratelimit-limit'), '40');
    assertRefused(await submit(key), 'key_limit_reached');
    const film = await api(key, 'POST', '/v1/queue/fake/film/text-to-video', { prompt: 'x' });
    assertRefused(film, 'forbidden');
    const { body } = await mine.call('GET', `/keys/${shown.key_id}`);
    assert.deepEqual(
      [body.spent_usd_micro, body.reserved_usd_micro, body.open_requests],
      ['10000', '10000', 1],
    );
    assert.ok(Date.parse(body.resets_at) > Date.now());
  });
});

describe('changing a key', () => {
  test('changes what is given and nothing else; null takes a limit away', async () => {
    const { key, key_id } = await create({ monthly_limit_usd_micro: '10000', rpm: 50 });
    assert.equal((await submit(key)).status, 202);
    assertRefused(await submit(key), 'key_limit_reached');
    const raised = await mine.call('PATCH', `/keys/${key_id}`, {
      monthly_limit_usd_micro: '20000',
      name: 'Renamed',
    });
    assert.deepEqual([raised.status, raised.body.name, raised.body.rpm], [200, 'Renamed', 50]);
    assert.equal((await submit(key)).status, 202);
    const open = await mine.call('PATCH', `/keys/${key_id}`, { monthly_limit_usd_micro: null });
    assert.deepEqual([open.body.monthly_limit_usd_micro, open.body.name], [null, 'Renamed']);
    assert.equal((await submit(key)).status, 202);
  });

  test('makes an expired key valid again', async () => {
    const { key, key_id } = await create({ expires_at: inDays(1) });
    await service.db.run(rawSql('update keys set expires_at = now() where id = $1', [key_id]));
    assertRefused(await api(key), 'unauthorized');
    assert.equal((await mine.call('GET', `/keys/${key_id}`)).body.state, 'expired');
    const { body } = await mine.call('PATCH', `/keys/${key_id}`, { expires_at: inDays(7) });
    assert.equal(body.state, 'active');
    assert.equal((await api(key)).status, 200);
  });

  test('keeps a model that has left the catalog, and accepts no other unknown one', async () => {
    const { key_id } = await create();
    await keys.change(service.db, key_id, { models: ['gone/model'] }, 'operator');
    const models = ['gone/model', 'fake/image'];
    const kept = await mine.call('PATCH', `/keys/${key_id}`, { models });
    assert.deepEqual(kept.body.models, models);
    await mine.call('PATCH', `/keys/${key_id}`, { models: null });
    refused(await mine.call('PATCH', `/keys/${key_id}`, { models }), 'models[0]', /id of a model/);
    assert.equal((await rowOf(key_id))!.models, null);
  });

  test("goes up to the operator's limit for the key, and down without limit", async () => {
    const { key_id } = await create();
    const patch = (rpm: number | null) => mine.call('PATCH', `/keys/${key_id}`, { rpm });
    refused(await patch(601), 'rpm', /at most 600/);
    await keys.change(service.db, key_id, { rpm: 2_000 }, 'operator');
    assert.equal((await patch(1_500)).status, 200);
    refused(await patch(2_001), 'rpm', /at most 2000/);
    assert.equal((await patch(10)).status, 200);
    assert.equal((await patch(2_000)).status, 200);
  });

  test("lowers the operator's limit, and neither raises nor removes it", async () => {
    const { key_id } = await create();
    const patch = (limits: object) => mine.call('PATCH', `/keys/${key_id}`, limits);
    const set = { monthly_limit_usd_micro: 20_000n, rpm: 30, open_jobs: 3 };
    await keys.change(service.db, key_id, set, 'operator');
    const tries: [object, RegExp][] = [
      [{ monthly_limit_usd_micro: null }, /operator has set .* at most 0\.02 USD/],
      [{ monthly_limit_usd_micro: '20001' }, /operator has set .* at most 0\.02 USD/],
      [{ rpm: null }, /operator has set .* at most 30/],
      [{ rpm: 31 }, /operator has set .* at most 30/],
      [{ open_jobs: null }, /operator has set .* at most 3/],
      [{ open_jobs: 4 }, /operator has set .* at most 3/],
    ];
    for (const [limits, words] of tries)
      refused(await patch(limits), Object.keys(limits)[0]!, words);
    const lower = { monthly_limit_usd_micro: '0', rpm: 1, open_jobs: 1 };
    const { body } = await patch(lower);
    assert.deepEqual([body.monthly_limit_usd_micro, body.rpm, body.open_jobs], ['0', 1, 1]);
    const { rpm_ceiling, open_jobs_ceiling, monthly_ceiling_usd_micro: most } = body;
    assert.deepEqual([rpm_ceiling, open_jobs_ceiling, most], [30, 3, '20000']);
    assert.equal((await patch({ rpm: 30 })).status, 200);
    await keys.change(service.db, key_id, { rpm: null, monthly_limit_usd_micro: null }, 'operator');
    const free = await patch({ rpm: null, monthly_limit_usd_micro: '50000' });
    assert.deepEqual([free.body.rpm, free.body.monthly_limit_usd_micro], [null, '50000']);
  });

  test('of a revoked key is refused', async () => {
    const { key_id } = await create();
    await mine.call('DELETE', `/keys/${key_id}`);
    refused(await mine.call('PATCH', `/keys/${key_id}`, { name: 'again' }), null, /revoked/);
    assert.notEqual((await rowOf(key_id))!.name, 'again');
  });
});

describe("an operator's limit on a key", () => {
  /** A new account with one key, and its owner. */
  async function begin() {
    const own = await service.account();
    const owner = (await person(service, { [own.account_id]: 'owner' })).of(own.account_id);
    const make = (limits: object = {}) => owner.call('POST', '/keys', { name: 'next', ...limits });
    const set = (limits: KeyChange, key_id = own.key_id) => limitKey(service.db, key_id, limits);
    return { ...own, owner, make, set };
  }
  const limitsOf = ({ body }: { body: Record<string, unknown> }) => [
    body.monthly_limit_usd_micro,
    body.rpm,
    body.open_jobs,
  ];

  test('applies to keys that are made afterwards, also after the key is revoked', async () => {
    const { owner, make, set, key_id } = await begin();
    await set({ monthly_limit_usd_micro: 20_000n, rpm: 30, open_jobs: 3 });
    assert.equal((await owner.call('DELETE', `/keys/${key_id}`)).status, 200);
    const made = await make();
    assert.deepEqual([made.status, ...limitsOf(made)], [201, '20000', 30, 3]);
    const before = (await owner.call('GET', '/keys')).body;
    for (const limits of [{ monthly_limit_usd_micro: '20001' }, { rpm: 31 }, { open_jobs: 4 }])
      refused(await make(limits), Object.keys(limits)[0]!, /operator has set/);
    assert.equal((await owner.call('GET', '/keys')).body.data.length, before.data.length);
    assert.deepEqual(before.ceilings, {
      monthly_ceiling_usd_micro: '20000',
      rpm_ceiling: 30,
      open_jobs_ceiling: 3,
    });
    assert.deepEqual(limitsOf(await make({ rpm: 10 })), ['20000', 10, 3]);
    const path = `/keys/${made.body.key_id}`;
    refused(await owner.call('PATCH', path, { rpm: 31 }), 'rpm', /operator has set/);
  });

  test('applies as it was set last, each limit by itself, and can be removed', async () => {
    const { owner, make, set } = await begin();
    const { body: second } = await make();
    await set({ rpm: 20, monthly_limit_usd_micro: 5_000n });
    await set({ rpm: 30 }, second.key_id);
    const { body: between } = await make();
    assert.deepEqual(limitsOf({ body: between }), ['5000', 30, null]);
    await set({ rpm: null }, second.key_id);
    assert.deepEqual(limitsOf(await make()), ['5000', null, null]);
    // A key that was made meanwhile keeps its limits.
    const kept = await owner.call('PATCH', `/keys/${between.key_id}`, { rpm: null });
    refused(kept, 'rpm', /operator has set/);
  });

  test('does not allow more than the service’s own limits', async () => {
    const { make, set } = await begin();
    await set({ rpm: 2_000, open_jobs: 500 });
    assert.deepEqual(limitsOf(await make()), [null, null, null]);
    refused(await make({ rpm: 601 }), 'rpm', /at most 600/);
  });

  test('does not change an existing studio key, but applies to one that is made afterwards', async () => {
    const { owner, make, set, account_id } = await begin();
    await set({ monthly_limit_usd_micro: 9_000n });
    const { studio } = (await owner.call('GET', '/keys')).body;
    assert.equal(studio.monthly_limit_usd_micro, '9000');
    assert.equal(studio.monthly_ceiling_usd_micro, '9000');
    const row = (await keys.list(service.db, { account_id, limit: 100 })).find(
      ({ is_studio }) => is_studio,
    )!;
    await set({ monthly_limit_usd_micro: 0n }, row.id);
    assert.deepEqual(limitsOf(await make()), ['9000', null, null]);
  });

  test('is not set by a key that an operator makes with its own limits', async () => {
    const { owner, make, account_id } = await begin();
    const wanted = { account_id, name: 'fixed', rpm: 40 };
    const { key_id } = (await createKey(service.db, { who: 'operator' }, wanted)).answer;
    assert.deepEqual(limitsOf(await make()), [null, null, null]);
    refused(await owner.call('PATCH', `/keys/${key_id}`, { rpm: 41 }), 'rpm', /operator has set/);
  });
});

describe('rotating a key', () => {
  const rotate = (key_id: string, key: string, overlap_hours: unknown) =>
    mine.call('POST', `/keys/${key_id}/rotate`, { last4: key.slice(-4), overlap_hours });

  test('gives a new secret that works at once, beside the old one during the overlap', async () => {
    const { key, key_id } = await create({ monthly_limit_usd_micro: '30000', rpm: 70 });
    assert.equal((await submit(key)).status, 202);
    const { body } = await rotate(key_id, key, 24);
    assert.notEqual(body.key, key);
    assert.deepEqual(
      [body.key_id, body.rpm, body.spent_usd_micro],
      [key_id, 70, '10000'],
      'the key itself, its limits and its month stay',
    );
    const hours = (Date.parse(body.previous_until) - Date.now()) / 3_600_000;
    assert.ok(hours > 23.9 && hours <= 24);
    for (const text of [key, body.key]) assert.equal((await submit(text)).status, 202);
    for (const text of [key, body.key]) assertRefused(await submit(text), 'key_limit_reached');
    const { body: used } = await mine.call('GET', `/keys/${key_id}`);
    assert.ok(used.previous_used_at);
  });

  test('without an overlap, or when it is ended, refuses the old secret at once', async () => {
    const { key, key_id } = await create();
    const second = (await rotate(key_id, key, 0)).body;
    assert.equal(second.previous_until, null);
    assertRefused(await api(key), 'unauthorized');
    const third = (await rotate(key_id, second.key, 168)).body;
    assert.equal((await api(second.key)).status, 200);
    const ended = await mine.call('DELETE', `/keys/${key_id}/previous`);
    assert.deepEqual([ended.status, ended.body.previous_until], [200, null]);
    assertRefused(await api(second.key), 'unauthorized');
    assert.equal((await api(third.key)).status, 200);
    refused(await mine.call('DELETE', `/keys/${key_id}/previous`), null, /no earlier secret/);
  });

  test('twice at once happens once, and the secret in use is not lost', async () => {
    const { key, key_id } = await create();
    const replies = await Promise.all([24, 24, 24].map((hours) => rotate(key_id, key, hours)));
    assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 400, 400]);
    const won = replies.find(({ status }) => status === 200)!;
    assert.equal((await api(key)).status, 200);
    assert.equal((await api(won.body.key)).status, 200);
  });

  test('at the same time as a revocation leaves a revoked key, with both secrets', async () => {
    const { key, key_id } = await create();
    const [rotated, revoked] = await Promise.all([
      rotate(key_id, key, 24),
      mine.call('DELETE', `/keys/${key_id}`),
    ]);
    assert.equal(revoked.status, 200);
    for (const text of [key, rotated.body.key ?? key])
      assertRefused(await api(text), 'unauthorized');
  });

  test('of one that is revoked or expired is refused, and so is a strange overlap', async () => {
    const { key, key_id } = await create();
    for (const hours of [-1, 169, 1.5, '24', null, undefined])
      refused(await rotate(key_id, key, hours), 'overlap_hours', /from 0 to 168/);
    await service.db.run(rawSql('update keys set expires_at = now() where id = $1', [key_id]));
    refused(await rotate(key_id, key, 24), null, /expired/);
    await mine.call('DELETE', `/keys/${key_id}`);
    refused(await rotate(key_id, key, 24), null, /revoked/);
    assert.equal((await rowOf(key_id))!.last4, key.slice(-4));
  });
});

describe('revoking a key', () => {
  test('refuses it at the API at once, for good, and leaves the others', async () => {
    const [gone, stays] = [await create(), await create()];
    assert.equal((await api(gone.key)).status, 200);
    const { status, body } = await mine.call('DELETE', `/keys/${gone.key_id}`);
    assert.deepEqual([status, body.state], [200, 'revoked']);
    assertRefused(await api(gone.key), 'unauthorized');
    assert.equal((await api(stays.key)).status, 200);
    refused(await mine.call('DELETE', `/keys/${gone.key_id}`), null, /already revoked/);
    const ids = async (state: string) =>
      (await mine.call('GET', `/keys?state=${state}&limit=100`)).body.data.map(
        (row: any) => row.key_id,
      );
    assert.equal((await ids('active')).includes(gone.key_id), false);
    assert.ok((await ids('all')).includes(gone.key_id));
  });
});

describe('the list', () => {
  test('pages by cursor, newest first, each key once', async () => {
    const other = await service.account();
    const visitor = (await person(service, { [other.account_id]: 'developer' })).of(
      other.account_id,
    );
    for (const name of ['a', 'b', 'c', 'd']) await visitor.call('POST', '/keys', { name });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query = cursor === null ? '' : `&cursor=${cursor}`;
      const { body }: Answer = await visitor.call('GET', `/keys?limit=2${query}`);
      assert.ok(body.data.length <= 2);
      seen.push(...body.data.map((row: any) => row.name));
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(seen, ['d', 'c', 'b', 'a', 'test']);
    for (const odd of ['state=gone', 'limit=0', 'cursor=x'])
      assert.equal((await visitor.call('GET', `/keys?${odd}`)).status, 400);
  });
});

describe("the studio's key", () => {
  const studio = async () => (await mine.call('GET', '/keys')).body.studio;

  test('is listed apart, and its limits can be changed', async () => {
    const { key_id, is_studio, name } = await studio();
    assert.deepEqual([is_studio, name], [true, 'Studio']);
    const limits = { monthly_limit_usd_micro: '0', open_jobs: 1 };
    assert.equal((await mine.call('PATCH', `/keys/${key_id}`, limits)).status, 200);
    const spent = await mine.call('POST', '/v1/queue/fake/image', { prompt: 'x' });
    assert.deepEqual([spent.status, spent.body.error.code], [402, 'key_limit_reached']);
    await mine.call('PATCH', `/keys/${key_id}`, { monthly_limit_usd_micro: null });
    assert.equal((await mine.call('POST', '/v1/queue/fake/image', { prompt: 'x' })).status, 202);
    const { body } = await mine.call('GET', '/keys?limit=100&state=all');
    assert.equal(
      body.data.some((row: any) => row.is_studio),
      false,
    );
  });

  test('is never rotated, ended, kept to models, renamed or revoked', async () => {
    const before = await studio();
    const at = `/keys/${before.key_id}`;
    const last4 = before.last4;
    refused(await mine.call('POST', `${at}/rotate`, { last4, overlap_hours: 0 }), null, /studio/);
    refused(await mine.call('DELETE', at), null, /limit to 0/);
    for (const form of [{ expires_at: inDays(1) }, { models: ['fake/image'] }, { name: 'x' }]) {
      const [field] = Object.keys(form);
      refused(await mine.call('PATCH', at, form), field!, /studio/i);
    }
    const now = await studio();
    assert.deepEqual({ ...now, last_used_at: null }, { ...before, last_used_at: null });
    assert.deepEqual(
      await findOrMakeStudioKey(service.db, account.account_id, { rpm: 600, open_jobs: 50 }),
      await keys.findStudio(service.db, account.account_id),
    );
  });
});

describe('roles', () => {
  test('all see keys; owners and developers change them', async () => {
    const { key, key_id } = await create();
    const last4 = key.slice(-4);
    const changes: [string, string, object?][] = [
      ['POST', '/keys', { name: 'mine' }],
      ['PATCH', `/keys/${key_id}`, { name: 'other' }],
      ['POST', `/keys/${key_id}/rotate`, { last4, overlap_hours: 0 }],
      ['DELETE', `/keys/${key_id}/previous`],
      ['DELETE', `/keys/${key_id}`],
    ];
    for (const role of ['billing', 'read_only'] as const) {
      const somebody = (await person(service, { [account.account_id]: role })).of(
        account.account_id,
      );
      assert.equal((await somebody.call('GET', '/keys')).status, 200);
      assert.equal((await somebody.call('GET', `/keys/${key_id}`)).status, 200);
      for (const [method, path, body] of changes)
        assert.equal((await somebody.call(method, path, body)).status, 403, `${role} ${path}`);
    }
    assert.equal((await api(key)).status, 200, 'nothing of it was done');
    const developer = await person(service, { [account.account_id]: 'developer' });
    const reply = await developer.of(account.account_id).call('DELETE', `/keys/${key_id}`);
    assert.equal(reply.status, 200);
  });

  test('reach no keys of another account', async () => {
    const other = await service.account();
    for (const [method, path, body] of [
      ['GET', `/keys/${other.key_id}`],
      ['PATCH', `/keys/${other.key_id}`, { name: 'mine now' }],
      ['POST', `/keys/${other.key_id}/rotate`, { last4: other.key.slice(-4), overlap_hours: 0 }],
      ['DELETE', `/keys/${other.key_id}`],
      ['DELETE', `/keys/not-an-id`],
    ] as const)
      assert.equal((await mine.call(method, path, body)).status, 404, `${method} ${path}`);
    assert.equal((await owner.of(other.account_id).call('GET', '/keys')).status, 404);
    assert.equal((await stranger(service).of(other.account_id).call('GET', '/keys')).status, 401);
    assert.equal((await api(other.key)).status, 200);
  });
});
