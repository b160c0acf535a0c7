/** The operator's verbs about people, as real processes on one database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { totp } from '../kit/totp.ts';
import { password, person, stranger, visitorOf, withWebService } from '../kit/web.ts';
import { assertSaid, placeFor } from './cli.ts';

const { service } = withWebService();

const envOf = () => ({
  DATABASE_URL: service.databaseUrl,
  FAREBOX_UNSAFE_DATABASE: 'on',
  FAREBOX_BASE_URL: service.app.baseUrl,
});
const tokenOf = (url: string) => new URL(url).searchParams.get('token');

test('lists people with their accounts, and never a password or secret', async (t) => {
  const { account_id, email: account } = await service.account();
  const ada = await person(service, { [account_id]: 'billing' });
  const place = placeFor(t);
  const { json, stdout } = await place.run(['person', 'list', '--json'], envOf());
  assert.equal(json.total, 1);
  assert.deepEqual(json.data[0].accounts, [{ email: account, role: 'billing' }]);
  assert.equal(json.data[0].person_id, ada.id);
  assert.doesNotMatch(stdout, /argon2|token|secret/);
  const plain = await place.run(['person', 'list'], envOf());
  assert.match(plain.stdout, new RegExp(`${ada.email}.*${account} \\(billing\\)`));
});

test('prints a link that sets a new password, and refuses unknown people', async (t) => {
  const ada = await person(service);
  const place = placeFor(t);
  const made = await place.run(['person', 'reset-link', ada.email], envOf());
  assert.equal(made.code, 0);
  const body = { newPassword: 'a whole new one', token: tokenOf(made.stdout.trim()) };
  const set = await stranger(service).call('POST', '/api/auth/reset-password', body);
  assert.equal(set.status, 200);
  assert.equal((await ada.call('GET', '/api/me')).status, 401);
  const unknown = await place.run(['person', 'reset-link', 'nobody@example.com'], envOf());
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /Nobody signs in with nobody@example.com/);
});

test('invites into an account with a role, and says what does not fit', async (t) => {
  const { account_id, email: account } = await service.account();
  const place = placeFor(t);
  const email = 'cli@example.com';
  const invite = (...args: string[]) => place.run(['person', 'invite', email, ...args], envOf());
  const { json } = await invite('--account', account, '--role', 'developer', '--json');
  const signedUp = await stranger(service).call('POST', '/api/sign-up', {
    name: 'Ada',
    email,
    password: 'correct horse battery',
    token: tokenOf(json.url),
  });
  assert.equal(signedUp.status, 200);
  const ada = visitorOf(service, '', email);
  await ada.signIn();
  const { accounts } = (await ada.call('GET', '/api/me')).body;
  assert.deepEqual([accounts[0].account_id, accounts[0].role], [account_id, 'developer']);
  assert.equal((await invite('--role', 'owner')).code, 2);
  assert.match(
    (await invite('--account', account, '--role', 'king')).stderr,
    /--role <role>.*Allowed choices are owner, developer, billing, read_only/,
  );
});

test('changes an e-mail address, signs the person out, and refuses unknown people', async (t) => {
  const [ada, eve] = [await person(service), await person(service)];
  const place = placeFor(t);
  const set = (...args: string[]) => place.run(['person', 'email', ...args], envOf());
  const [taken, unknown, odd] = await Promise.all([
    set(ada.email, eve.email),
    set('nobody@example.com', 'new@example.com'),
    set(ada.email, 'no address'),
  ]);
  assertSaid(taken, /The address .+ is taken by another person/);
  assertSaid(unknown, /Nobody signs in with nobody@example\.com/);
  assertSaid(odd, /address/);
  assert.equal((await ada.call('GET', '/api/me')).body.email, ada.email);
  const { json } = await set(ada.email, ' New@Example.com ', '--json');
  assert.deepEqual(json, { email: 'new@example.com', before: ada.email });
  assert.equal((await ada.call('GET', '/api/me')).status, 401);
  const signIn = async (email: string) =>
    (await stranger(service).call('POST', '/api/auth/sign-in/email', { email, password })).status;
  assert.deepEqual([await signIn(ada.email), await signIn('new@example.com')], [401, 200]);
  assert.equal((await eve.call('GET', '/api/me')).body.email, eve.email);
});

test('removes a lost authenticator app', async (t) => {
  const ada = await person(service);
  const enabled = await ada.call('POST', '/api/auth/two-factor/enable', {
    password: 'correct horse battery',
  });
  const code = totp(new URL(enabled.body.totpURI).searchParams.get('secret')!);
  await ada.call('POST', '/api/auth/two-factor/verify-totp', { code });
  assert.equal((await ada.signIn()).body.twoFactorRedirect, true);
  const { code: exit } = await placeFor(t).run(['person', 'disable-2fa', ada.email], envOf());
  assert.equal(exit, 0);
  assert.equal((await ada.signIn()).body.twoFactorRedirect, undefined);
});
