/** Acts of operators on people, by role: with sessions, keys and commands. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OperatorRole } from '../../../src/core/account/operator-role.ts';
import { runCommand } from '../../../src/commands/program.ts';
import * as accounts from '../../../src/db/accounts/accounts.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { traces } from '../../kit/traces.ts';
import {
  before,
  operatorOf,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';
import { logRows, operatorKey, secretsIn, withRows } from './world.ts';

const { service } = withWebService();
let operators: Record<OperatorRole, Person>;
before(async () => {
  operators = {
    owner: await operatorOf(service),
    support: await operatorOf(service, 'support'),
    read_only: await operatorOf(service, 'read_only'),
  };
});

const by = (who: Person, method: string, path: string, body?: object) =>
  withRows(service, () => who.call(method, `/api/operator${path}`, body));
const act = (method: string, path: string, body?: object) =>
  by(operators.owner, method, path, body);

/** A customer's account with an owner and another person. */
async function family() {
  const account = await service.account({ usd: 3 });
  const ada = await person(service, { [account.account_id]: 'owner' });
  const ben = await person(service, { [account.account_id]: 'billing' });
  return { account, ada, ben };
}

describe('a person of an account', () => {
  test('is listed with their role, and with that on the console', async () => {
    const { account, ada, ben } = await family();
    const { reply } = await act('GET', `/accounts/${account.account_id}/people`);
    type Row = Record<string, unknown>;
    assert.deepEqual(
      reply.body.data.map(({ person_id, role, operator_role }: Row) => [
        person_id,
        role,
        operator_role,
      ]),
      [
        [ada.id, 'owner', null],
        [ben.id, 'billing', null],
      ],
    );
    const [own] = await service.db.run<{ account_id: string }>(sql`
      select account_id from members where person_id = ${operators.support.id}`);
    const crew = await act('GET', `/accounts/${own!.account_id}/people`);
    const roles = crew.reply.body.data.map((row: Row) => [row.role, row.operator_role]);
    assert.deepEqual(roles, [
      ['owner', 'owner'],
      ['read_only', 'support'],
    ]);
    assert.equal((await act('GET', `/accounts/${ada.id}/people`)).reply.status, 404);
  });

  test('gets another name, address or role, each with its row in the log', async () => {
    const { account, ben } = await family();
    const { account_id } = account;
    const change = (body: object) => act('PATCH', `/people/${ben.id}`, body);
    const named = await change({ name: ' Benedict ' });
    assert.equal(named.reply.body.name, 'Benedict');
    const moved = await change({ email: 'Benedict@Example.com' });
    assert.equal(moved.reply.body.email, 'benedict@example.com');
    assert.equal((await ben.call('GET', '/api/me')).status, 401);
    const promoted = await change({ account_id, role: 'developer' });
    assert.equal(promoted.reply.status, 200, promoted.reply.text);
    const rows = [named, moved, promoted].flatMap((each) => each.rows);
    assert.deepEqual(
      rows.map((row) => [row.action, row.target, row.account_id, row.details]),
      [
        [
          'person.change',
          ben.email,
          account_id,
          { name: 'Benedict', before: { name: 'Somebody' } },
        ],
        [
          'person.change',
          ben.email,
          account_id,
          { email: 'benedict@example.com', before: { email: ben.email } },
        ],
        [
          'person.change',
          'benedict@example.com',
          account_id,
          {
            role: 'developer',
            operator_role: null,
            before: { role: 'billing', operator_role: null },
          },
        ],
      ],
    );
  });

  const wrong: [what: string, body: (account_id: string) => object, param: RegExp][] = [
    ['a role without an account', () => ({ role: 'owner' }), /account_id/],
    ['an account without a role', (account_id) => ({ account_id }), /role/],
    [
      'two roles at once',
      (account_id) => ({ account_id, role: 'owner', operator_role: 'owner' }),
      /role/,
    ],
    ['an unknown role', (account_id) => ({ account_id, role: 'king' }), /owner, developer/],
    ['an empty name', () => ({ name: '' }), /name/],
    ['a field that there is not', () => ({ is_operator: true }), /is_operator/],
    [
      "a role on the console in a customer's account",
      (account_id) => ({ account_id, operator_role: 'support' }),
      /operator's account/,
    ],
  ];
  for (const [what, body, says] of wrong) {
    test(`is not changed by ${what}`, async () => {
      const { account, ben } = await family();
      const earlier = await traces(service);
      const { reply, rows } = await act('PATCH', `/people/${ben.id}`, body(account.account_id));
      assert.equal(reply.status, 400, reply.text);
      assert.match(reply.body.error.message, says);
      assert.deepEqual(rows, []);
      assert.deepEqual(await traces(service), earlier);
    });
  }

  test('is signed out everywhere, and signs in again', async () => {
    const { ben, ada } = await family();
    const { reply, rows } = await act('POST', `/people/${ben.id}/sign-out`);
    assert.deepEqual(reply.body, { ended: 1 });
    assert.deepEqual(rows[0]!.details, { browsers: 1 });
    assert.equal((await ben.call('GET', '/api/me')).status, 401);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
    assert.equal((await ben.signIn()).status, 200);
    assert.deepEqual((await act('POST', `/people/${ada.id}/sign-out`)).reply.body, { ended: 1 });
  });

  test('is removed, while the account keeps its money, its keys and its log', async () => {
    const { account, ada, ben } = await family();
    const { reply, rows } = await act('DELETE', `/people/${ben.id}`);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(
      rows.map((row) => [row.action, row.target]),
      [['person.remove', ben.email]],
    );
    assert.equal((await ben.call('GET', '/api/me')).status, 401);
    assert.equal((await ben.signIn()).status, 401);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
    const { body } = await account.get('/v1/balance');
    assert.equal(body.available_usd_micro, '3000000');
    const [left] = await service.db.run<{ n: bigint }>(sql`
      select (select count(*) from sessions where person_id = ${ben.id})
        + (select count(*) from logins where person_id = ${ben.id})
        + (select count(*) from members where person_id = ${ben.id}) as n`);
    assert.equal(left!.n, 0n);
    assert.equal((await act('DELETE', `/people/${ben.id}`)).reply.status, 404);
  });

  test('is not removed by mistake while an account has no other owner', async () => {
    const { account, ada, ben } = await family();
    for (const query of ['', '?leaves_accounts=true']) {
      const { reply, rows } = await act('DELETE', `/people/${ada.id}${query}`);
      assert.equal(reply.status, 400);
      assert.equal(reply.body.error.details.reason, 'owner_last');
      assert.match(reply.body.error.message, new RegExp(account.email));
      assert.deepEqual(rows, []);
    }
    assert.equal((await act('DELETE', `/people/${ben.id}`)).reply.status, 200);
    const alone = await act('DELETE', `/people/${ada.id}`);
    assert.equal(alone.reply.body.error.details.reason, 'person_last');
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
    const gone = await act('DELETE', `/people/${ada.id}?leaves_accounts=true`);
    assert.equal(gone.reply.status, 200, gone.reply.text);
    assert.deepEqual(gone.rows[0]!.details, { accounts: 1, empty: [account.email] });
    assert.equal((await account.get('/v1/balance')).body.available_usd_micro, '3000000');
  });

  test('who runs the service alone, or acts, cannot be removed', async () => {
    const self = await act('DELETE', `/people/${operators.owner.id}`);
    assert.equal(self.reply.body.error.details.reason, 'own_console');
    const other = await operatorOf(service);
    const last = await act('DELETE', `/people/${other.id}?leaves_accounts=true`);
    assert.equal(last.reply.body.error.details.reason, 'owner_last');
    assert.equal((await act('DELETE', `/people/${operators.support.id}0`)).reply.status, 404);
  });
});

