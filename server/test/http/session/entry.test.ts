/** Signing up, signing in and invitations, and what strangers must not learn or forge. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from '../../../src/lib/sql/sql.ts';
import { createAccount } from '../../../src/operations/accounts/account.ts';
import { invite, resetLink } from '../../../src/operations/accounts/person.ts';
import {
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Answer,
} from '../../kit/web.ts';

const { service } = withWebService();

const accountsOf = async (email: string) =>
  service.db.run<{ role: string; email: string }>(sql`
    select m.role, a.email from members m join people p on p.id = m.person_id
       join accounts a on a.id = m.account_id where p.email = ${email}`);
const signUp = (email: string, more: object = {}) =>
  stranger(service).call('POST', '/api/sign-up', { name: 'Ada', email, password, ...more });

describe('signing up', () => {
  test('makes a person who owns an empty account and can sign in', async () => {
    assert.equal((await signUp('ada@example.com')).status, 200);
    assert.deepEqual(await accountsOf('ada@example.com'), [
      { role: 'owner', email: 'ada@example.com' },
    ]);
    const ada = visitorOf(service, '', 'ada@example.com');
    assert.equal((await ada.signIn()).status, 200);
    const { body } = await ada.call('GET', '/api/me');
    assert.equal(body.is_operator, false);
    const [account] = body.accounts;
    const balance = await ada.of(account.account_id).call('GET', '/balance');
    assert.deepEqual(balance.body, {
      available_usd_micro: '0',
      debt_usd_micro: '0',
      reserved_usd_micro: '0',
    });
  });

  test('is refused with invisible characters in the name', async () => {
    const { status, body } = await signUp('odd@example.com', { name: 'A\u202Eda' });
    assert.equal(status, 400);
    assert.match(body.error.message, /invisible/);
    assert.deepEqual(await accountsOf('odd@example.com'), []);
  });

  test('with an address that is taken answers the same, and changes nothing', async () => {
    const first = await signUp('twice@example.com');
    const second = await signUp('Twice@Example.com', { password: 'another password' });
    assert.deepEqual([second.status, second.body], [first.status, first.body]);
    assert.equal((await visitorOf(service, '', 'twice@example.com').signIn()).status, 200);
    assert.equal((await accountsOf('twice@example.com')).length, 1);
  });

  test('does not take over an account that an operator has made for the address', async () => {
    const { id } = await createAccount(service.db, {
      email: 'made@example.com',
      is_operator: false,
      first_deposit: 5_000_000n,
    });
    assert.equal((await signUp('made@example.com')).status, 200);
    const [own] = await accountsOf('made@example.com');
    assert.notEqual(own!.email, 'made@example.com');
    const made = visitorOf(service, '', 'made@example.com');
    await made.signIn();
    assert.equal((await made.of(id).call('GET', '/balance')).status, 404);
  });

  for (const [what, wrong] of Object.entries({
    'a short password': { password: 'short' },
    'no name': { name: '' },
    'no address': { email: 'nobody' },
    'a name with a line break': { name: 'a\nb' },
  })) {
    test(`with ${what} is refused, and makes nobody`, async () => {
      const email = `wrong-${what.replaceAll(' ', '-')}@example.com`;
      const reply = await signUp(email, wrong);
      assert.equal(reply.status, 400);
      assert.equal((await accountsOf(email)).length, 0);
    });
  }
});

describe('signing in', () => {
  test('sets a cookie that no script reads and no other site sends', async () => {
    const ada = await person(service);
    const { headers } = await ada.signIn();
    const cookie = headers.getSetCookie().find((line) => line.includes('session_token'))!;
    assert.match(cookie, /^farebox\.session_token=/);
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Path=/'])
      assert.ok(cookie.includes(attribute), attribute);
    // The tests' service is at localhost, where Safari would not keep a secure cookie.
    assert.doesNotMatch(cookie, /Secure/);
    assert.doesNotMatch(cookie, /Domain/i);
  });

  test('with a wrong password and with an unknown address fails alike', async () => {
    const ada = await person(service);
    const wrong = { email: ada.email, password: 'wrong password' };
    const known = await stranger(service).call('POST', '/api/auth/sign-in/email', wrong);
    const unknown = await stranger(service).call('POST', '/api/auth/sign-in/email', {
      ...wrong,
      email: 'nobody@example.com',
    });
    assert.equal(known.status, 401);
    const told = ({ status, body }: Answer) => [status, { ...body.error, request_id: '' }];
    assert.deepEqual(told(unknown), told(known));
    assert.equal(known.headers.getSetCookie().length, 0);
  });

  test('from another site is refused, and signs nobody in', async () => {
    const ada = await person(service);
    ada.cookies.clear();
    const body = { email: ada.email, password };
    const origin = 'https://evil.example';
    const reply = await ada.call('POST', '/api/auth/sign-in/email', body, { origin });
    assert.equal(reply.status, 403);
    assert.equal(ada.cookies.size, 0);
  });

  test('too often for one address is throttled, the right password included', async () => {
    const ada = await person(service);
    const tries = [];
    for (let i = 0; i < 25; i++) tries.push((await ada.signIn()).status);
    assert.equal(tries.at(-1), 429);
  });
});

describe('an invitation', () => {
  test('lets a person with the address into the account, once', async () => {
    const { account_id } = await service.account();
    const email = 'invited@example.com';
    const { token } = await invite(service.db, {
      account_id,
      email,
      role: 'developer',
      invited_by: null,
    });
    assert.equal((await signUp(email, { token })).status, 200);
    const invited = visitorOf(service, '', email);
    await invited.signIn();
    assert.equal((await invited.of(account_id).call('GET', '/balance')).status, 200);
    const again = await invited.call('POST', '/api/invitation/accept', { token });
    assert.equal(again.status, 400);
  });

  test('is useless to another person', async () => {
    const { account_id } = await service.account();
    const { token } = await invite(service.db, {
      account_id,
      email: 'right@example.com',
      role: 'owner',
      invited_by: null,
    });
    const other = await person(service);
    assert.equal((await other.call('POST', '/api/invitation/accept', { token })).status, 400);
    assert.equal((await signUp('other@example.com', { token })).status, 400);
    assert.equal((await other.of(account_id).call('GET', '/balance')).status, 404);
  });
});

describe('a link to a new password', () => {
  test('sets it once, and signs every browser out', async () => {
    const ada = await person(service);
    const token = await resetLink(service.db, ada.email);
    const body = { newPassword: 'a whole new one', token };
    const set = await stranger(service).call('POST', '/api/auth/reset-password', body);
    assert.equal(set.status, 200);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    assert.equal((await ada.signIn()).status, 401);
    const again = await stranger(service).call('POST', '/api/auth/reset-password', body);
    assert.equal(again.status, 400);
  });
});
