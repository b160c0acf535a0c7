/** The calls of the operator's API: the effect of each, and its row in the operator's log. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import * as accounts from '../../../src/db/accounts/accounts.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { CallOptions, Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { chargedRequest, logRows, ok, operatorKey, withRows, type MadeKey } from './world.ts';

let key: MadeKey;
const { service } = withService();
before(async () => void (key = await operatorKey(service)));

function call(method: string, path: string, body?: object): Promise<Reply> {
  const options: CallOptions = { key: key.key, ...(body && { body }) };
  return service.call(method, `/v1/operator${path}`, options);
}
const act = (method: string, path: string, body?: object) =>
  withRows(service, () => call(method, path, body));

describe('an account', () => {
  test('is created once, with an invitation if that is wanted', async () => {
    const { reply, rows } = await act('POST', '/accounts', {
      email: 'Ana@Example.com',
      invite: true,
    });
    const { account_id, email, invitation_link } = ok(reply, 201);
    assert.equal(email, 'ana@example.com');
    assert.match(invitation_link, /^http:\/\/.*\/invitation\?token=[\w-]/);
    const [row] = rows;
    assert.deepEqual(
      [row!.action, row!.account_id, row!.target, row!.details],
      ['account.create', account_id, email, { invited: email }],
    );
    assert.ok(!row!.text.includes(invitation_link.split('token=')[1]));
    const again = await act('POST', '/accounts', { email });
    assert.equal(assertRefused(again.reply, 'bad_request').details.reason, 'email_taken');
    assert.deepEqual(again.rows, []);
    const plain = ok(await call('POST', '/accounts', { email: 'bo@example.com' }), 201);
    assert.equal(plain.invitation_link, null);
    const found = ok(await call('GET', '/accounts?q=ana'));
    assert.deepEqual(
      found.data.map((each: { account_id: string }) => each.account_id),
      [account_id],
    );
    const detail = ok(await call('GET', `/accounts/${account_id}`));
    assert.equal(detail.available_usd_micro, '0');
    assert.deepEqual(
      detail.invitations.map((each: { email: string }) => each.email),
      ['ana@example.com'],
    );
  });

  test('is suspended and resumed, and the log has the state before', async () => {
    const account = await service.account();
    const balance = () => account.get('/v1/balance');
    const at = `/accounts/${account.account_id}`;
    const { reply, rows } = await act('POST', `${at}/suspend`);
    assert.deepEqual(ok(reply), { status: 'suspended' });
    assert.deepEqual(
      rows.map(({ action, account_id, details }) => [action, account_id, details]),
      [
        [
          'account.suspend',
          account.account_id,
          { status: 'suspended', before: { status: 'active' } },
        ],
      ],
    );
    assertRefused(await balance(), 'unauthorized');
    assert.deepEqual(ok(await call('POST', `${at}/resume`)), { status: 'active' });
    ok(await balance());
  });

  for (const status of ['active', 'suspended'] as const) {
    test(`whose owners run the service is left alone by a key, ${status} or not`, async () => {
      const { account_id } = await service.account();
      await accounts.setOperator(service.db, account_id, true);
      await accounts.setStatus(service.db, account_id, status);
      const tries: [method: string, path: string, body?: object][] = [
        ['POST', 'suspend'],
        ['POST', 'resume'],
        ['POST', 'invitations', { email: 'eve@example.com', role: 'owner' }],
        ['POST', 'invitations', { email: 'eve@example.com', role: 'read_only' }],
        ['POST', 'keys', { name: 'of a key' }],
        ['PUT', 'keys-by-api', { keys_by_api: true }],
        ['PUT', 'keys-by-api', { keys_by_api: false }],
      ];
      for (const [method, path, body] of tries) {
        const { reply, rows } = await act(method, `/accounts/${account_id}/${path}`, body);
        assert.equal(assertRefused(reply, 'bad_request').details.reason, 'operator_account');
        assert.deepEqual(rows, []);
      }
      const { status: now, ...account } = ok(await call('GET', `/accounts/${account_id}`));
      assert.deepEqual([now, account.is_operator, account.invitations], [status, true, []]);
    });
  }

  test('does not become an operator’s by a field of another call', async () => {
    const { account_id } = await service.account();
    const tries: [method: string, path: string, body: object][] = [
      ['POST', '/accounts', { email: 'eve@example.com', is_operator: true }],
      ['POST', '/accounts', { email: 'eve@example.com', operator: true }],
      ['PUT', `/accounts/${account_id}/price`, { price_ppm: 0, is_operator: true }],
      ['POST', `/accounts/${account_id}/suspend`, { is_operator: true }],
    ];
    for (const [method, path, body] of tries.slice(0, 3))
      assertRefused(await call(method, path, body), 'bad_request');
    await call(...tries[3]!);
    assert.equal(ok(await call('GET', `/accounts/${account_id}`)).is_operator, false);
    assert.deepEqual(ok(await call('GET', '/accounts?q=eve')).data, []);
  });

  test('gets people by invitation, of whom the log names address and role', async () => {
    const { account_id } = await service.account();
    const body = { email: 'Ann@Example.com', role: 'developer' };
    const { reply, rows } = await act('POST', `/accounts/${account_id}/invitations`, body);
    const { invitation_id, link, email } = ok(reply, 201);
    assert.match(link, /\/invitation\?token=[\w-]+$/);
    assert.deepEqual(
      rows.map(({ action, target, details }) => [action, target, details]),
      [['account.invite', email, { role: 'developer' }]],
    );
    const { invitations } = ok(await call('GET', `/accounts/${account_id}`));
    assert.deepEqual(
      invitations.map((each: Record<string, string>) => [each.invitation_id, each.email]),
      [[invitation_id, 'ann@example.com']],
    );
  });

  test('that does not exist is not found, and pages go on where the last one ended', async () => {
    for (const id of [newId(), 'x']) {
      for (const path of [`/accounts/${id}`, `/transfers?account_id=${id}`].slice(
        0,
        id === 'x' ? 2 : 1,
      ))
        assertRefused(await call('GET', path), 'not_found');
      assertRefused(await call('POST', `/accounts/${id}/suspend`), 'not_found');
      assertRefused(await call('DELETE', `/keys/${id}`), 'not_found');
    }
    const first = ok(await call('GET', '/accounts?limit=1'));
    const next = ok(await call('GET', `/accounts?limit=1&cursor=${first.next_cursor}`));
    assert.notEqual(first.data[0].account_id, next.data[0].account_id);
    assertRefused(await call('GET', '/accounts?limit=0'), 'bad_request');
    assertRefused(
      await call('POST', '/accounts', { email: 'x@example.com', more: 1 }),
      'bad_request',
    );
  });
});

describe('the keys of an account', () => {
  test('are listed in pages, and shown with the account', async () => {
    const account = await service.account();
    const path = `/accounts/${account.account_id}`;
    const added = ok(await call('POST', `${path}/keys`, { name: 'second' }), 201);
    await call('DELETE', `/keys/${account.key_id}`);
    const first = ok(await call('GET', `${path}/keys?limit=1`));
    const next = ok(await call('GET', `${path}/keys?limit=1&cursor=${first.next_cursor}`));
    assert.deepEqual(
      [first.data[0].key_id, next.data[0].key_id, next.data[0].state, next.next_cursor],
      [added.key_id, account.key_id, 'revoked', null],
    );
    assert.deepEqual(ok(await call('GET', path)).keys, [...first.data, ...next.data]);
    assertRefused(await call('GET', `/accounts/${newId()}/keys`), 'not_found');
    assertRefused(await call('GET', `${path}/keys?state=all`), 'bad_request');
  });
});

describe('a key of an account', () => {
  test('is made with limits that stay, changed and revoked, each with its row', async () => {
    const account = await service.account({ usd: 1 });
    const { reply, rows } = await act('POST', `/accounts/${account.account_id}/keys`, {
      name: 'web',
      monthly_limit_usd_micro: '5000000',
      rpm: 300,
      models: ['fake/image'],
    });
    const { key: secret, key_id, ...made } = ok(reply, 201);
    assert.deepEqual(
      [made.monthly_limit_usd_micro, made.rpm, made.open_jobs, made.models, made.state],
      ['5000000', 300, null, ['fake/image'], 'active'],
    );
    assert.ok(!rows[0]!.text.includes(secret));
    const own = () => service.call('GET', '/v1/balance', { key: secret });
    assert.equal(ok(await own()).key.limit_usd_micro, '5000000');

    const changed = await act('PATCH', `/keys/${key_id}`, { rpm: null, open_jobs: 7 });
    assert.deepEqual([ok(changed.reply).rpm, changed.reply.body.open_jobs], [null, 7]);
    assert.deepEqual(changed.rows[0]!.details, {
      key_id,
      rpm: null,
      open_jobs: 7,
      before: { rpm: 300, open_jobs: null },
    });
    const named = await act('PATCH', `/keys/${key_id}`, { name: ' shop', models: null });
    assert.deepEqual([ok(named.reply).name, named.reply.body.models], ['shop', null]);
    assert.deepEqual(
      [named.rows[0]!.action, named.rows[0]!.details],
      [
        'key.change',
        { key_id, name: 'shop', models: null, before: { name: 'web', models: ['fake/image'] } },
      ],
    );

    const ended = await act('DELETE', `/keys/${key_id}`);
    assert.equal(ok(ended.reply).state, 'revoked');
    assertRefused(await own(), 'unauthorized');
    for (const [method, body] of [['DELETE'], ['PATCH', { rpm: 1 }]] as const) {
      const again = await act(method, `/keys/${key_id}`, body);
      assert.equal(assertRefused(again.reply, 'bad_request').details.reason, 'key_revoked');
      assert.deepEqual(again.rows, []);
    }
    assert.deepEqual(
      [...rows, ...changed.rows, ...ended.rows].map((row) => [row.action, row.target]),
      [
        ['key.create', 'web'],
        ['key.limits', 'web'],
        ['key.revoke', 'shop'],
      ],
    );
  });
});

describe('a credit', () => {
  test('of a hundred repeats at once is one transfer with one row', async () => {
    const account = await service.account({ usd: 0 });
    const at = `/accounts/${account.account_id}/credits`;
    const body = { amount_usd_micro: '25000000', reference: 'stripe cs_1', source: 'paid' };
    const before = (await logRows(service)).length;
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, i) => call('POST', at, { ...body, note: `try ${i}` })),
    );
    const statuses = Map.groupBy(replies, ({ status }) => status);
    assert.deepEqual([statuses.get(201)?.length, statuses.get(200)?.length], [1, 99]);
    const ids = new Set(replies.map((reply) => reply.body.transfer_id));
    assert.equal(ids.size, 1);
    assert.equal((await service.balance(account)).available, 25_000_000n);
    const booked = await service.db.run<{ id: string; source: string }>(sql`
      select id, source from transfers where account_id = ${account.account_id}`);
    assert.deepEqual(booked, [{ id: [...ids][0], source: 'paid' }]);
    const rows = (await logRows(service)).slice(before);
    assert.deepEqual(
      rows.map((row) => [row.action, row.operator_key_id, row.details?.transfer_id]),
      [['account.credit', key.operator_key_id, [...ids][0]]],
    );
    assert.match(String(rows[0]!.details?.note), /^try \d+$/);
  });

  test('with another amount, source or account under its reference is a conflict', async () => {
    const [account, other] = [await service.account({ usd: 0 }), await service.account({ usd: 0 })];
    const body = { amount_usd_micro: '1000000', reference: 'wire 7', source: 'bonus' };
    const book = (more: object, id = account.account_id) =>
      act('POST', `/accounts/${id}/credits`, { ...body, ...more });
    ok((await book({})).reply, 201);
    const others = [
      book({ amount_usd_micro: '1000001' }),
      book({ source: 'paid' }),
      book({}, other.account_id),
    ];
    for (const { reply } of await Promise.all(others)) {
      const { details } = assertRefused(reply, 'idempotency_conflict');
      assert.deepEqual(details, { reason: 'reference_used', reference: 'wire 7' });
    }
    ok((await book({ note: 'again' })).reply);
    const malformed = [
      { amount_usd_micro: '0' },
      { amount_usd_micro: 5 },
      { amount_usd_micro: '-5' },
      { reference: '' },
      { reference: 'chain:x' },
      { source: 'chain' },
      { source: undefined },
      { note: 'a\u200bb' },
      { more: 1 },
    ];
    for (const more of malformed) {
      const { reply, rows } = await book({ reference: `new ${JSON.stringify(more)}`, ...more });
      assertRefused(reply, 'bad_request', { about: JSON.stringify(more) });
      assert.deepEqual(rows, []);
    }
    assert.equal((await service.balance(account)).available, 1_000_000n);
    assert.equal((await service.balance(other)).available, 0n);
    const [transfer] = ok(await call('GET', '/transfers?kind=deposit&limit=1')).data;
    assert.deepEqual(
      [transfer.account_id, transfer.source, transfer.reference, transfer.direction],
      [account.account_id, 'bonus', 'wire 7', 'in'],
    );
  });
});

describe('an adjustment', () => {
  test('is booked once: a repeat is the same transfer, another booking a conflict', async () => {
    const account = await service.account({ usd: 1 });
    const at = `/accounts/${account.account_id}/adjustments`;
    const body = { amount_usd_micro: '-400000', reference: 'ticket 881', reason: 'a slip' };
    const first = await act('POST', at, body);
    const { transfer_id, ...told } = ok(first.reply, 201);
    const funds = { available_usd_micro: '600000', reserved_usd_micro: '0', debt_usd_micro: '0' };
    assert.deepEqual(told, { replayed: false, ...funds });
    assert.equal(first.rows.length, 1);
    const again = await act('POST', at, body);
    assert.deepEqual(ok(again.reply), { transfer_id, replayed: true, ...funds });
    assert.deepEqual(again.rows, []);
    for (const other of [{ amount_usd_micro: '-400001' }, { reason: 'another' }]) {
      const conflict = await act('POST', at, { ...body, ...other });
      const { details } = assertRefused(conflict.reply, 'idempotency_conflict');
      assert.deepEqual(details, { reason: 'reference_used', reference: 'ticket 881' });
      assert.deepEqual(conflict.rows, []);
    }
    const tooMuch = { ...body, reference: 'b', amount_usd_micro: '-600001' };
    const beyond = assertRefused(await call('POST', at, tooMuch), 'bad_request');
    assert.equal(beyond.details.reason, 'beyond_available');
    assert.equal((await service.balance(account)).available, 600_000n);
    const owed = ok((await act('POST', at, { ...tooMuch, allows_debt: true })).reply, 201);
    assert.deepEqual([owed.available_usd_micro, owed.debt_usd_micro], ['0', '1']);
  });
});

describe('lists over all accounts', () => {
  test('of requests keep to their filters and pages', async () => {
    const [one, two] = [await service.account(), await service.account()];
    const submit = async (of: { key: string }) => {
      const body = { prompt: 'a cat' };
      const reply = await service.call('POST', '/v1/queue/fake/image', { key: of.key, body });
      return ok(reply, 202).request_id as string;
    };
    const ids = [await submit(one), await submit(two), await submit(one)];
    await service.call('POST', `/v1/requests/${ids[2]}/cancel`, { key: one.key });
    const list = async (query: string) =>
      ok(await call('GET', `/requests?${query}`)).data.map(
        ({ request_id }: { request_id: string }) => request_id,
      );
    assert.deepEqual(await list(''), ids.toReversed());
    assert.deepEqual(await list(`account_id=${one.account_id}`), [ids[2], ids[0]]);
    assert.deepEqual(await list(`key_id=${two.key_id}`), [ids[1]]);
    assert.deepEqual(await list('status=CANCELLED'), [ids[2]]);
    assert.deepEqual(await list('upstream=fake&model_id=fake/image'), ids.toReversed());
    assert.deepEqual(await list('upstream=other'), []);
    assert.deepEqual(await list('to=2020-01-01'), []);
    assert.deepEqual(await list('from=2020-01-01&status=IN_QUEUE'), [ids[1], ids[0]]);
    const seen: string[] = [];
    for (let at = ''; seen.length < 9;) {
      const { data, next_cursor } = ok(await call('GET', `/requests?limit=1${at}`));
      seen.push(...data.map((each: { request_id: string }) => each.request_id));
      if (next_cursor === null) break;
      at = `&cursor=${next_cursor}`;
    }
    assert.deepEqual(seen, ids.toReversed());
    const [first] = ok(await call('GET', '/requests?limit=1')).data;
    assert.deepEqual(
      [first.account_id, first.key_id, first.charged_usd_micro],
      [one.account_id, one.key_id, '0'],
    );
    assertRefused(await call('GET', '/requests?status=DONE'), 'bad_request');
    assertRefused(await call('GET', '/requests?cursor=x'), 'bad_request');
  });

  test('of transfers have each movement once, for all accounts and for one', async () => {
    const expected = await service.db.run<{ id: string; account_id: string; kind: string }>(sql`
      select id, account_id, kind from transfers order by id desc`);
    assert.ok(expected.length > 8);
    const all = async (query: string) => {
      const seen: { transfer_id: string; kind: string }[] = [];
      for (let at = ''; ;) {
        const { data, next_cursor } = ok(await call('GET', `/transfers?limit=2${query}${at}`));
        seen.push(...data);
        if (next_cursor === null) return seen.map(({ transfer_id }) => transfer_id);
        at = `&cursor=${next_cursor}`;
      }
    };
    const idsOf = (keep: (row: (typeof expected)[number]) => boolean) =>
      expected.filter(keep).map(({ id }) => id);
    assert.deepEqual(
      await all(''),
      idsOf(() => true),
    );
    assert.deepEqual(
      await all('&kind=deposit,adjustment'),
      idsOf(({ kind }) => kind === 'deposit' || kind === 'adjustment'),
    );
    assert.deepEqual(
      await all('&kind=release'),
      idsOf(({ kind }) => kind === 'release'),
    );
    assert.deepEqual(await all('&to=2020-01-01'), []);
    const { account_id } = expected[0]!;
    const own = await all(`&account_id=${account_id}`);
    assert.deepEqual(own.toSorted(), idsOf((row) => row.account_id === account_id).toSorted());
    for (const query of ['kind=refund', 'cursor=7', `account_id=${account_id}&cursor=x`, 'from=x'])
      assertRefused(await call('GET', `/transfers?${query}`), 'bad_request');
  });

  test('of usage add up to what the accounts paid, in every grouping', async () => {
    await service.work();
    await service.wakeAll();
    await service.work();
    const [paid] = await service.db.run<{ charged: bigint; ended: bigint }>(sql`
      select coalesce(sum(charged_usd_micro), 0)::bigint as charged, count(*) as ended
        from requests where status in ('COMPLETED', 'FAILED')`);
    assert.ok(paid!.charged > 0n);
    const today = new Date().toISOString().slice(0, 10);
    for (const by of ['day', 'model', 'account', 'key', 'day,account', 'day,model,account,key']) {
      const rows: Record<string, string>[] = [];
      for (let at = ''; ;) {
        const { data, next_cursor } = ok(await call('GET', `/usage?by=${by}&limit=1${at}`));
        rows.push(...data);
        if (next_cursor === null) break;
        at = `&cursor=${next_cursor}`;
      }
      const charged = rows.reduce((sum, row) => sum + BigInt(row.charged_usd_micro!), 0n);
      const ended = rows.reduce((sum, row) => sum + Number(row.completed) + Number(row.failed), 0);
      assert.deepEqual([by, charged, ended], [by, paid!.charged, Number(paid!.ended)]);
      assert.equal(rows[0]!.day, by.includes('day') ? today : null);
      const named = JSON.stringify(
        rows.map(({ day, model_id, account_id, key_id }) => [day, model_id, account_id, key_id]),
      );
      assert.equal(new Set(JSON.parse(named).map(String)).size, rows.length);
    }
    assert.deepEqual(ok(await call('GET', '/usage?by=day&from=2020-01-01&to=2020-01-31')).data, []);
    const wrong = ['by=week', 'by=', 'by=day&from=2020-02-30', 'by=day&from=2020&to=2020-01-02'];
    wrong.push('by=day&from=2020-01-01', 'by=key&from=2020-01-01&to=2020-02-02', 'by=day&cursor=x');
    for (const query of [...wrong, ''])
      assertRefused(await call('GET', `/usage?${query}`), 'bad_request');
  });
});

test('a refund gives back a part of a charge, once, and the rest without an amount', async () => {
  const account = await service.account({ usd: 1 });
  const id = await chargedRequest(service, account);
  const at = `/requests/${id}/refunds`;
  const body = { amount_usd_micro: '4000', reference: 'ticket 882', reason: 'it was black' };
  const first = await act('POST', at, body);
  const { transfer_id, ...told } = ok(first.reply, 201);
  const funds = { available_usd_micro: '994000', reserved_usd_micro: '0', debt_usd_micro: '0' };
  const part = { request_id: id, refunded_usd_micro: '4000', ...funds };
  assert.deepEqual(told, { replayed: false, ...part });
  assert.deepEqual(
    first.rows.map((row) => [row.action, row.target, row.operator_key_id]),
    [['request.refund', id, key.operator_key_id]],
  );
  const again = await act('POST', at, body);
  assert.deepEqual(ok(again.reply), { transfer_id, replayed: true, ...part });
  const conflict = await act('POST', at, { ...body, amount_usd_micro: '4001' });
  assertRefused(conflict.reply, 'idempotency_conflict');
  assert.deepEqual([...again.rows, ...conflict.rows], []);
  const rest = ok(await call('POST', at, { reference: 'ticket 883', reason: 'all of it' }), 201);
  assert.deepEqual([rest.refunded_usd_micro, rest.available_usd_micro], ['10000', '1000000']);
  assertRefused(await call('POST', `/requests/${newId()}/refunds`, body), 'not_found');
  const [transfer] = ok(await call('GET', `/transfers?account_id=${account.account_id}`)).data;
  assert.deepEqual([transfer.source, transfer.request_id], ['refund', id]);
});

test('reading leaves no row in the log', async () => {
  const before = (await logRows(service)).length;
  for (const path of ['/accounts', '/requests', '/transfers', '/usage?by=model'])
    ok(await call('GET', path));
  assert.equal((await logRows(service)).length, before);
});