describe('a role on the console', () => {
  const acts = (id: string): [method: string, path: string, body?: object][] => [
    ['PATCH', `/people/${id}`, { name: 'Eve' }],
    ['PATCH', `/people/${id}`, { email: 'eve@example.com' }],
    ['DELETE', `/people/${id}`],
    ['POST', `/people/${id}/sign-out`],
    ['POST', `/people/${id}/reset-two-factors`],
    ['POST', `/people/${id}/reset-link`],
  ];

  test('of support reaches customers, and nobody who runs the service', async () => {
    const other = await operatorOf(service);
    const earlier = await traces(service);
    for (const target of [operators.owner, operators.read_only, other])
      for (const [method, path, body] of acts(target.id)) {
        const { reply, rows } = await by(operators.support, method, path, body);
        assert.equal(reply.status, 400, `${method} ${path} ${reply.text}`);
        assert.equal(reply.body.error.details.reason, 'operator_account');
        assert.deepEqual(rows, []);
      }
    assert.deepEqual(await traces(service), earlier);
    const { ben } = await family();
    const link = await by(operators.support, 'POST', `/people/${ben.id}/reset-link`);
    assert.match(link.reply.body.link, /\/reset\?token=/);
    for (const secret of secretsIn(link.reply.body))
      assert.ok(!link.rows[0]!.text.includes(secret));
  });

  test('of support changes the keys of customers, and none of those who run the service', async () => {
    const crew = await service.account({ usd: 3 });
    await accounts.setOperator(service.db, crew.account_id, true);
    const { account } = await family();
    const tries = (key_id: string): [string, string, object?][] => [
      ['PATCH', `/keys/${key_id}`, { rpm: 7 }],
      ['PATCH', `/keys/${key_id}`, { monthly_limit_usd_micro: null }],
      ['DELETE', `/keys/${key_id}`],
    ];
    const program = await operatorKey(service, 'keys of all', ['keys']);
    const asKey = (method: string, path: string, body?: object) =>
      service.call(method, `/v1/operator${path}`, { key: program.key, ...(body && { body }) });
    const earlier = await traces(service);
    const made = `/accounts/${crew.account_id}/keys`;
    const created = await asKey('POST', made, { name: 'x' });
    assert.equal(assertRefused(created, 'bad_request').details.reason, 'operator_account');
    for (const [method, path, body] of tries(crew.key_id)) {
      const { reply, rows } = await by(operators.support, method, path, body);
      assert.equal(reply.status, 400, `${method} ${path} ${reply.text}`);
      assert.equal(reply.body.error.details.reason, 'operator_account');
      assert.deepEqual(rows, []);
      const bound = assertRefused(await asKey(method, path, body), 'bad_request');
      assert.equal(bound.details.reason, 'operator_account');
    }
    assert.deepEqual(await traces(service), earlier);
    for (const [method, path, body] of tries(account.key_id)) {
      const { reply } = await by(operators.support, method, path, body);
      assert.equal(reply.status, 200, reply.text);
    }
    assert.equal((await act('POST', made, { name: 'own' })).reply.status, 201);
  });

  test('below the owner’s says clearly what it may not do', async () => {
    const { account, ben } = await family();
    const refusals: [OperatorRole, string, string, object, string][] = [
      ['read_only', 'POST', `/people/${ben.id}/sign-out`, {}, 'accounts'],
      ['read_only', 'DELETE', `/keys/${account.key_id}`, {}, 'keys'],
      ['support', 'PUT', `/accounts/${account.account_id}/price`, { price_ppm: 0 }, 'money'],
      ['support', 'PUT', `/accounts/${account.account_id}/operator`, { is_operator: true }, 'own'],
      ['support', 'POST', `/accounts/${account.account_id}/keys`, { name: 'x' }, 'money'],
      ['support', 'POST', '/vouchers', { amount_usd_micro: '5', count: 1 }, 'money'],
      ['support', 'POST', '/operator-keys', { name: 'x', scopes: ['money'] }, 'own'],
    ];
    const earlier = await traces(service);
    for (const [role, method, path, body, scope] of refusals) {
      const { reply, rows } = await by(operators[role], method, path, body);
      assert.equal(reply.status, 403, reply.text);
      assert.deepEqual(reply.body.error.details, { reason: 'operator_role_too_low', role, scope });
      assert.match(reply.body.error.message, new RegExp(`Your role, ${role},`));
      assert.deepEqual(rows, []);
    }
    assert.deepEqual(await traces(service), earlier);
    const credit = { email: 'rich@example.com', credit_usd_micro: '5', reference: 'rich 1' };
    const rich = await by(operators.support, 'POST', '/accounts', credit);
    assert.equal(rich.reply.status, 403, rich.reply.text);
  });

  test('is given by an invitation, shown to its person, and ends with the account’s', async () => {
    const [own] = await service.db.run<{ account_id: string }>(sql`
      select account_id from members where person_id = ${operators.owner.id}`);
    const { account_id } = own!;
    const at = `/accounts/${account_id}/invitations`;
    const body = { email: 'helper@example.com', operator_role: 'support' };
    const bySupport = await by(operators.support, 'POST', at, body);
    assert.equal(bySupport.reply.body.error.details.reason, 'operator_account');
    const { reply, rows } = await act('POST', at, body);
    assert.equal(reply.status, 201, reply.text);
    assert.deepEqual(rows[0]!.details, { role: 'read_only', operator_role: 'support' });
    const helper = await joined('helper@example.com', reply.body.link);
    const { operator, is_operator } = (await helper.call('GET', '/api/me')).body;
    assert.deepEqual(
      [is_operator, operator],
      [true, { role: 'support', rights: ['read', 'accounts', 'keys'] }],
    );
    const person_id = (await helper.call('GET', '/api/me')).body.person_id;
    const low = { account_id, operator_role: 'read_only' };
    assert.equal((await act('PATCH', `/people/${person_id}`, low)).reply.status, 200);
    assert.equal((await helper.call('GET', '/api/operator/accounts')).status, 200);
    assert.equal((await helper.call('POST', '/api/operator/invitations', {})).status, 403);
    const plain = { account_id, role: 'read_only' };
    assert.equal((await act('PATCH', `/people/${person_id}`, plain)).reply.status, 200);
    assert.equal((await helper.call('GET', '/api/operator/accounts')).status, 404);
  });

  test('below the owner’s ends the invitations that its person made as an owner', async () => {
    const former = await operatorOf(service);
    const [own] = await service.db.run<{ account_id: string }>(sql`
      select account_id from members where person_id = ${former.id}`);
    const { account_id } = own!;
    await person(service, { [account_id]: 'owner' });
    const at = `/accounts/${account_id}/invitations`;
    const body = { email: 'late@example.com', operator_role: 'owner' };
    const { reply } = await by(former, 'POST', at, body);
    assert.equal(reply.status, 201, reply.text);
    await service.db.run(sql`
      update members set role = 'read_only', operator_role = 'support'
      where person_id = ${former.id}`);
    const token = new URL(reply.body.link).searchParams.get('token');
    const form = { name: 'Late', email: body.email, password: 'correct horse battery', token };
    await stranger(service).call('POST', '/api/sign-up', form);
    const members = await service.db.run(sql`
      select from members m join people p on p.id = m.person_id
      where m.account_id = ${account_id} and p.email = ${body.email}`);
    assert.equal(members.length, 0);
  });

  test('ends when the account is no operator’s, and does not come back with it', async () => {
    const crew = await operatorOf(service, 'support');
    const [own] = await service.db.run<{ account_id: string }>(sql`
      select account_id from members where person_id = ${crew.id}`);
    const at = `/accounts/${own!.account_id}/operator`;
    for (const is_operator of [false, true])
      assert.equal((await act('PUT', at, { is_operator })).reply.status, 200);
    assert.equal((await crew.call('GET', '/api/operator/accounts')).status, 404);
  });
});

