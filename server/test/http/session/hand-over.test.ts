/** A person whose address somebody else proves: what the earlier one can still do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { invite, resetLink } from '../../../src/operations/accounts/person.ts';
import { openProvider, type IdentityProvider } from '../../kit/provider.ts';
import { openPost, type Post } from '../../kit/post.ts';
import type { TestAccount } from '../../kit/service.ts';
import {
  originOf,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let provider: IdentityProvider;
let post: Post;
const { service } = withWebService(async (use) => {
  provider = use(await openProvider());
  post = use(await openPost());
  return { env: { ...provider.env, FAREBOX_SMTP_URL: post.url } };
});

const run = (text: string, values: unknown[]) => service.db.run(rawSql(text, values));

/** Signs in at the provider with the person's address, in this browser. */
async function signInAt(email: string, who = stranger(service)): Promise<Person> {
  provider.claims = { sub: newId(), email, email_verified: true, name: 'Ada' };
  const begun = await who.call('POST', '/api/auth/sign-in/social', {
    provider: 'oidc',
    callbackURL: '/dashboard',
    errorCallbackURL: '/sign-in',
  });
  const back = await provider.follow(begun.body.url);
  const { headers } = await who.call('GET', back.pathname + back.search);
  const to = new URL(headers.get('location')!, originOf(service));
  assert.deepEqual([to.pathname, to.search], ['/dashboard', '']);
  return who;
}

interface Departure {
  eve: Person;
  friend: Person;
  account: TestAccount;
  invited: string;
}

/** A stranger who has signed up with an address that is not hers, and left what she could. */
async function strangerHas(): Promise<Departure> {
  const account = await service.account({ usd: 10 });
  const eve = await person(service, { [account.account_id]: 'owner' });
  const own = eve.of(account.account_id);
  const friend = await person(service);
  await run(
    `insert into members (account_id, person_id, role, created_at)
     values ($1, $2, 'owner', now() + interval '1 s')`,
    [account.account_id, friend.id],
  );
  const { body } = await own.call('POST', '/invitations', {
    email: `late${newId()}@example.com`,
    role: 'owner',
  });
  await run('insert into alerts (account_id, webhook_url) values ($1, $2)', [
    account.account_id,
    'https://eve.example/',
  ]);
  await run(
    `insert into passkeys (id, person_id, public_key, credential_id, counter, device_type, backed_up)
     values ($1::uuid, $2, 'x', $1::uuid::text, 0, 'x', false)`,
    [newId(), eve.id],
  );
  await run(
    `insert into verifications (id, identifier, value, expires_at)
     values ($1, 'trust-device-x', $2, now() + interval '30 days')`,
    [newId(), eve.id],
  );
  return { eve, friend, account, invited: new URL(body.url).searchParams.get('token')! };
}

const secretsOf = async ({ account_id }: TestAccount) =>
  (await run('select webhook_secrets from accounts where id = $1', [account_id]))[0];
const rowsOf = async ({ id }: Person) => {
  const [row] = await run(
    `select (select count(*)::int from passkeys where person_id = $1::uuid) as passkeys,
       (select count(*)::int from two_factors where person_id = $1::uuid) as apps,
       (select count(*)::int from verifications where value = $1::uuid::text) as steps`,
    [id],
  );
  return row;
};
const keyStatus = async ({ key }: TestAccount) =>
  (await service.call('GET', '/v1/balance', { key })).status;

