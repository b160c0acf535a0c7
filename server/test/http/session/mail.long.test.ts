/** E-mails: their texts, recipients and links. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { openPost, type Post } from '../../kit/post.ts';
import type { Service } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';
import {
  originOf,
  password,
  person,
  startWebService,
  stranger,
  visitorOf,
  type Answer,
} from '../../kit/web.ts';

let post: Post;
let service: Service;
before(async () => {
  post = await openPost();
  service = await startWebService({ env: { FAREBOX_SMTP_URL: post.url } });
});
after(async () => {
  await service.stop();
  await post.close();
});

const signUp = (email: string, more: object = {}) =>
  stranger(service).call('POST', '/api/sign-up', { name: 'Ada', email, password, ...more });
const pathOf = (link: string) => link.slice(originOf(service).length);
const askReset = (email: string) =>
  stranger(service).call('POST', '/api/auth/request-password-reset', {
    email,
    redirectTo: '/reset',
  });
const tokenFor = async (email: string) =>
  new URL((await post.letterTo(email)).links[0]!).searchParams.get('token')!;
const confirm = (token: string, given: string) =>
  stranger(service).call('POST', '/api/confirm', { token, password: given });
const accountsOf = (email: string) =>
  service.db.run(
    rawSql('select from members m join people p on p.id = m.person_id where p.email = $1', [email]),
  );
const isProven = async (email: string) => {
  const [row] = await service.db.run<{ email_verified: boolean }>(
    rawSql('select email_verified from people where email = $1', [email]),
  );
  return row?.email_verified;
};

describe('signing up', () => {
  test('waits for the link in the e-mail, and then for the password', async () => {
    const email = 'ada@example.com';
    assert.deepEqual((await signUp(email)).body, { status: 'check_mail' });
    const ada = visitorOf(service, '', email);
    const refused = await ada.signIn();
    assert.deepEqual(
      [refused.status, refused.body.error.details.reason],
      [403, 'EMAIL_NOT_VERIFIED'],
    );
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    const token = await tokenFor(email);
    const confirmed = await stranger(service).call('POST', '/api/confirm', { token, password });
    assert.deepEqual(confirmed.body, { email });
    assert.equal(confirmed.headers.getSetCookie().length, 0);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    assert.equal((await ada.signIn()).status, 200);
    const { body } = await ada.call('GET', '/api/me');
    assert.equal(body.email_verified, true);
    assert.equal(body.accounts.length, 1);
  });

  test('with a known address answers the same, and its owner gets an e-mail', async () => {
    const known = await person(service);
    const free = await signUp('free@example.com');
    const taken = await signUp(known.email, { password: 'of somebody else' });
    assert.deepEqual([taken.status, taken.body], [free.status, free.body]);
    const letter = await post.letterTo(known.email);
    assert.match(letter.subject, /already have a Farebox account/);
    assert.equal((await known.signIn()).status, 200);
  });

  const begun = Object.entries({
    before: ['of the attacker', password],
    afterwards: [password, 'of the attacker'],
  });
  for (const [who, passwords] of begun) {
    test(`by another person ${who} leaves them no password, whichever e-mail is read`, async () => {
      const email = `victim-${who}@example.com`;
      for (const each of passwords)
        assert.deepEqual((await signUp(email, { password: each, name: each })).body, {
          status: 'check_mail',
        });
      const sent = await until('two letters', () => {
        const all = post.letters.filter(({ to }) => to === email);
        return all.length === 2 && all;
      });
      const link = (kind: RegExp) => sent.flatMap(({ links }) => links).find((l) => kind.test(l))!;
      const first = new URL(link(/confirm/)).searchParams.get('token')!;
      for (const each of passwords) {
        const { status } = await confirm(first, each);
        assert.equal(status, 400, 'a later sign-up ends the links of the earlier one');
      }
      assert.equal(await isProven(email), false);
      const signIn = (given: string) =>
        stranger(service).call('POST', '/api/auth/sign-in/email', { email, password: given });
      for (const each of passwords) assert.equal((await signIn(each)).status, 401);
      const token = new URL(link(/reset/)).searchParams.get('token');
      const body = { newPassword: 'what the reader chose', token };
      const set = await stranger(service).call('POST', '/api/auth/reset-password', body);
      assert.equal(set.status, 200);
      assert.equal((await signIn('of the attacker')).status, 401);
      assert.equal((await signIn('what the reader chose')).status, 200);
      assert.equal((await accountsOf(email)).length, 1);
    });
  }

  test('again ends sessions of an unproven person, and none of a proven one', async () => {
    const [unproven, proven] = [await person(service), await person(service)];
    await service.db.run(
      rawSql('update people set email_verified = false where id = $1', [unproven.id]),
    );
    for (const { email } of [unproven, proven]) await signUp(email, { name: 'Eve' });
    assert.equal((await unproven.call('GET', '/api/me')).status, 401);
    const { status, body } = await proven.call('GET', '/api/me');
    assert.deepEqual([status, body.name], [200, 'Somebody']);
    assert.equal((await proven.signIn()).status, 200);
  });

  const otherWays = Object.entries({
    'the identity provider': `insert into logins (id, person_id, provider_id, provider_account_id)
      values (gen_random_uuid(), $1, 'oidc', gen_random_uuid()::text)`,
    'a passkey': `insert into passkeys (id, person_id, public_key, credential_id, counter,
      device_type, backed_up) values (gen_random_uuid(), $1, 'x', gen_random_uuid()::text, 0, 'x', false)`,
    'an authenticator app': 'update people set two_factor_enabled = true where id = $1',
  });
  for (const [what, way] of otherWays) {
    test(`again does not change a person who also signs in with ${what}`, async () => {
      const ada = await person(service);
      await service.db.run(rawSql(way, [ada.id]));
      await service.db.run(
        rawSql('update people set email_verified = false where id = $1', [ada.id]),
      );
      assert.deepEqual((await signUp(ada.email)).body, { status: 'check_mail' });
      const { status, body } = await ada.call('GET', '/api/me');
      assert.deepEqual([status, body.name], [200, 'Somebody']);
    });
  }

  test('takes as long with a known address as with a free one', async () => {
    const known = await person(service);
    const times: number[][] = [[], []];
    // In turn, so that a slow moment of the machine affects both.
    for (let i = 0; i < 10; i++) {
      const email = i % 2 === 0 ? `free${i}@example.com` : known.email;
      const started = performance.now();
      assert.equal((await signUp(email)).status, 200);
      times[i % 2]!.push(performance.now() - started);
    }
    const [free, taken] = times.map((all) => all.sort((a, b) => a - b)[2]!) as [number, number];
    assert.ok(free < 3 * taken && taken < 3 * free, `${free} ms, ${taken} ms`);
  });

  test('sends a link again to people who have not opened it, and nothing to others', async () => {
    const email = 'again@example.com';
    await signUp(email);
    await post.letterTo(email);
    const known = await person(service);
    const send = (to: string) =>
      stranger(service).call('POST', '/api/auth/send-verification-email', {
        email: to,
        callbackURL: '/sign-in',
      });
    const answers = [await send(email), await send(known.email), await send('no@example.com')];
    for (const { status, body } of answers)
      assert.deepEqual([status, body], [200, { status: true }]);
    await until(
      'a second letter',
      () => post.letters.filter(({ to }) => to === email).length === 2,
    );
    assert.equal(post.letters.filter(({ to }) => to === known.email).length, 0);
    assert.equal(post.letters.filter(({ to }) => to === 'no@example.com').length, 0);
  });
});

describe('a forgotten password', () => {
  test('is replaced with the link in the e-mail, once, and all browsers are signed out', async () => {
    const known = await person(service);
    assert.equal((await askReset(known.email)).status, 200);
    const { links } = await post.letterTo(known.email);
    const opened = await stranger(service).call('GET', pathOf(links[0]!));
    const to = new URL(opened.headers.get('location')!, originOf(service));
    assert.equal(to.origin + to.pathname, `${originOf(service)}/reset`);
    const body = { newPassword: 'a whole new one', token: to.searchParams.get('token') };
    const set = () => stranger(service).call('POST', '/api/auth/reset-password', body);
    assert.deepEqual([(await set()).status, (await set()).status], [200, 400]);
    assert.equal((await known.call('GET', '/api/me')).status, 401);
    assert.equal((await known.signIn()).status, 401);
  });

  test('is answered alike for known and unknown addresses, and throttled alike', async () => {
    const known = await person(service);
    const told = [];
    for (const email of [known.email, 'unknown@example.com']) {
      const answers: Answer[] = [];
      for (let i = 0; i < 6; i++) answers.push(await askReset(email));
      const of = ({ status, body, headers }: Answer) => [
        status,
        body.error?.code ?? body,
        [...headers.keys()].filter((name) => name !== 'x-request-id'),
      ];
      told.push(answers.map(of));
      assert.equal(answers.at(-1)!.status, 429);
    }
    assert.deepEqual(told[1], told[0]);
    assert.equal(post.letters.filter(({ to }) => to === 'unknown@example.com').length, 0);
  });

  test('leads to no other site', async () => {
    const known = await person(service);
    for (const redirectTo of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
      const reply = await stranger(service).call('POST', '/api/auth/request-password-reset', {
        email: known.email,
        redirectTo,
      });
      assert.equal(reply.status, 403, redirectTo);
    }
    const path = '/api/auth/reset-password/x?callbackURL=https://evil.example/';
    assert.equal((await stranger(service).call('GET', path)).status, 403);
    const verify = '/api/auth/verify-email?token=x&callbackURL=https://evil.example/';
    assert.equal((await stranger(service).call('GET', verify)).status, 403);
    assert.equal(post.letters.filter(({ to }) => to === known.email).length, 0);
  });
});

describe('an invitation', () => {
  async function invited(email: string) {
    const { account_id } = await service.account();
    const owner = await person(service, { [account_id]: 'owner' });
    const made = await owner.of(account_id).call('POST', '/invitations', {
      email,
      role: 'billing',
    });
    assert.equal(made.status, 200);
    const token = (link: string) => new URL(link).searchParams.get('token')!;
    const { links, subject } = await post.letterTo(email);
    assert.equal(subject, `An invitation to ${new URL(originOf(service)).host}`);
    assert.equal(made.body.mailed, true);
    return { account_id, shown: token(made.body.url), mailed: token(links[0]!) };
  }

  test('that came by mail proves the address', async () => {
    const email = 'mailed@example.com';
    const { account_id, shown, mailed } = await invited(email);
    assert.notEqual(mailed, shown);
    assert.deepEqual((await signUp(email, { token: mailed })).body, { status: 'sign_in' });
    assert.equal(await isProven(email), true);
    const joined = visitorOf(service, '', email);
    await joined.signIn();
    assert.equal((await joined.of(account_id).call('GET', '/balance')).status, 200);
  });

  test('that came by mail gives its reader the account that was begun with the address', async () => {
    const email = 'begun@example.com';
    await signUp(email, { password: 'of the attacker', name: 'Eve' });
    const { account_id, mailed } = await invited(email);
    assert.deepEqual((await signUp(email, { token: mailed })).body, { status: 'sign_in' });
    const reader = visitorOf(service, '', email);
    assert.equal((await reader.signIn()).status, 200);
    assert.equal((await reader.call('GET', '/api/me')).body.name, 'Ada');
    assert.equal((await reader.of(account_id).call('GET', '/balance')).status, 200);
    const wrong = { email, password: 'of the attacker' };
    const other = await stranger(service).call('POST', '/api/auth/sign-in/email', wrong);
    assert.equal(other.status, 401);
  });

  test('that its maker opens proves nothing: the link in the e-mail has to be opened', async () => {
    const email = 'not-mine@example.com';
    const { shown } = await invited(email);
    assert.deepEqual((await signUp(email, { token: shown })).body, { status: 'check_mail' });
    assert.equal(await isProven(email), false);
    assert.equal((await visitorOf(service, '', email).signIn()).status, 403);
  });
});

test('while the mail server is away the answers are the same, and it is logged', async () => {
  const away = await openPost();
  await away.close();
  const { app } = await service.another({ FAREBOX_SMTP_URL: away.url });
  const lonely = { ...service, app };
  const { account_id } = await service.account();
  const owner = await person(lonely, { [account_id]: 'owner' });
  const reply = await stranger(lonely).call('POST', '/api/sign-up', {
    name: 'Ada',
    email: 'away@example.com',
    password,
  });
  assert.deepEqual([reply.status, reply.body], [200, { status: 'check_mail' }]);
  const made = await owner.of(account_id).call('POST', '/invitations', {
    email: 'x@example.com',
    role: 'owner',
  });
  assert.deepEqual([made.status, made.body.mailed], [200, false]);
  await until('a line of the log', () =>
    service.log.some((line) => line.includes('e-mail not sent')),
  );
});

test('a mail server that does not answer is logged at the start, one that answers is not', async () => {
  const told = () => service.log.filter((line) => line.includes('the mail server does not answer'));
  const earlier = told().length;
  const away = await openPost();
  await away.close();
  await service.another({ FAREBOX_SMTP_URL: away.url.replace('//', '//ana:unspoken@') });
  await until('it is told', () => told().length === earlier + 1);
  assert.match(told().at(-1)!, /ECONNREFUSED.*see FAREBOX_SMTP_URL/);
  assert.doesNotMatch(told().at(-1)!, /unspoken/);
  const greeted = post.greeted();
  await service.another();
  await until('it was asked', () => post.greeted() > greeted);
  assert.equal(told().length, earlier + 1);
});