/** Signs up with the link of an invitation. */
async function joined(email: string, link: string): Promise<Person> {
  const token = new URL(link).searchParams.get('token');
  const form = { name: 'Helper', email, password: 'correct horse battery', token };
  assert.equal((await stranger(service).call('POST', '/api/sign-up', form)).status, 200);
  const made = visitorOf(service, '', email);
  assert.equal((await made.signIn()).status, 200);
  return made;
}

test('two operators set the banner at once, and one of the texts stays', async () => {
  for (let n = 0; n < 10; n++) {
    const texts = ['one', 'two', 'three'];
    const done = await Promise.all(texts.map((en) => act('PUT', '/banner', { en, ru: null })));
    assert.deepEqual(
      done.map(({ reply }) => reply.status),
      [200, 200, 200],
    );
  }
  assert.equal((await act('PUT', '/banner', { en: null, ru: null })).reply.status, 200);
});

test('a banner is as long as its schema says, and has nothing invisible', async () => {
  const films = '🎬'.repeat(500);
  const { reply } = await act('PUT', '/banner', { en: films, ru: 'one\r\ntwo' });
  assert.deepEqual([reply.body.banner.en, reply.body.banner.ru], [films, 'one\ntwo']);
  for (const en of ['pay \u202eereh', 'one\ttwo']) {
    const refused = await act('PUT', '/banner', { en });
    assert.equal(refused.reply.status, 400);
    assert.equal(refused.reply.body.error.details.reason, 'banner_invalid');
    assert.deepEqual(refused.rows, []);
  }
  await act('PUT', '/banner', {});
});