describe('when the identity provider proves the address of a person for the first time', () => {
  test('everything that a stranger has left ends, and the owner is told', async () => {
    const left = await strangerHas();
    const { eve, friend, account, invited } = left;
    const secrets = await secretsOf(account);
    const owner = await signInAt(eve.email);
    const { body: me } = await owner.call('GET', '/api/me');
    assert.equal(me.person_id, eve.id);
    assert.equal((await eve.call('GET', '/api/me')).status, 401);
    const again = await visitorOf(service, '', eve.email).signIn();
    assert.equal(again.status, 401);
    assert.deepEqual(await rowsOf(eve), { passkeys: 0, apps: 0, steps: 0 });
    assert.equal(await keyStatus(account), 401);
    assert.equal((await friend.of(account.account_id).call('GET', '/balance')).status, 404);
    const late = await stranger(service).call('POST', '/api/invitation', { token: invited });
    assert.equal(late.status, 404);
    assert.notDeepEqual(await secretsOf(account), secrets);
    const own = owner.of(account.account_id);
    assert.equal((await own.call('GET', '/alerts')).body.webhook_url, null);
    // The money is still there, and it is the owner's.
    assert.equal((await own.call('GET', '/balance')).body.available_usd_micro, '10000000');
    const letter = await post.letterTo(eve.email);
    assert.match(letter.text, /API keys: 1; access of other people: 1\./);
  });

  test('an account that others have founded keeps its keys and people', async () => {
    const account = await service.account({ usd: 10 });
    const boss = await person(service, { [account.account_id]: 'owner' });
    const ada = await person(service);
    await run(
      `insert into members (account_id, person_id, role, created_at)
       values ($1, $2, 'owner', now() + interval '1 s')`,
      [account.account_id, ada.id],
    );
    await signInAt(ada.email);
    assert.equal(await keyStatus(account), 200);
    assert.equal((await boss.of(account.account_id).call('GET', '/balance')).status, 200);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
  });

  test('a person who has proven the address themselves keeps keys and people', async () => {
    const { eve: ada, friend, account } = await strangerHas();
    await run('update people set owner_proven = true where id = $1', [ada.id]);
    await signInAt(ada.email);
    assert.equal(await keyStatus(account), 200);
    assert.equal((await friend.of(account.account_id).call('GET', '/balance')).status, 200);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    assert.match((await post.letterTo(ada.email)).text, /Look at the keys and people/);
  });

  for (const [what, prepare] of Object.entries({
    'in which the person is signed in': async () => {},
    'in which they have signed in with the password': async (ada: Person) =>
      void (await ada.call('POST', '/api/auth/sign-out', {})),
  })) {
    test(`nothing ends in a browser ${what}`, async () => {
      const { eve: ada, account } = await strangerHas();
      const phone = visitorOf(service, ada.id, ada.email);
      await phone.signIn();
      await prepare(ada);
      await signInAt(ada.email, ada);
      assert.equal((await phone.call('GET', '/api/me')).status, 200);
      assert.equal((await visitorOf(service, '', ada.email).signIn()).status, 200);
      assert.equal(await keyStatus(account), 200);
      assert.equal(post.letters.filter(({ to }) => to === ada.email).length, 0);
      // From now on the address counts as proven by its person.
      const [row] = await run('select owner_proven from people where id = $1', [ada.id]);
      assert.deepEqual(row, { owner_proven: true });
    });
  }

  test('a later sign-in ends nothing more', async () => {
    const { eve: ada } = await strangerHas();
    await signInAt(ada.email);
    const { claims } = provider;
    const phone = stranger(service);
    const begun = await phone.call('POST', '/api/auth/sign-in/social', {
      provider: 'oidc',
      callbackURL: '/dashboard',
    });
    provider.claims = claims;
    const back = await provider.follow(begun.body.url);
    await phone.call('GET', back.pathname + back.search);
    assert.equal((await phone.call('GET', '/api/me')).body.person_id, ada.id);
    await post.letterTo(ada.email);
    assert.equal(post.letters.filter(({ to }) => to === ada.email).length, 1);
  });
});

describe('an invitation that proves the address of a person who never has', () => {
  for (const mail of ['with', 'without'])
    test(`gives its reader the person, and the stranger nothing, ${mail} mail`, async () => {
      const other =
        mail === 'with'
          ? service
          : { ...service, app: (await service.another({ FAREBOX_SMTP_URL: '' })).app };
      const { eve, account } = await strangerHas();
      await run('update people set email_verified = false where id = $1', [eve.id]);
      const { account_id } = await service.account();
      const { token } = await invite(service.db, {
        account_id,
        email: eve.email,
        role: 'developer',
        invited_by: null,
      });
      const body = { name: 'Ada', email: eve.email, password: 'what the reader chose', token };
      assert.deepEqual((await stranger(other).call('POST', '/api/sign-up', body)).body, {
        status: 'sign_in',
      });
      const signIn = (given: string) =>
        stranger(other).call('POST', '/api/auth/sign-in/email', {
          email: eve.email,
          password: given,
        });
      assert.deepEqual(
        [(await signIn(password)).status, (await signIn('what the reader chose')).status],
        [401, 200],
      );
      assert.equal((await eve.call('GET', '/api/me')).status, 401);
      assert.deepEqual(await rowsOf(eve), { passkeys: 0, apps: 0, steps: 0 });
      assert.equal(await keyStatus(account), 401);
    });
});

