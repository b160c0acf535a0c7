/** Accounts in the operator's console: finding them, booking money, prices, suspension, limits. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { createKey } from '../../kit/keys.ts';
import { passEnds } from '../../kit/bonuses.ts';
import type { TestAccount } from '../../kit/service.ts';
import {
  before,
  operatorOf,
  person,
  stranger,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let operator: Person;
const { service } = withWebService();
before(async () => {
  operator = await operatorOf(service);
});

const ask = async (path: string) => {
  const { status, body, text } = await operator.call('GET', `/api/operator${path}`);
  assert.equal(status, 200, text);
  return body;
};
const act = (method: string, path: string, body: object = {}) =>
  operator.call(method, `/api/operator${path}`, body);
const at = ({ account_id }: TestAccount, path = '') => `/accounts/${account_id}${path}`;
type Sums = { source: string; amount_usd_micro: string }[];
const sumOf = (sums: Sums, source: string) =>
  BigInt(sums.find((sum) => sum.source === source)?.amount_usd_micro ?? 0);
const found = async (q: string) => {
  const { data } = await ask(`/accounts?q=${encodeURIComponent(q)}`);
  return data.map((row: { email: string }) => row.email);
};
const matched = async (q: string) => {
  const { data } = await ask(`/accounts?q=${encodeURIComponent(q)}`);
  return data[0].matched.map((match: { by: string }) => match.by);
};
const named = async (email: string, name: string | null) => {
  const made = await act('POST', '/accounts', { email, invite: false });
  assert.equal(made.status, 201, made.text);
  const { account_id } = made.body;
  await service.db.run(rawSql('update accounts set name = $2 where id = $1', [account_id, name]));
  return account_id as string;
};

describe('an account is found', () => {
  let id: string;
  before(async () => {
    id = await named('olga.petrova@studio-nord.example', 'Студия Норд');
    await named('peter@other.example', 'Peter & Sons');
  });

  for (const q of [
    'olga',
    'PETROVA',
    'nord',
    'студия',
    'Нор',
    'olga.petrova@studio-nord.example',
  ]) {
    test(`by "${q}"`, async () => {
      assert.deepEqual(await found(q), ['olga.petrova@studio-nord.example']);
    });
  }

  test('by the beginning of its id, and by the whole', async () => {
    assert.deepEqual(await found(id), ['olga.petrova@studio-nord.example']);
    assert.ok((await found(id.slice(0, 12))).includes('olga.petrova@studio-nord.example'));
  });

  test('by all words together, in any order, and by no other', async () => {
    assert.deepEqual(await found('sons pet'), ['peter@other.example']);
    assert.deepEqual(await found('sons olga'), []);
    assert.deepEqual(await found('etrova'), []);
  });

  for (const q of [`o'l`, `\\ & | ! :* ( ) <-> '`, '%', '::', `'):*`, '🙂', 'a'.repeat(300)]) {
    test(`by no odd text: ${q.slice(0, 20)}`, async () => {
      await found(q);
    });
  }

  test('by a request, a key, a payment reference or a person of it', async () => {
    const account = await service.account();
    const body = { prompt: 'a cat' };
    const headers = { 'x-request-id': `order of ${account.account_id}`.replaceAll(' ', '-') };
    const call = { key: account.key, body, headers };
    const sent = await service.call('POST', '/v1/queue/fake/image', call);
    const { email, id: person_id } = await person(service, { [account.account_id]: 'owner' });
    const traces = {
      [sent.body.request_id]: 'request',
      [sent.headers.get('x-request-id')!]: 'request',
      [headers['x-request-id']]: 'request',
      [account.key_id]: 'key',
      [`test ${account.account_id}`]: 'payment',
      [email]: 'person',
      [email.split('@')[0]!]: 'person',
      [person_id]: 'person',
      [account.account_id]: 'account',
    };
    for (const [q, by] of Object.entries(traces)) {
      assert.deepEqual(await found(q), [account.email], q);
      assert.deepEqual(await matched(q), [by], q);
    }
    const { data } = await ask(`/accounts?q=${email}`);
    assert.deepEqual(data[0].matched, [{ by: 'person', said: `Somebody <${email}>` }]);
    assert.deepEqual((await ask('/accounts')).data[0].matched, []);
  });

  test('by the name of a person, together with what the account is called', async () => {
    const account = await service.account();
    const { id: person_id } = await person(service, { [account.account_id]: 'billing' });
    await service.db.run(sql`update people set name = 'Zhanna Olegovna' where id = ${person_id}`);
    assert.deepEqual(await found('olegov zhan'), [account.email]);
    assert.deepEqual(await found('zhanna petrova'), []);
    const own = await service.account();
    await service.db.run(sql`update accounts set name = 'Zhanna Ltd' where id = ${own.account_id}`);
    assert.deepEqual((await found('zhanna')).toSorted(), [account.email, own.email].toSorted());
    const { data } = await ask('/accounts?q=zhanna&only=operators');
    assert.deepEqual(data, []);
  });

  test('by a key: its beginning, what is shown of it, and the whole', async () => {
    const account = await service.account();
    const { key } = account;
    const hint = `${key.slice(0, 6)}…${key.slice(-4)}`;
    for (const q of [hint, hint.replace('…', '...'), key]) {
      assert.deepEqual(await found(q), [account.email], q);
      const { data } = await ask(`/accounts?q=${encodeURIComponent(q)}`);
      assert.equal(data[0].matched[0].by, 'key');
      assert.ok(data[0].matched[0].said.endsWith(hint), data[0].matched[0].said);
    }
    assert.ok((await found(key.slice(0, 6))).includes(account.email));
    assert.ok((await found(key.slice(0, 20))).includes(account.email));
    const wrong = `${key.slice(0, 6)}…${key.endsWith('0000') ? '1111' : '0000'}`;
    assert.deepEqual(await found(wrong), []);
    assert.deepEqual(await found('fbx_'), []);
  });

  test('by a voucher, once it is redeemed there', async () => {
    const account = await service.account();
    const owner = await person(service, { [account.account_id]: 'owner' });
    const body = { amount_usd_micro: '1000000', count: 1, note: 'spring-course 2031' };
    const [{ code, id }] = (await act('POST', '/vouchers', body)).body.data;
    const ways = [code, code.toLowerCase(), `FB-…${code.slice(-4)}`, 'spring cour', id];
    for (const q of ways) assert.deepEqual(await found(q), [], q);
    const redeemed = await owner.of(account.account_id).call('POST', '/vouchers', { code });
    assert.equal(redeemed.status, 200, redeemed.text);
    for (const q of ways) {
      assert.deepEqual(await found(q), [account.email], q);
      assert.deepEqual(await matched(q), ['voucher'], q);
    }
  });

  test('a page after the other, newest first, each once', async () => {
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await ask(`/accounts?limit=2${cursor && `&cursor=${cursor}`}`);
      assert.ok(page.data.length <= 2);
      seen.push(...page.data.map((row: { account_id: string }) => row.account_id));
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual(seen, [...new Set(seen)].sort().reverse());
    assert.ok(seen.includes(id));
  });

  test('not by a parameter that is none', async () => {
    for (const query of ['limit=0', 'limit=101', 'cursor=x', 'only=rich']) {
      const { status } = await operator.call('GET', `/api/operator/accounts?${query}`);
      assert.equal(status, 400, query);
    }
  });
});

describe('money that an operator books', () => {
  test('for two accounts under one reference, at once, is booked for one and refused for the other', async () => {
    const accounts = [await service.account({ usd: 0 }), await service.account({ usd: 0 })];
    const body = { amount_usd_micro: '3000000', reference: 'contested', source: 'paid' };
    const replies = await Promise.all(
      accounts.map((account) => act('POST', at(account, '/credits'), body)),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409]);
    const refused = replies.find(({ status }) => status === 409)!;
    assert.match(refused.body.error.message, /was already used for another booking/);
    const sums = await Promise.all(accounts.map((account) => service.balance(account)));
    assert.equal(sums[0]!.available + sums[1]!.available, 3_000_000n);
    const { data } = await ask('/log?action=account.credit&limit=100');
    const logged = data.filter(
      ({ details }: { details: { reference: string } }) => details.reference === 'contested',
    );
    assert.equal(logged.length, 1);
  });

  test('shows what a reference was booked for before', async () => {
    const account = await service.account({ usd: 0 });
    assert.deepEqual(await ask('/references?reference=once'), { booked: null });
    const body = { amount_usd_micro: '1000000', reference: 'once', source: 'paid' };
    await act('POST', at(account, '/credits'), body);
    const { booked } = await ask('/references?reference=%20once%20');
    assert.equal(booked.email, account.email);
    assert.equal(booked.amount_usd_micro, '1000000');
    assert.equal(booked.kind, 'deposit');
  });

  test('keeps its sources apart, in the sums of the account and of the service', async () => {
    const account = await service.account({ usd: 2 });
    const before: Sums = (await ask('/overview')).deposits;
    const body = { amount_usd_micro: '300000', reference: 'spring fair', source: 'bonus' };
    assert.equal((await act('POST', at(account, '/credits'), body)).status, 201);
    const paid = { ...body, source: 'paid' };
    assert.equal((await act('POST', at(account, '/credits'), paid)).status, 409);
    for (const source of ['chain', 'voucher', 'gift']) {
      const reply = await act('POST', at(account, '/credits'), { ...body, source });
      assert.deepEqual([reply.status, reply.body.error.param], [400, 'source']);
    }
    const { deposits } = await ask(at(account));
    assert.deepEqual(deposits, [
      { source: 'paid', amount_usd_micro: '2000000' },
      { source: 'bonus', amount_usd_micro: '300000' },
    ]);
    const { data } = await ask(at(account, '/statement'));
    assert.deepEqual(
      data.map((row: { source: string }) => row.source),
      ['bonus', 'paid'],
    );
    assert.equal((await ask('/references?reference=spring%20fair')).booked.source, 'bonus');
    const after: Sums = (await ask('/overview')).deposits;
    assert.equal(sumOf(after, 'bonus') - sumOf(before, 'bonus'), 300_000n);
    assert.equal(sumOf(after, 'paid'), sumOf(before, 'paid'));
    await service.audit();
  });

  test('is given until a day, after which its unspent part goes back', async () => {
    const account = await service.account({ usd: 2 });
    const body = { amount_usd_micro: '300000', reference: 'until then', source: 'bonus' };
    const wanted = { ...body, expires_at: '2099-12-31T23:59:59.999Z' };
    const booked = await act('POST', at(account, '/credits'), wanted);
    assert.equal(booked.status, 201, booked.text);
    const again = await act('POST', at(account, '/credits'), wanted);
    assert.deepEqual(again.body, { ...booked.body, replayed: true });
    const past = { ...wanted, reference: 'over', expires_at: '2020-01-01T00:00:00.000Z' };
    assert.equal((await act('POST', at(account, '/credits'), past)).status, 400);
    await service.app.worker!.sweep();
    assert.equal((await service.balance(account)).available, 2_300_000n);
    await passEnds(service.db, account.account_id, 36_500);
    await service.app.worker!.sweep();
    await service.app.worker!.sweep();
    assert.equal((await service.balance(account)).available, 2_000_000n);
    const { data } = await ask(at(account, '/statement'));
    assert.deepEqual(
      data.map((row: { kind: string; change_usd_micro: string }) => [
        row.kind,
        row.change_usd_micro,
      ]),
      [
        ['expiry', '-300000'],
        ['deposit', '300000'],
        ['deposit', '2000000'],
      ],
    );
    await service.audit();
  });

  test('is taken back beyond the balance as a debt, if the operator allows it', async () => {
    const account = await service.account({ usd: 2 });
    const { call } = (await person(service, { [account.account_id]: 'read_only' })).of(
      account.account_id,
    );
    const body = { amount_usd_micro: '-5000000', reference: 'dispute 1', reason: 'chargeback' };
    assert.equal((await act('POST', at(account, '/adjustments'), body)).status, 400);
    const allowed = { ...body, allows_debt: true };
    const booked = await act('POST', at(account, '/adjustments'), allowed);
    assert.deepEqual(
      [booked.status, booked.body.available_usd_micro, booked.body.debt_usd_micro],
      [201, '0', '3000000'],
    );
    assert.equal((await ask(at(account))).debt_usd_micro, '3000000');
    assert.equal((await ask('/overview')).debt_usd_micro, '3000000');
    assert.equal((await call('GET', '/overview')).body.debt_usd_micro, '3000000');
    const paid = { amount_usd_micro: '3000001', reference: 'pays the debt', source: 'paid' };
    assert.equal((await act('POST', at(account, '/credits'), paid)).body.debt_usd_micro, '0');
    assert.equal((await service.balance(account)).available, 1n);
    const { data } = (await call('GET', '/statement?kind=debt')).body;
    assert.deepEqual(
      data.map((row: { change_usd_micro: string }) => row.change_usd_micro),
      ['-3000000', '3000000'],
    );
    await service.audit();
  });

  test('is corrected with a reason, and never below zero', async () => {
    const account = await service.account({ usd: 2 });
    const body = { amount_usd_micro: '-1500000', reference: 'fix 1', reason: 'twice by bank' };
    assert.equal((await act('POST', at(account, '/adjustments'), body)).status, 201);
    const again = { ...body, reference: 'fix 2' };
    assert.equal((await act('POST', at(account, '/adjustments'), again)).status, 400);
    const nothing = { ...body, reference: 'fix 3', reason: '' };
    assert.equal((await act('POST', at(account, '/adjustments'), nothing)).status, 400);
    assert.equal((await service.balance(account)).available, 500_000n);
    const { data } = await ask(at(account, '/statement'));
    assert.deepEqual(
      data.map((row: { kind: string; reason: string | null }) => [row.kind, row.reason]),
      [
        ['adjustment', 'twice by bank'],
        ['deposit', null],
      ],
    );
    await service.audit();
  });
});

describe('a price multiplier', () => {
  test('is the same in estimate, reservation and charge, from the next call on', async () => {
    const account = await service.account({ usd: 1 });
    const { key } = account;
    const input = { prompt: 'a cat', num_images: 1 };
    const estimate = async () =>
      (
        await service.call('POST', '/v1/estimate', {
          key,
          body: { model_id: 'fake/image', input },
        })
      ).body;
    assert.equal((await estimate()).price_multiplier, undefined);
    const list = await service.call('POST', '/v1/queue/fake/image', { key, body: input });
    assert.equal((await act('PUT', at(account, '/price'), { price_ppm: 333_333 })).status, 200);
    const told = await estimate();
    assert.equal(told.price_multiplier, 0.333333);
    // 10,000 × 0.333333, rounded up once.
    assert.equal(told.price_usd_micro, '3334');
    const sent = await service.call('POST', '/v1/queue/fake/image', { key, body: input });
    assert.equal(sent.body.quoted_usd_micro, '3334');
    assert.equal((await service.balance(account)).reserved, 13_334n);
    // A queued request keeps its price when the account's price changes.
    await act('PUT', at(account, '/price'), { price_ppm: 0 });
    await service.work();
    const card = async (id: string) =>
      (await service.call('GET', `/v1/requests/${id}`, { key })).body;
    assert.equal((await card(list.body.request_id)).charged_usd_micro, '10000');
    const cheaper = await card(sent.body.request_id);
    assert.equal(cheaper.charged_usd_micro, '3334');
    assert.equal(cheaper.price.unit_price_usd_micro, '3334');
    assert.equal((await estimate()).price_usd_micro, '0');
    const { body: models } = await service.call('GET', '/v1/models');
    assert.equal(models.data.find(({ id }: { id: string }) => id === 'fake/image').price, 0.01);
    await service.audit();
  });

  test('of 0 makes chat free, with an empty balance too', async () => {
    const account = await service.account({ usd: 0 });
    const body = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };
    const call = () => account.post('/v1/chat/completions', body);
    assert.equal((await call()).status, 402);
    await act('PUT', at(account, '/price'), { price_ppm: 0 });
    const reply = await call();
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('x-charge-usd-micro'), '0');
    await service.audit();
  });

  for (const price_ppm of [-1, 100_000_001, 0.5, '1000000', null]) {
    test(`of ${JSON.stringify(price_ppm)} millionths is none`, async () => {
      const account = await service.account();
      const reply = await act('PUT', at(account, '/price'), { price_ppm });
      assert.equal(reply.status, 400);
      assert.equal(reply.body.error.param, 'price_ppm');
    });
  }
});

describe('an account', () => {
  test('that is suspended can only read; resumed, it works again', async () => {
    const account = await service.account();
    const owner = await person(service, { [account.account_id]: 'owner' });
    const use = async () => (await account.get('/v1/requests')).status;
    const run = async () => {
      const path = '/v1/queue/fake/image';
      return (await owner.of(account.account_id).call('POST', path, { prompt: 'x' })).status;
    };
    assert.deepEqual([await use(), await run()], [200, 202]);
    await act('POST', at(account, '/suspend'));
    assert.deepEqual([await use(), await run()], [401, 403]);
    assert.equal((await owner.of(account.account_id).call('GET', '/balance')).status, 200);
    await act('POST', at(account, '/resume'));
    assert.deepEqual([await use(), await run()], [200, 202]);
  });

  test('of operators cannot be taken from them by themselves', async () => {
    const { accounts } = (await operator.call('GET', '/api/me')).body;
    const own = { account_id: accounts[0].account_id } as TestAccount;
    const tries = [
      await act('POST', at(own, '/suspend')),
      await act('PUT', at(own, '/operator'), { is_operator: false }),
    ];
    assert.deepEqual(
      tries.map(({ status }) => status),
      [400, 400],
    );
    assert.equal((await ask(at(own))).is_operator, true);
  });

  test('that becomes an operator’s opens the console to its owners only, while it is one', async () => {
    const account = await service.account();
    const owner = await person(service, { [account.account_id]: 'owner' });
    const developer = await person(service, { [account.account_id]: 'developer' });
    const look = async (who: Person) => (await who.call('GET', '/api/operator/overview')).status;
    assert.deepEqual([await look(owner), await look(developer)], [404, 404]);
    await act('PUT', at(account, '/operator'), { is_operator: true });
    assert.deepEqual([await look(owner), await look(developer)], [200, 404]);
    await act('PUT', at(account, '/operator'), { is_operator: false });
    assert.deepEqual([await look(owner), await look(developer)], [404, 404]);
  });

  test('has the limits of a key changed, each by itself', async () => {
    const account = await service.account();
    const limits = { monthly_limit_usd_micro: '5000', rpm: null, open_jobs: 3 };
    const path = `/keys/${account.key_id}`;
    const right = await act('PATCH', path, limits);
    const { monthly_limit_usd_micro, rpm, open_jobs } = right.body;
    assert.deepEqual({ monthly_limit_usd_micro, rpm, open_jobs }, limits, right.text);
    const call = { key: account.key, body: { prompt: 'a cat' } };
    const sent = await service.call('POST', '/v1/queue/fake/image', call);
    assert.equal(sent.body.error.code, 'key_limit_reached');
    assert.equal((await act('PATCH', path, { rpm: 7 })).body.rpm, 7);
    const key = (await ask(at(account, '/keys'))).data[0];
    assert.deepEqual([key.rpm, key.open_jobs, key.monthly_limit_usd_micro], [7, 3, '5000']);
  });

  test('lists its keys in pages, revoked ones too, and no other’s', async () => {
    const account = await service.account();
    const made = [account.key_id];
    const limits = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
    for (const name of ['second', 'third']) {
      const { account_id } = account;
      made.push((await createKey(service.db, { account_id, name, ...limits })).key_id);
    }
    await service.db.run(rawSql('update keys set revoked_at = now() where id = $1', [made[0]]));
    const first = await ask(at(account, '/keys?limit=2'));
    const second = await ask(at(account, `/keys?limit=2&cursor=${first.next_cursor}`));
    assert.deepEqual(
      [...first.data, ...second.data].map(({ key_id, state }: any) => [key_id, state]),
      [
        [made[2], 'active'],
        [made[1], 'active'],
        [made[0], 'revoked'],
      ],
    );
    assert.equal(second.next_cursor, null);
    const nowhere = { ...account, account_id: newId() };
    const missing = await operator.call('GET', `/api/operator${at(nowhere, '/keys')}`);
    assert.equal(missing.status, 404);
  });

  test('shows its requests with upstream, cost and margin; its people never see them', async () => {
    const account = await service.account();
    const owner = await person(service, { [account.account_id]: 'owner' });
    const call = { key: account.key, body: { prompt: 'a cat' } };
    const sent = await service.call('POST', '/v1/queue/fake/image', call);
    await service.work();
    const [row] = (await ask(`/requests?account_id=${account.account_id}`)).data;
    const { upstream, charged_usd_micro, cost_usd_micro, margin_usd_micro } = row;
    assert.deepEqual(
      [upstream, charged_usd_micro, cost_usd_micro, margin_usd_micro],
      ['fake', '10000', '4000', '6000'],
    );
    const path = `/v1/requests/${sent.body.request_id}`;
    const { text } = await owner.of(account.account_id).call('GET', path);
    assert.doesNotMatch(text, /cost|margin|"upstream"/);
  });

  test('shows what each movement changed, so that no request looks taken twice', async () => {
    const account = await service.account({ usd: 5 });
    const call = { key: account.key, body: { prompt: 'a cat' } };
    const { body } = await service.call('POST', '/v1/queue/fake/image', call);
    await service.work();
    const { data } = await ask(at(account, '/statement'));
    type Row = Record<string, string | null>;
    assert.deepEqual(
      data.map((row: Row) => [row.kind, row.change_usd_micro, row.model_id, row.request_id]),
      [
        ['charge', '0', 'fake/image', body.request_id],
        ['reserve', '-10000', 'fake/image', body.request_id],
        ['deposit', '5000000', null, null],
      ],
    );
  });

  test('with a first credit and a link is made completely, or not at all', async () => {
    const taken = await service.account();
    const body = { email: 'whole@example.com', credit_usd_micro: '4000000', invite: true };
    const reference = `test ${taken.account_id}`;
    const refused = await act('POST', '/accounts', { ...body, reference });
    assert.equal(refused.status, 409);
    assert.deepEqual(await found('whole@example.com'), []);
    const made = await act('POST', '/accounts', { ...body, reference: 'whole 1' });
    assert.equal(made.status, 201, made.text);
    const token = new URL(made.body.invitation_link).searchParams.get('token');
    const form = { name: 'Ada', email: 'whole@example.com', password: 'a long password', token };
    assert.equal((await stranger(service).call('POST', '/api/sign-up', form)).status, 200);
    const { people, available_usd_micro } = await ask(`/accounts/${made.body.account_id}`);
    assert.equal(people[0].role, 'owner');
    assert.equal(available_usd_micro, '4000000');
  });

  test('gives people links to a new password', async () => {
    const account = await service.account();
    const ada = await person(service, { [account.account_id]: 'owner' });
    const nobody = account.account_id;
    assert.equal((await act('POST', `/people/${nobody}/reset-link`)).status, 404);
    const { body } = await act('POST', `/people/${ada.id}/reset-link`);
    const token = new URL(body.link).searchParams.get('token');
    const set = await stranger(service).call('POST', '/api/auth/reset-password', {
      newPassword: 'a whole new one',
      token,
    });
    assert.equal(set.status, 200);
    assert.equal((await ada.signIn()).status, 401);
  });
});
