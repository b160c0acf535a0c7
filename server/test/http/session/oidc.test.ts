/** Signing in at an identity provider: who gets in, as which person, and what is stored. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { invite } from '../../../src/operations/accounts/person.ts';
import { client, openProvider, type IdentityProvider } from '../../kit/provider.ts';
import type { Service } from '../../kit/service.ts';
import {
  before,
  originOf,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let provider: IdentityProvider;
let closed: Service;
let byInvitation: Service;
const { service: open } = withWebService(async (use) => {
  provider = use(await openProvider());
  return { env: provider.env };
});
before(async () => {
  closed = await also({ FAREBOX_SIGN_UP: 'closed' });
  byInvitation = await also({ FAREBOX_SIGN_UP: 'invite' });
});

/** The same database with other settings. */
async function also(env: Record<string, string>): Promise<Service> {
  return { ...open, app: (await open.another(env)).app };
}

let subjects = 0;
function sits(claims: Record<string, unknown>): void {
  provider.claims = { sub: `subject-${++subjects}`, name: 'Ada', ...claims };
}

const social = (who: Person, callbackURL = '/dashboard') =>
  who.call('POST', '/api/auth/sign-in/social', {
    provider: 'oidc',
    callbackURL,
    errorCallbackURL: '/sign-in',
  });

/** Signs in at the provider. Returns the path of the pages on which the person ends. */
async function signIn(
  service: Service,
  who = stranger(service),
): Promise<{ who: Person; to: URL }> {
  const begun = await social(who);
  assert.equal(begun.status, 200, begun.text);
  const back = await provider.follow(begun.body.url);
  assert.equal(back.origin, originOf(service));
  const { status, headers } = await who.call('GET', back.pathname + back.search);
  assert.equal(status, 302);
  return { who, to: new URL(headers.get('location')!, originOf(service)) };
}

const meOf = async (who: Person) => (await who.call('GET', '/api/me')).body;
const loginsOf = (email: string) =>
  open.db.run<Record<string, unknown>>(sql`
    select l.* from logins l join people p on p.id = l.person_id where p.email = ${email}
       order by l.provider_id`);
const exists = async (email: string) =>
  (await open.db.run(rawSql('select from people where email = $1', [email]))).length > 0;

async function refuses(service: Service, error: string): Promise<void> {
  const { who, to } = await signIn(service);
  assert.deepEqual([to.pathname, to.searchParams.get('error')], ['/sign-in', error]);
  assert.equal((await who.call('GET', '/api/me')).status, 401);
}