test('browsers whose session was over do not count as signed out', async () => {
  const { ben } = await family();
  await service.db.run(sql`
    update sessions set expires_at = now() - interval '1 s' where person_id = ${ben.id}`);
  assert.deepEqual((await act('POST', `/people/${ben.id}/sign-out`)).reply.body, { ended: 0 });
});

test('no key changes an address, or acts on somebody who runs the service', async () => {
  const key = await operatorKey(service, 'people', ['accounts', 'read']);
  const { ben } = await family();
  const call = (method: string, path: string, body?: object) =>
    withRows(service, () =>
      service.call(method, `/v1/operator${path}`, { key: key.key, ...(body && { body }) }),
    );
  const moved = await call('PATCH', `/people/${ben.id}`, { email: 'eve@example.com' });
  assert.equal(assertRefused(moved.reply, 'bad_request').details.reason, 'key_signs_in');
  const refused = await call('POST', `/people/${operators.owner.id}/sign-out`);
  assert.equal(assertRefused(refused.reply, 'bad_request').details.reason, 'operator_account');
  assert.deepEqual([...moved.rows, ...refused.rows], []);
  const named = await call('PATCH', `/people/${ben.id}`, { name: 'Ben' });
  assert.equal(named.reply.status, 200, named.reply.text);
  assert.equal(named.rows[0]!.by_email, 'operator key people');
});

