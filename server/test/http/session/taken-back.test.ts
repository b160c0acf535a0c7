/** When a person changes how they sign in, earlier sessions and trusted browsers end. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { resetTwoFactors } from '../../../src/operations/accounts/manage-person.ts';
import { requirePerson, resetLink } from '../../../src/operations/accounts/person.ts';
import { totp } from '../../kit/totp.ts';
import {
  newAddress,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

const { service } = withWebService();

const newPassword = 'a whole new one';
/** A call from a new address. */
const auth = (who: Person, path: string, body: object) =>
  who.call('POST', `/api/auth${path}`, body, { 'x-forwarded-for': newAddress() });
const signIn = (who: Person, given: string) =>
  auth(who, '/sign-in/email', { email: who.email, password: given });
const reset = (token: string) => auth(stranger(service), '/reset-password', { newPassword, token });

async function setUp(who: Person): Promise<{ secret: string; backupCodes: string[] }> {
  const { body } = await auth(who, '/two-factor/enable', { password });
  const secret = new URL(body.totpURI).searchParams.get('secret')!;
  const { status } = await auth(who, '/two-factor/verify-totp', { code: totp(secret) });
  assert.equal(status, 200);
  return { secret, backupCodes: body.backupCodes };
}

/** A person with an authenticator app, and a browser that was trusted with a code. */
async function trusted() {
  const ada = await person(service);
  const { backupCodes } = await setUp(ada);
  const browser = visitorOf(service, ada.id, ada.email);
  await browser.signIn();
  const [code] = backupCodes;
  const path = '/two-factor/verify-backup-code';
  assert.equal((await auth(browser, path, { code, trustDevice: true })).status, 200);
  const thief = visitorOf(service, ada.id, ada.email);
  const cookie = [...browser.cookies].find(([name]) => name.includes('trust_device'));
  thief.cookies.set(...cookie!);
  return { ada, thief };
}

describe('a browser that is trusted', () => {
  test('signs in without a code', async () => {
    const { thief } = await trusted();
    assert.equal((await thief.signIn()).body.twoFactorRedirect, undefined);
    assert.equal((await thief.call('GET', '/api/me')).status, 200);
  });

  const changes: [string, (ada: Person) => Promise<unknown>, string?][] = [
    [
      'a new password',
      (ada) => auth(ada, '/change-password', { currentPassword: password, newPassword }),
      newPassword,
    ],
    [
      'a password set with a link',
      async (ada) => reset(await resetLink(service.db, ada.email)),
      newPassword,
    ],
    ['signing the other browsers out', (ada) => ada.call('DELETE', '/api/me/sessions')],
    [
      'signing one of them out',
      async (ada) => {
        const { sessions } = (await ada.call('GET', '/api/me/security')).body;
        const { session_id } = sessions.find(({ is_this }: { is_this: boolean }) => !is_this);
        return ada.call('DELETE', `/api/me/sessions/${session_id}`);
      },
    ],
    [
      'another app',
      async (ada) => {
        await auth(ada, '/two-factor/disable', { password });
        return setUp(ada);
      },
    ],
    [
      'another app after the operator took the old one away',
      async (ada) => {
        await resetTwoFactors(service.db, await requirePerson(service.db, ada.email));
        return setUp(ada);
      },
    ],
  ];
  for (const [what, change, now = password] of changes) {
    test(`needs a code again after ${what}`, async () => {
      const { ada, thief } = await trusted();
      await change(ada);
      assert.equal((await signIn(thief, now)).body.twoFactorRedirect, true);
      assert.equal((await thief.call('GET', '/api/me')).status, 401);
    });
  }
});