describe('with open sign-up', () => {
  test('a newcomer owns an account, and no token of the provider is kept', async () => {
    const email = 'new@example.com';
    sits({ email, email_verified: true, name: 'Ada\u202E' });
    const { who, to } = await signIn(open);
    assert.equal(to.pathname, '/dashboard');
    const me = await meOf(who);
    assert.deepEqual([me.email, me.name, me.email_verified], [email, 'Ada', true]);
    assert.deepEqual(
      me.accounts.map(({ role }: { role: string }) => role),
      ['owner'],
    );
    const again = await signIn(open);
    assert.equal((await meOf(again.who)).person_id, me.person_id);
    const logins = await loginsOf(email);
    assert.equal(logins.length, 1);
    for (const column of ['access_token', 'refresh_token', 'id_token', 'access_token_expires_at'])
      assert.equal(logins[0]![column], null, column);
  });

  test('a known person with an address that the provider has proven is recognised', async () => {
    const ada = await person(open);
    sits({ email: ada.email, email_verified: true });
    const { who } = await signIn(open);
    assert.equal((await meOf(who)).person_id, ada.id);
    const logins = await loginsOf(ada.email);
    assert.deepEqual(
      logins.map(({ provider_id, access_token, id_token }) => [
        provider_id,
        access_token,
        id_token,
      ]),
      [
        ['credential', null, null],
        ['oidc', null, null],
      ],
    );
    // It was another browser, so the password may be a stranger's.
    assert.equal((await ada.signIn()).status, 401);
  });

  for (const [what, email_verified] of Object.entries({
    'has not proven': false,
    'says nothing of': undefined,
    'says "false" of': 'false',
  })) {
    test(`a known person is not taken over with an address that the provider ${what}`, async () => {
      const ada = await person(open);
      sits({ email: ada.email, email_verified });
      await refuses(open, 'account_not_linked');
      assert.equal((await loginsOf(ada.email)).length, 1);
    });
  }

  test('who signed up before with an address that is not theirs does not share it with its owner', async () => {
    const eve = await person(open);
    await open.db.run(rawSql('update people set email_verified = false where id = $1', [eve.id]));
    sits({ email: eve.email, email_verified: true });
    await refuses(open, 'account_not_linked');
    assert.equal((await loginsOf(eve.email)).length, 1);
  });

  test('a person is recognised by their id at the provider, also with a new address', async () => {
    const [ada, eve] = [await person(open), await person(open)];
    sits({ email: ada.email, email_verified: true });
    await signIn(open);
    provider.claims = { ...provider.claims, email: eve.email };
    const { who } = await signIn(open);
    assert.equal((await meOf(who)).person_id, ada.id);
    assert.equal((await loginsOf(eve.email)).length, 1);
  });

  test('nobody is recognised by an address with a blank that only looks like none', async () => {
    const ada = await person(open);
    for (const email of [`${ada.email}\u00A0`, `\uFEFF${ada.email}`, `${ada.email}\u3000`]) {
      sits({ email, email_verified: true });
      await refuses(open, 'email_invalid');
    }
    assert.equal((await loginsOf(ada.email)).length, 1);
  });

  test('a provider that sends no address signs nobody in', async () => {
    sits({});
    await refuses(open, 'email_not_found');
  });
});

describe('with closed sign-up', () => {
  test('a stranger stays outside, and no person is made', async () => {
    sits({ email: 'stranger1@example.com', email_verified: true });
    await refuses(closed, 'sign_up_closed');
    assert.equal(await exists('stranger1@example.com'), false);
  });

  test('an invitation does not help; known people sign in', async () => {
    const email = 'invited1@example.com';
    await invite(open.db, { account_id: null, email, role: 'owner', invited_by: null });
    sits({ email, email_verified: true });
    await refuses(closed, 'sign_up_closed');
    const ada = await person(open);
    sits({ email: ada.email, email_verified: true });
    assert.equal((await meOf((await signIn(closed)).who)).person_id, ada.id);
  });
});

describe('with sign-up by invitation', () => {
  test('a stranger is refused, and so is a person with an unproven invited address', async () => {
    sits({ email: 'stranger2@example.com', email_verified: true });
    await refuses(byInvitation, 'sign_up_closed');
    const email = 'claimed@example.com';
    await invite(open.db, { account_id: null, email, role: 'owner', invited_by: null });
    sits({ email, email_verified: false });
    await refuses(byInvitation, 'sign_up_closed');
    assert.equal(await exists(email), false);
  });

  test('who is invited to an account comes in, and is asked before they join it', async () => {
    const email = 'joins@example.com';
    const { account_id } = await open.account();
    const wanted = { account_id, email, role: 'developer' as const, invited_by: null };
    const { token } = await invite(open.db, wanted);
    sits({ email, email_verified: true });
    const { who } = await signIn(byInvitation);
    assert.deepEqual((await meOf(who)).accounts, []);
    assert.equal((await who.call('POST', '/api/invitation/accept', { token })).status, 200);
    const [account] = (await meOf(who)).accounts;
    assert.deepEqual([account.account_id, account.role], [account_id, 'developer']);
  });

  test('an invited person gets an account, and the invitation is used up', async () => {
    const email = 'own@example.com';
    const wanted = { account_id: null, email, role: 'owner' as const, invited_by: null };
    const { token } = await invite(open.db, wanted);
    sits({ email, email_verified: true });
    const { who } = await signIn(byInvitation);
    assert.equal((await meOf(who)).accounts.length, 1);
    assert.equal((await who.call('POST', '/api/invitation', { token })).status, 404);
  });
});