describe('a link to a new password that proves the address of a person who never has', () => {
  const chosen = 'what the reader chose';
  const resetBy = async (who: Person, { eve }: Departure) => {
    await run('update people set email_verified = false where id = $1', [eve.id]);
    const body = { newPassword: chosen, token: await resetLink(service.db, eve.email) };
    const { status } = await who.call('POST', '/api/auth/reset-password', body);
    assert.equal(status, 200);
    const owner = stranger(service);
    const login = { email: eve.email, password: chosen };
    assert.equal((await owner.call('POST', '/api/auth/sign-in/email', login)).status, 200);
    return owner;
  };

  test('leaves a stranger nothing', async () => {
    const left = await strangerHas();
    const { eve, friend, account, invited } = left;
    const secrets = await secretsOf(account);
    const owner = await resetBy(stranger(service), left);
    assert.equal((await owner.call('GET', '/api/me')).body.person_id, eve.id);
    assert.equal((await eve.call('GET', '/api/me')).status, 401);
    assert.deepEqual(await rowsOf(eve), { passkeys: 0, apps: 0, steps: 0 });
    assert.equal(await keyStatus(account), 401);
    assert.equal((await friend.of(account.account_id).call('GET', '/balance')).status, 404);
    const late = await stranger(service).call('POST', '/api/invitation', { token: invited });
    assert.equal(late.status, 404);
    assert.notDeepEqual(await secretsOf(account), secrets);
    const own = owner.of(account.account_id);
    assert.equal((await own.call('GET', '/alerts')).body.webhook_url, null);
    assert.equal((await own.call('GET', '/balance')).body.available_usd_micro, '10000000');
  });

  test('removes the code that a stranger would have to be asked for', async () => {
    const left = await strangerHas();
    await run('update people set two_factor_enabled = true where id = $1', [left.eve.id]);
    const owner = await resetBy(stranger(service), left);
    assert.equal((await owner.call('GET', '/api/me')).body.two_factor_enabled, false);
  });

  test('ends no key in a browser in which the person is signed in', async () => {
    const left = await strangerHas();
    const { eve: ada, friend, account } = left;
    await resetBy(ada, left);
    assert.equal(await keyStatus(account), 200);
    assert.equal((await friend.of(account.account_id).call('GET', '/balance')).status, 200);
    const [row] = await run('select owner_proven from people where id = $1', [ada.id]);
    assert.deepEqual(row, { owner_proven: true });
  });

  test('ends every key in a browser in which another person is signed in', async () => {
    const left = await strangerHas();
    await resetBy(await person(service), left);
    assert.equal(await keyStatus(left.account), 401);
  });
});

describe('a second sign-in in a browser', () => {
  test('ends the session that its old cookie names, and no other', async () => {
    const ada = await person(service);
    const phone = visitorOf(service, ada.id, ada.email);
    await phone.signIn();
    const old = [...ada.cookies].map((pair) => pair.join('=')).join('; ');
    assert.equal((await ada.signIn()).status, 200);
    const former = await stranger(service).call('GET', '/api/me', undefined, { cookie: old });
    assert.equal(former.status, 401);
    for (const who of [ada, phone]) assert.equal((await who.call('GET', '/api/me')).status, 200);
  });

  test('of another person ends the first one’s there; a refused one and a made-up cookie end none', async () => {
    const [ada, bo] = [await person(service), await person(service)];
    const old = [...ada.cookies].map((pair) => pair.join('=')).join('; ');
    const wrong = { email: bo.email, password: 'wrong password' };
    assert.equal((await ada.call('POST', '/api/auth/sign-in/email', wrong)).status, 401);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
    const forged = old.replace(/(session_token=)([^.]+)\.[^;]*/, '$1$2.Zm9yZ2Vk');
    const reply = await stranger(service).call(
      'POST',
      '/api/auth/sign-in/email',
      { email: bo.email, password },
      { cookie: forged },
    );
    assert.equal(reply.status, 200);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
    await ada.call('POST', '/api/auth/sign-in/email', { email: bo.email, password });
    const former = await stranger(service).call('GET', '/api/me', undefined, { cookie: old });
    assert.equal(former.status, 401);
  });
});