describe('links to a new password', () => {
  test('are all void once one of them is used', async () => {
    const ada = await person(service);
    const [older, newer] = [
      await resetLink(service.db, ada.email),
      await resetLink(service.db, ada.email),
    ];
    assert.deepEqual([(await reset(newer)).status, (await reset(older)).status], [200, 400]);
  });

  test('are void once the password is changed; those of others are not', async () => {
    const [ada, eve] = [await person(service), await person(service)];
    const [own, other] = [
      await resetLink(service.db, ada.email),
      await resetLink(service.db, eve.email),
    ];
    await auth(ada, '/change-password', { currentPassword: password, newPassword });
    assert.deepEqual([(await reset(own)).status, (await reset(other)).status], [400, 200]);
  });

  test('become void in the same write as a new password or app', async () => {
    const [ada, eve] = [await person(service), await person(service)];
    const left = async () => {
      const rows = await service.db.run<{ value: string }>(sql`select value from verifications
        where value in (${ada.id}, ${eve.id})`);
      return rows.map(({ value }) => value);
    };
    await resetLink(service.db, eve.email);
    for (const write of [
      `update logins set password = 'other' where person_id = $1`,
      `insert into two_factors (id, person_id, secret, backup_codes, verified)
       values (gen_random_uuid(), $1, 's', 'b', false)`,
      'update two_factors set verified = true where person_id = $1',
      'delete from two_factors where person_id = $1',
    ]) {
      await resetLink(service.db, ada.email);
      assert.equal((await left()).length, 2);
      await service.db.run(rawSql(write, [ada.id]));
      assert.deepEqual(await left(), [eve.id], write);
    }
    await resetLink(service.db, ada.email);
    await service.db.run(sql`update logins set updated_at = now() where person_id = ${ada.id}`);
    assert.equal((await left()).length, 2);
  });

  test('cannot be made from the database', async () => {
    const ada = await person(service);
    const token = await resetLink(service.db, ada.email);
    const [row] = await service.db.run<{ identifier: string }>(sql`
      select identifier from verifications where value = ${ada.id}`);
    const { identifier } = row!;
    assert.ok(!identifier.includes(token));
    for (const wrong of [identifier, identifier.replace(/^.*:/, '')])
      assert.equal((await reset(wrong)).status, 400);
    assert.equal((await reset(token)).status, 200);
  });
});

describe('a new password', () => {
  test('always signs all other browsers out', async () => {
    for (const more of [{}, { revokeOtherSessions: false }]) {
      const ada = await person(service);
      const other = visitorOf(service, ada.id, ada.email);
      await other.signIn();
      const body = { currentPassword: password, newPassword, ...more };
      assert.equal((await auth(ada, '/change-password', body)).status, 200);
      assert.equal((await other.call('GET', '/api/me')).status, 401);
      assert.equal((await ada.call('GET', '/api/me')).status, 200);
    }
  });
});

describe('a stranger at a signed-in browser', () => {
  const guess = { password: 'a wrong one' };
  const paths: [string, object][] = [
    ['/change-password', { currentPassword: 'a wrong one', newPassword }],
    ['/two-factor/enable', guess],
    ['/two-factor/disable', guess],
    ['/two-factor/generate-backup-codes', guess],
    ['/two-factor/verify-totp', { code: '000000' }],
    ['/two-factor/verify-backup-code', { code: '00000-00000' }],
  ];

  test('cannot guess the password, also from many addresses', async () => {
    const ada = await person(service);
    for (let i = 0; i < 20; i++) {
      const { status } = await auth(ada, ...paths[i % paths.length]!);
      assert.ok(status === 400 || status === 401, `${i}: ${status}`);
    }
    for (const path of paths) assert.equal((await auth(ada, ...path)).status, 429, path[0]);
    assert.equal((await auth(await person(service), ...paths[0]!)).status, 400);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
  });
});

test('the calls of the sign-in library take only JSON, so that every try is counted', async () => {
  const ada = await person(service);
  const form = new URLSearchParams({ email: ada.email, password }).toString();
  const origin = new URL(service.app.baseUrl).origin;
  for (const path of ['/sign-in/email', '/change-password']) {
    const reply = await fetch(`${origin}/api/auth${path}`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    });
    assert.equal(reply.status, 415, path);
    assert.equal(reply.headers.getSetCookie().length, 0);
  }
});