describe('the way to the provider and back', () => {
  test('leads to no other site', async () => {
    for (const url of ['https://evil.example/', '//evil.example/', '/\\evil.example']) {
      const reply = await social(stranger(open), url);
      assert.equal(reply.status, 403, url);
    }
  });

  test('that began in another browser, or was made up, signs nobody in', async () => {
    const ada = await person(open);
    sits({ email: ada.email, email_verified: true });
    const begun = await social(stranger(open));
    const back = await provider.follow(begun.body.url);
    for (const path of [back.pathname + back.search, '/api/auth/callback/oidc?code=x&state=y']) {
      const other = stranger(open);
      const reply = await other.call('GET', path);
      assert.equal(reply.status, 302);
      const to = new URL(reply.headers.get('location')!, originOf(open));
      assert.deepEqual([to.origin, to.pathname], [originOf(open), '/sign-in']);
      assert.equal((await other.call('GET', '/api/me')).status, 401);
    }
  });

  test('with a provider that is away blocks no other sign-in, and works once it is back', async () => {
    const away = await openProvider();
    const port = Number(new URL(away.issuer).port);
    await away.close();
    const service = await also(away.env);
    const ada = await person(open);
    assert.equal((await visitorOf(service, ada.id, ada.email).signIn()).status, 200);
    assert.equal((await social(stranger(service))).status, 404);
    const back = await openProvider(port);
    assert.equal((await social(stranger(service))).status, 200);
    await back.close();
  });
});

describe('an ID token without the way to the provider and back', () => {
  // Most providers put the address into the token, too.
  const claimsInToken = { conformIdTokenClaims: false };
  const challenge = 'x'.repeat(43);
  let speaking: IdentityProvider;
  let service: Service;
  before(async () => {
    speaking = await openProvider(0, claimsInToken);
    service = await also(speaking.env);
  });
  after(() => speaking.close());

  /** A token that the provider made for another program with the same client id. */
  async function tokenOf(claims: IdentityProvider['claims']): Promise<string> {
    speaking.claims = claims;
    const to = 'https://another.example/';
    const begun = new URLSearchParams({
      response_type: 'code',
      client_id: client.id,
      redirect_uri: to,
      scope: 'openid email profile',
      nonce: 'n',
      code_challenge: createHash('sha256').update(challenge).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const back = await speaking.follow(`${speaking.issuer}/auth?${begun}`);
    const reply = await fetch(`${speaking.issuer}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa([client.id, client.secret].map(encodeURIComponent).join(':'))}`,
      },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: back.searchParams.get('code')!,
        redirect_uri: to,
        code_verifier: challenge,
      }),
    });
    return ((await reply.json()) as { id_token: string }).id_token;
  }

  test('signs nobody in, whoever found it', async () => {
    const ada = await person(open);
    const token = await tokenOf({ sub: 'ada', email: ada.email, email_verified: true });
    for (const idToken of [{ token }, { token, nonce: 'n' }, { token, accessToken: 'x' }]) {
      const finder = stranger(service);
      const reply = await finder.call('POST', '/api/auth/sign-in/social', {
        provider: 'oidc',
        callbackURL: '/dashboard',
        idToken,
      });
      assert.deepEqual([reply.status, reply.body.error.param], [400, 'idToken']);
      assert.equal(finder.cookies.size, 0);
    }
    assert.equal((await loginsOf(ada.email)).length, 1);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
  });

  test('and the usual way signs in with the same provider', async () => {
    speaking.claims = { sub: 'bob', email: 'bob@example.com', email_verified: true };
    const who = stranger(service);
    const begun = await social(who);
    const back = await speaking.follow(begun.body.url);
    await who.call('GET', back.pathname + back.search);
    assert.equal((await meOf(who)).email, 'bob@example.com');
  });
});
