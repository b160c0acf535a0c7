/** Changing the e-mail address: who may do it, the proof, and what the change ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { openPost, type Post } from '../../kit/post.ts';
import { until } from '../../kit/until.ts';
import {
  operatorOf,
  password,
  person,
  stranger,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let post: Post;
const { service } = withWebService(async (use) => {
  post = use(await openPost());
  return { env: { FAREBOX_SMTP_URL: post.url } };
});

let wanted = 0;
const fresh = () => `new${++wanted}@example.com`;
const ask = (who: Person, email: string, given: object = { password }) =>
  who.call('POST', '/api/me/email', { email, ...given });
const confirm = (token: string, given: object = { password }) =>
  stranger(service).call('POST', '/api/email', { token, ...given });
const signIn = async (email: string) =>
  (await stranger(service).call('POST', '/api/auth/sign-in/email', { email, password })).status;
const lettersTo = (email: string) => post.letters.filter(({ to }) => to === email);
/** The token in the link that was sent to this address. */
async function tokenFor(email: string): Promise<string> {
  const { links } = await post.letterTo(email);
  return new URL(links[0]!).searchParams.get('token')!;
}

describe('another e-mail address', () => {
  test('counts once its link is opened, and replaces the earlier address', async () => {
    const ada = await person(service);
    const other = await person(service);
    const email = fresh();
    const phone = new Map(ada.cookies);
    await ada.signIn();
    await stranger(service).call('POST', '/api/auth/request-password-reset', {
      email: ada.email,
      redirectTo: '/reset',
    });
    assert.deepEqual((await ask(ada, email.toUpperCase())).body, { status: 'check_mail' });
    const token = await tokenFor(email);
    const notice = await until('the letter to the address before', () =>
      lettersTo(ada.email).find(({ subject }) => /wants to change/.test(subject)),
    );
    assert.ok(notice.text.includes(email) && notice.links.length === 0);
    // Nothing has changed yet.
    assert.deepEqual([await signIn(ada.email), await signIn(email)], [200, 401]);

    // A program that reads the letter presses the button of the page, too.
    for (const given of [{}, { password: '' }, { password: 'guessed by it' }]) {
      const { status, body } = await confirm(token, given);
      assert.ok([400, 403].includes(status), JSON.stringify(body));
    }
    const elsewhere = await other.call('POST', '/api/email', { token });
    assert.equal(elsewhere.body.error.details.reason, 'password_needed');
    assert.deepEqual([await signIn(ada.email), await signIn(email)], [200, 401]);

    assert.deepEqual((await ada.call('POST', '/api/email', { token })).body, { email });
    assert.deepEqual([await signIn(ada.email), await signIn(email)], [401, 200]);
    const { body: me } = await ada.call('GET', '/api/me');
    assert.deepEqual([me.email, me.email_verified, me.person_id], [email, true, ada.id]);
    const old = await stranger(service).call('GET', '/api/me', undefined, {
      cookie: [...phone].map((pair) => pair.join('=')).join('; '),
    });
    assert.equal(old.status, 401, 'another browser is signed in');
    assert.equal((await other.call('GET', '/api/me')).status, 200);
    const reset = lettersTo(ada.email).find(({ subject }) => /Reset/.test(subject))!;
    const steps = rawSql('select from verifications where value = $1', [ada.id]);
    assert.equal((await service.db.run(steps)).length, 0, `${reset.subject} is good still`);
    await until('the second letter to the address before', () =>
      lettersTo(ada.email).some(({ subject }) => /has changed/.test(subject)),
    );
    // The link works once.
    assert.equal((await confirm(token)).status, 400);
  });

  test('needs the password, so that a found browser cannot change it', async () => {
    const ada = await person(service);
    const email = fresh();
    const wrong = await ask(ada, email, { password: 'not my password' });
    assert.deepEqual([wrong.status, wrong.body.error.details.reason], [400, 'INVALID_PASSWORD']);
    assert.equal((await ask(ada, email, {})).body.error.param, 'password');
    assert.equal((await stranger(service).call('POST', '/api/me/email', { email })).status, 401);
    assert.equal((await ask(ada, ada.email)).status, 400);
    assert.equal((await ask(ada, 'no address')).status, 400);
    await service.db.run(sql`update logins set password = null where person_id = ${ada.id}`);
    await service.db.run(sql`update sessions set created_at = now() - interval '61 min'
      where person_id = ${ada.id}`);
    const stale = await ask(ada, email, {});
    assert.deepEqual([stale.status, stale.body.error.details.reason], [403, 'SESSION_NOT_FRESH']);
    await service.db.run(sql`update sessions set created_at = now() where person_id = ${ada.id}`);
    assert.equal((await ask(ada, email, {})).status, 200);
    await tokenFor(email);
    assert.equal(lettersTo(email).length, 1);
  });

  test('of another person gets the same answer, and only its owner gets an e-mail', async () => {
    const [ada, eve] = [await person(service), await person(service)];
    const free = await ask(eve, fresh());
    const taken = await ask(eve, ada.email);
    assert.deepEqual([taken.status, taken.text], [free.status, free.text]);
    const letter = await post.letterTo(ada.email);
    assert.match(letter.subject, /already have a Farebox account/);
    assert.ok(letter.links.every((link) => !link.includes('token')));
    assert.equal(await signIn(ada.email), 200);
  });

  test('that another person got meanwhile stays theirs', async () => {
    const [ada, eve] = [await person(service), await person(service)];
    const email = fresh();
    for (const each of [ada, eve]) assert.equal((await ask(each, email)).status, 200);
    const sent = await until('both letters', () => {
      const all = lettersTo(email);
      return all.length === 2 && all;
    });
    const tokens = sent.map(({ links }) => new URL(links[0]!).searchParams.get('token')!);
    assert.equal((await confirm(tokens[0]!)).status, 200);
    const second = await confirm(tokens[1]!);
    assert.deepEqual([second.status, second.body.error.code], [400, 'bad_request']);
    const rows = await service.db.run(rawSql('select from people where email = $1', [email]));
    assert.equal(rows.length, 1);
    // A visitor whose address was taken meanwhile is still signed in.
    const still = await Promise.all([ada, eve].map((each) => each.call('GET', '/api/me')));
    assert.deepEqual(
      still.map(({ status }) => status),
      [200, 200],
    );
  });

  const ends: Record<string, (ada: Person) => Promise<unknown>> = {
    'another request': (ada) => ask(ada, fresh()),
    'a new password': (ada) =>
      ada.call('POST', '/api/auth/change-password', {
        currentPassword: password,
        newPassword: 'a whole new password',
      }),
    'an hour': (ada) =>
      service.db.run(sql`update verifications set expires_at = now() where value = ${ada.id}`),
  };
  for (const [what, end] of Object.entries(ends)) {
    test(`is not reached with a link after ${what}`, async () => {
      const ada = await person(service);
      const email = fresh();
      await ask(ada, email);
      const token = await tokenFor(email);
      await end(ada);
      const late = await confirm(token);
      assert.deepEqual([late.status, late.body.error.code], [400, 'bad_request']);
      assert.equal((await ada.call('GET', '/api/me')).body.email, ada.email);
    });
  }

  test('can be requested five times an hour, and with few wrong passwords', async () => {
    const ada = await person(service);
    for (let i = 0; i < 5; i++) assert.equal((await ask(ada, fresh())).status, 200);
    const email = fresh();
    assert.equal((await ask(ada, email)).status, 429);
    const eve = await person(service);
    const tries: number[] = [];
    for (let i = 0; i < 22; i++) tries.push((await ask(eve, email, { password: 'guess' })).status);
    assert.deepEqual([tries[0], tries.at(-1)], [400, 429]);
    assert.equal(lettersTo(email).length, 0);
  });

  test('is set by an operator, with a row in the log', async () => {
    const account = await service.account();
    const ada = await person(service, { [account.account_id]: 'owner' });
    const operator = await operatorOf(service);
    const path = `/api/operator/people/${ada.id}`;
    const email = fresh();
    assert.equal((await ada.call('PATCH', path, { email })).status, 404);
    const taken = await operator.call('PATCH', path, { email: operator.email });
    assert.equal(taken.status, 400);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
    const done = await operator.call('PATCH', path, { email });
    assert.deepEqual([done.status, done.body.email], [200, email]);
    assert.deepEqual([await signIn(ada.email), await signIn(email)], [401, 200]);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    const rows = await service.db.run<{ by_email: string; target: string; details: object }>(sql`
      select by_email, target, details from operator_log where action = 'person.change'`);
    const details = { email, before: { email: ada.email } };
    assert.deepEqual(rows, [{ by_email: operator.email, target: ada.email, details }]);
    await until('a letter to the address before', () => lettersTo(ada.email).length === 1);
    const [found] = await service.db.run<{ email: string }>(sql`select email from accounts
      where id = ${account.account_id}`);
    assert.equal(found!.email, account.email, 'the account is called otherwise');
  });
});

test('without mail only an operator changes it', async () => {
  const silent = { ...service, app: (await service.another({ FAREBOX_SMTP_URL: '' })).app };
  const ada = await person(silent);
  const refused = await ask(ada, fresh());
  assert.equal(refused.status, 403);
  assert.match(refused.body.error.message, /Ask the operator/);
  assert.equal((await ada.call('GET', '/api/me')).body.email, ada.email);
});