test('each command about a person leaves its row in the log, and no secret', async () => {
  const { account, ada, ben } = await family();
  const run = async (...args: string[]) => {
    const said: string[] = [];
    const out = (text: string) => void said.push(text);
    const code = await runCommand([...args, '--json'], { out, err: out, db: service.db, env: {} });
    return { code, said: said.join('\n') };
  };
  const commands: [string[], action: string][] = [
    [['person', 'invite', 'new@example.com'], 'invitation.create'],
    [['person', 'invite', 'in@example.com', '--account', account.email], 'account.invite'],
    [['person', 'reset-link', ben.email], 'person.reset'],
    [['person', 'sign-out', ben.email], 'person.sign_out'],
    [['person', 'reset-two-factors', ben.email], 'person.reset_two_factors'],
    [['person', 'disable-2fa', ben.email], 'person.reset_two_factors'],
    [['person', 'change', ben.email, '--name', 'Ben'], 'person.change'],
    [
      ['person', 'change', ben.email, '--account', account.email, '--role', 'owner'],
      'person.change',
    ],
    [['person', 'email', ben.email, 'ben2@example.com'], 'person.change'],
    [['person', 'remove', 'ben2@example.com'], 'person.remove'],
  ];
  for (const [args, action] of commands) {
    const { reply, rows } = await withRows(service, () => run(...args));
    assert.equal(reply.code, 0, `${args.join(' ')}: ${reply.said}`);
    assert.deepEqual(
      rows.map((row) => [row.action, row.by_email]),
      [[action, 'command line']],
    );
    for (const secret of secretsIn(reply.said)) assert.ok(!rows[0]!.text.includes(secret));
  }
  const logged = (await logRows(service)).length;
  const last = await run('person', 'remove', ada.email);
  assert.equal(last.code, 2);
  assert.match(last.said, /only person of the account/);
  const several = await run('operator', 'invite', 'x@example.com', '--role', 'support');
  assert.equal(several.code, 2);
  assert.match(several.said, /several operator's accounts/);
  assert.equal((await logRows(service)).length, logged);
  const list = await run('operator', 'list');
  assert.match(list.said, new RegExp(`${operators.support.email}.*support`));
});
