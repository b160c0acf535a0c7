/** One rule for e-mail addresses at every door of people and operators. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { placeFor } from '../../commands/cli.ts';
import { operatorKey } from '../operator/world.ts';
import { openProvider, type IdentityProvider } from '../../kit/provider.ts';
import type { Reply } from '../../kit/service.ts';
import {
  before,
  operatorOf,
  originOf,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let provider: IdentityProvider;
let operator: Person;
let owner: Person;
let account_id: string;
let key: string;
const { service } = withWebService(async (use) => {
  provider = use(await openProvider());
  return { env: { ...provider.env, FAREBOX_SMTP_URL: 'smtp://127.0.0.1:9' } };
});
before(async () => {
  operator = await operatorOf(service);
  ({ account_id } = await service.account());
  owner = await person(service, { [account_id]: 'owner' });
  ({ key } = await operatorKey(service));
});

const unusable = {
  'a space of no width': 'op\u200Bz@example.com',
  'a word joiner in the domain': 'opz@exam\u2060ple.com',
  'a soft hyphen': 'op\u00ADz@example.com',
  'a mark of order at its beginning': '\uFEFFopz@example.com',
  'a Hangul filler': 'op\u3164z@example.com',
  'a Cyrillic letter among Latin ones': 'op\u0435rator@example.com',
  'a Greek letter among Latin ones': '\u03BFperator@example.com',
  'no domain': 'operator@',
  'two addresses': 'a@example.com,b@example.com',
  'too many characters': `${'a'.repeat(300)}@example.com`,
};

const doors: Record<string, (email: string) => Promise<Pick<Reply, 'status' | 'body'>>> = {
  'sign-up': (email) =>
    stranger(service).call('POST', '/api/sign-up', { name: 'Ada', email, password }),
  'sign-in': (email) =>
    stranger(service).call('POST', '/api/auth/sign-in/email', { email, password }),
  'a forgotten password': (email) =>
    stranger(service).call('POST', '/api/auth/request-password-reset', {
      email,
      redirectTo: '/reset',
    }),
  'an invitation': (email) =>
    owner.of(account_id).call('POST', '/invitations', { email, role: 'billing' }),
  'another address': (email) => owner.call('POST', '/api/me/email', { email, password }),
  'the console’s new account': (email) =>
    operator.call('POST', '/api/operator/accounts', { email, invite: false }),
  'the console’s invitation to sign up': (email) =>
    operator.call('POST', '/api/operator/invitations', { email }),
  'the console’s invitation into an account': (email) =>
    operator.call('POST', `/api/operator/accounts/${account_id}/invitations`, {
      email,
      role: 'owner',
    }),
  'the console’s change of an address': (email) =>
    operator.call('PATCH', `/api/operator/people/${owner.id}`, { email }),
  'the operator’s API': (email) =>
    service.call('POST', '/v1/operator/accounts', { key, body: { email } }),
};

const counts = async () => {
  const [row] = await service.db.run<Record<string, bigint>>(sql`
    select (select count(*) from people) as people, (select count(*) from accounts)
      as accounts, (select count(*) from invitations) as invitations,
      (select count(*) from verifications) as links`);
  return row;
};

for (const [door, call] of Object.entries(doors)) {
  describe(door, () => {
    for (const [what, email] of Object.entries(unusable)) {
      test(`refuses an address with ${what}, and makes nothing`, async () => {
        await service.db.run(rawSql('delete from sign_in_windows'));
        const earlier = await counts();
        const { status, body } = await call(email);
        assert.equal(status, 400, JSON.stringify(body));
        assert.deepEqual(
          [body.error.code, body.error.details.reason],
          ['invalid_input', 'email_invalid'],
        );
        assert.deepEqual(await counts(), earlier);
      });
    }
  });
}

describe('on the command line', () => {
  const commands = (email: string) => [
    ['account', 'create', email],
    ['account', 'show', email],
    ['credit', email, '5', '--reference', newId()],
    ['key', 'create', '--account', email],
    ['person', 'invite', email],
    ['person', 'reset-link', email],
    ['person', 'email', owner.email, email],
  ];
  test('an unusable address is refused in words, and makes nothing', async (t) => {
    const place = placeFor(t);
    const env = {
      DATABASE_URL: service.databaseUrl,
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_BASE_URL: service.app.baseUrl,
    };
    for (const email of [
      unusable['a space of no width'],
      unusable['a Greek letter among Latin ones'],
    ])
      for (const command of commands(email)) {
        const earlier = await counts();
        const ran = await place.run([...command, '--json'], env);
        assert.notEqual(ran.code, 0, command.join(' '));
        assert.match(ran.json.error.message, /not a usable e-mail address/, command.join(' '));
        assert.deepEqual(await counts(), earlier);
      }
  });
});

const signInAt = async () => {
  const who = stranger(service);
  const begun = await who.call('POST', '/api/auth/sign-in/social', {
    provider: 'oidc',
    callbackURL: '/dashboard',
    errorCallbackURL: '/sign-in',
  });
  const back = await provider.follow(begun.body.url);
  const { headers } = await who.call('GET', back.pathname + back.search);
  return { who, to: new URL(headers.get('location')!, originOf(service)) };
};

describe('an identity provider', () => {
  for (const [what, email] of Object.entries(unusable)) {
    test(`signs nobody up with ${what}`, async () => {
      const earlier = await counts();
      provider.claims = { sub: newId(), email, email_verified: true };
      const { who, to } = await signInAt();
      assert.deepEqual([to.pathname, to.searchParams.get('error')], ['/sign-in', 'email_invalid']);
      assert.equal((await who.call('GET', '/api/me')).status, 401);
      assert.equal((await counts())!.people, earlier!.people);
    });
  }

  test('cannot name another person by the form that our sign-in gives to the library', async () => {
    const ada = await person(service);
    const email = `${Buffer.from(ada.email).toString('hex')}@email.invalid`;
    provider.claims = { sub: newId(), email, email_verified: true };
    const { who } = await signInAt();
    assert.notEqual((await who.call('GET', '/api/me')).body.person_id, ada.id);
  });

  test('signs in the person who has the address in another spelling', async () => {
    const ada = await person(service);
    provider.claims = {
      sub: newId(),
      email: ada.email.toUpperCase().replace('EXAMPLE', 'ＥＸＡＭＰＬＥ'),
      email_verified: true,
    };
    const { who } = await signInAt();
    assert.equal((await who.call('GET', '/api/me')).body.person_id, ada.id);
  });
});

describe('an address', () => {
  const spellings = [
    { given: 'ＡＤＡ@Example.COM', email: 'ada@example.com', again: 'ada@example.com' },
    {
      given: 'josé@bücher.example',
      email: 'josé@xn--bcher-kva.example',
      again: 'Jose\u0301@BÜCHER.example',
    },
    {
      given: 'почта@пример.рф',
      email: 'почта@xn--e1afmkfd.xn--p1ai',
      again: 'ПОЧТА@xn--e1afmkfd.xn--p1ai',
    },
    {
      given: '山田たろう@例え.テスト',
      email: '山田たろう@xn--r8jz45g.xn--zckzah',
      again: '山田たろう@例え。テスト',
    },
    { given: 'ops@localhost', email: 'ops@localhost', again: 'OPS@localhost' },
  ];
  for (const { given, email, again } of spellings) {
    test(`${given} is one person by each of its spellings`, async () => {
      await service.db.run(rawSql('delete from sign_in_windows'));
      const signUp = (spelling: string, named: string) =>
        stranger(service).call('POST', '/api/sign-up', {
          name: 'Ada',
          email: spelling,
          password: named,
        });
      assert.equal((await signUp(given, password)).status, 200);
      const proven = 'update people set email_verified = true where email = $1 returning id';
      assert.equal((await service.db.run(rawSql(proven, [email]))).length, 1);
      assert.equal((await signUp(again, 'another password')).status, 200);
      for (const spelling of [given, again, email]) {
        const ada = visitorOf(service, '', spelling);
        assert.equal((await ada.signIn()).status, 200, spelling);
        assert.equal((await ada.call('GET', '/api/me')).body.email, email);
        const made = await operator.call('POST', '/api/operator/accounts', {
          email: spelling,
          invite: false,
        });
        assert.equal(made.body.error.details.reason, 'email_taken');
      }
    });
  }

  test('of an earlier version signs in as it is stored, although it would be refused today', async () => {
    for (const stored of [
      'op\u200Bz@old.example',
      'p\u0430st@old.example',
      'ada@bücher.old.example',
    ]) {
      const ada = await person(service);
      await service.db.run(rawSql('update people set email = $2 where id = $1', [ada.id, stored]));
      const again = visitorOf(service, ada.id, stored);
      assert.equal((await again.signIn()).status, 200, JSON.stringify(stored));
      assert.equal((await again.call('GET', '/api/me')).body.person_id, ada.id);
    }
  });
});
