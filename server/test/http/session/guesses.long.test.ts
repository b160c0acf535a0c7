/** Sign-in against guessing and probing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hashPassword } from '../../../src/lib/password.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { invite } from '../../../src/operations/accounts/person.ts';
import type { Service } from '../../kit/service.ts';
import { totp } from '../../kit/totp.ts';
import { until } from '../../kit/until.ts';
import {
  newAddress,
  password,
  person,
  startWebService,
  stranger,
  visitorOf,
  type Answer,
  type Person,
} from '../../kit/web.ts';

/** The app's next code, which is already accepted, because each code works only once. */
const nextCode = (secret: string) => totp(secret, Date.now() + 30_000);

let service: Service;
before(async () => {
  service = await startWebService();
});
after(() => service.stop());

const signInAs = (who: Person, email: string, given = password, headers = {}) =>
  who.call('POST', '/api/auth/sign-in/email', { email, password: given }, headers);
/** The parts of an answer that a caller can compare. */
const told = ({ status, headers, body }: Answer) => ({
  status,
  headers: [...headers]
    .filter(([name]) => !['date', 'x-request-id'].includes(name))
    .map(([name, value]) => (name === 'set-cookie' ? name : `${name}: ${value}`)),
  body: body?.error ? { ...body.error, request_id: undefined } : body,
});

describe('guessing is limited', () => {
  const statuses = async (count: number, work: (i: number) => Promise<Answer>) => {
    const all = [];
    for (let i = 0; i < count; i++) all.push((await work(i)).status);
    return all;
  };

  test('from one address, whichever e-mail addresses are tried', async () => {
    const guesser = stranger(service);
    const all = await statuses(12, (i) => signInAs(guesser, `guess${i}@example.com`));
    assert.deepEqual(all, [...Array(10).fill(401), 429, 429]);
    assert.equal((await (await person(service)).signIn()).status, 200);
  });

  test("from one address, without using up the tried person's attempts", async () => {
    const ada = await person(service);
    const from = { 'x-forwarded-for': newAddress() };
    const guesser = stranger(service);
    const count = rawSql('select count(*) as n from sign_in_windows');
    const all = await statuses(10, (i) => signInAs(guesser, `taken${i}@example.com`, 'x', from));
    assert.deepEqual(all, Array(10).fill(401));
    const [before] = await service.db.run<{ n: bigint }>(count);
    const refused = await statuses(25, () => signInAs(guesser, ada.email, 'a wrong one', from));
    assert.deepEqual(refused, Array(25).fill(429));
    assert.deepEqual(await service.db.run(count), [before]);
    const own = { 'x-forwarded-for': newAddress() };
    assert.equal((await signInAs(stranger(service), ada.email, password, own)).status, 200);
  });

  test('at one e-mail address, from however many addresses; known and unknown alike', async () => {
    const ada = await person(service);
    const guess = (email: string) =>
      statuses(21, () =>
        signInAs(stranger(service), email, 'a wrong one', { 'x-forwarded-for': newAddress() }),
      );
    // The sign-in that created this person counts too.
    assert.deepEqual(await guess(ada.email), [...Array(19).fill(401), 429, 429]);
    assert.deepEqual(await guess('nobody21@example.com'), [...Array(20).fill(401), 429]);
  });

  test('at signing up, in a whole network of IPv6', async () => {
    const all = await statuses(11, (i) =>
      stranger(service).call(
        'POST',
        '/api/sign-up',
        { name: 'x', email: 'none', password },
        { 'x-forwarded-for': `2001:db8:1:2::${i}` },
      ),
    );
    assert.deepEqual(all, [...Array(10).fill(400), 429]);
  });

  test('by the address alone, if the proxy writes the port of each connection too', async () => {
    const guesser = stranger(service);
    const guess = (from: string) =>
      signInAs(guesser, `guess${from}@example.com`.replace(/[^\w@.]/g, ''), 'x', {
        'x-forwarded-for': from,
      });
    const wrong = await statuses(11, (i) => guess(`203.0.113.110:${50_000 + i}`));
    assert.deepEqual(wrong, [...Array(10).fill(401), 429]);
    const others = ['198.51.100.77:40001', '[2001:db8:99::1]:443', '203.0.113.111', '"[::7]:80"'];
    for (const from of others) assert.equal((await guess(from)).status, 401, from);
    const spellings = ['203.0.113.110', '::ffff:203.0.113.110', '"[::ffff:cb00:716e]:9"'];
    for (const from of spellings) assert.equal((await guess(from)).status, 429, from);
  });

  test('at links of invitations', async () => {
    const guesser = stranger(service);
    const all = await statuses(61, () => guesser.call('POST', '/api/invitation', { token: 'x' }));
    assert.deepEqual([all[59], all[60]], [404, 429]);
  });

  test('at the codes of an authenticator app, from however many addresses, for a while', async () => {
    const ada = await person(service);
    const enabled = await ada.call('POST', '/api/auth/two-factor/enable', { password });
    const secret = new URL(enabled.body.totpURI).searchParams.get('secret')!;
    const verify = (who: Person, code: string) =>
      who.call(
        'POST',
        '/api/auth/two-factor/verify-totp',
        { code },
        { 'x-forwarded-for': newAddress() },
      );
    assert.equal((await verify(ada, totp(secret))).status, 200);
    const wrong = String((Number(totp(secret)) + 1) % 1e6).padStart(6, '0');
    const seen = new Set<string>();
    for (let attempt = 0; attempt < 2; attempt++) {
      const thief = visitorOf(service, ada.id, ada.email);
      assert.equal((await thief.signIn()).body.twoFactorRedirect, true);
      assert.equal((await thief.call('GET', '/api/me')).status, 401);
      for (let i = 0; i < 5; i++) seen.add((await verify(thief, wrong)).body.error.details.reason);
    }
    assert.deepEqual([...seen], ['INVALID_CODE']);
    const thief = visitorOf(service, ada.id, ada.email);
    await thief.signIn();
    const right = await verify(thief, nextCode(secret));
    assert.deepEqual(
      [right.status, right.body.error.details.reason],
      [429, 'ACCOUNT_TEMPORARILY_LOCKED'],
    );
    assert.equal((await thief.call('GET', '/api/me')).status, 401);
    await service.db.run(
      rawSql(`update two_factors set locked_until = now() - interval '1 s' where person_id = $1`, [
        ada.id,
      ]),
    );
    const later = visitorOf(service, ada.id, ada.email);
    await later.signIn();
    assert.equal((await verify(later, nextCode(secret))).status, 200);
  });

  test('at a code that was used, or is older than a used one', async () => {
    const ada = await person(service);
    const { body } = await ada.call('POST', '/api/auth/two-factor/enable', { password });
    const secret = new URL(body.totpURI).searchParams.get('secret')!;
    const use = async (who: Person, code: string) => {
      const path = '/api/auth/two-factor/verify-totp';
      const from = { 'x-forwarded-for': newAddress() };
      const { status, body: said } = await who.call('POST', path, { code }, from);
      return status === 200 ? 'in' : said.error.details.reason;
    };
    const comes = async () => {
      const who = visitorOf(service, ada.id, ada.email);
      await who.signIn();
      return who;
    };
    const [older, newer] = [totp(secret), nextCode(secret)];
    assert.equal(await use(ada, older), 'in');
    assert.equal(await use(await comes(), older), 'INVALID_CODE');
    const both = await Promise.all([await comes(), await comes()].map((who) => use(who, newer)));
    assert.deepEqual(both.sort(), ['INVALID_CODE', 'in']);
    for (const code of [older, newer]) assert.equal(await use(await comes(), code), 'INVALID_CODE');
  });

  test('at a backup code, which works once', async () => {
    const ada = await person(service);
    const { body } = await ada.call('POST', '/api/auth/two-factor/enable', { password });
    const secret = new URL(body.totpURI).searchParams.get('secret')!;
    await ada.call('POST', '/api/auth/two-factor/verify-totp', { code: totp(secret) });
    const [code] = body.backupCodes;
    const use = async () => {
      const other = visitorOf(service, ada.id, ada.email);
      await other.signIn();
      return (await other.call('POST', '/api/auth/two-factor/verify-backup-code', { code })).status;
    };
    assert.deepEqual([await use(), await use()], [200, 401]);
    const [row] = await service.db.run<{ secret: string; backup_codes: string }>(
      rawSql('select secret, backup_codes from two_factors where person_id = $1', [ada.id]),
    );
    assert.ok(!row!.secret.includes(secret) && !row!.backup_codes.includes(body.backupCodes[1]));
  });
});

describe('a stranger learns nothing about people', () => {
  test('at signing in', async () => {
    const ada = await person(service);
    const [known, unknown] = [
      await signInAs(stranger(service), ada.email, 'a wrong one'),
      await signInAs(stranger(service), 'unknown@example.com', 'a wrong one'),
    ];
    assert.deepEqual(told(unknown), told(known));
  });

  test('at signing in, by its duration: a hash is computed for unknown addresses too', async () => {
    const ada = await person(service);
    await service.db.run(
      rawSql('update logins set password = $1 where person_id = $2', [
        await hashPassword(password),
        ada.id,
      ]),
    );
    const emails = [ada.email, 'unknown2@example.com'];
    const times: number[][] = [[], []];
    // In turn, so that a slow moment of the machine affects both.
    for (let i = 0; i < 14; i++) {
      const started = performance.now();
      await signInAs(stranger(service), emails[i % 2]!, 'a wrong one');
      times[i % 2]!.push(performance.now() - started);
    }
    const [known, unknown] = times.map((all) => all.sort((a, b) => a - b)[3]!) as [number, number];
    assert.ok(unknown > known / 3 && known > unknown / 3, `${known} ms, ${unknown} ms`);
  });

  test('at signing up', async () => {
    const ada = await person(service);
    const signUp = (email: string) =>
      stranger(service).call('POST', '/api/sign-up', { name: 'Eve', email, password });
    assert.deepEqual(told(await signUp(ada.email)), told(await signUp('free@example.com')));
  });

  test('at invitations: used, expired, withdrawn and unknown ones have one answer', async () => {
    const { account_id } = await service.account();
    const make = async (after: string) => {
      const made = await invite(service.db, {
        account_id,
        email: 'x@example.com',
        role: 'owner',
        invited_by: null,
      });
      await service.db.run(rawSql(after, [made.id]));
      return made.token;
    };
    const tokens = [
      await make('update invitations set accepted_at = now() where id = $1'),
      await make(`update invitations set expires_at = now() - interval '1 s' where id = $1`),
      await make('delete from invitations where id = $1'),
      'never-made',
    ];
    const answers = await Promise.all(
      tokens.map((token) => stranger(service).call('POST', '/api/invitation', { token })),
    );
    for (const answer of answers) assert.deepEqual(told(answer), told(answers[0]!));
    assert.equal(answers[0]!.status, 404);
  });
});

test('an authenticator app and its backup codes survive a change of the signing secret', async () => {
  const ada = await person(service);
  const { body } = await ada.call('POST', '/api/auth/two-factor/enable', { password });
  const secret = new URL(body.totpURI).searchParams.get('secret')!;
  await ada.call('POST', '/api/auth/two-factor/verify-totp', { code: totp(secret) });
  const sealed = async () =>
    (
      await service.db.run<{ secret: string }>(
        rawSql('select secret from two_factors where person_id = $1', [ada.id]),
      )
    )[0]!.secret;
  const before = await sealed();
  const [old, next] = [
    'a secret of at least thirty-two characters',
    'another one of at least thirty-two characters',
  ];
  const during = { FAREBOX_SECRET: next, FAREBOX_SECRET_PREVIOUS: old };
  const rotated = { ...service, app: (await service.another(during)).app };
  await signInAs(stranger(rotated), 'nobody3@example.com');
  await until('a new seal', async () => (await sealed()) !== before);
  const after = { ...service, app: (await service.another({ FAREBOX_SECRET: next })).app };
  const again = visitorOf(after, ada.id, ada.email);
  assert.equal((await again.signIn()).body.twoFactorRedirect, true);
  const answer = await again.call('POST', '/api/auth/two-factor/verify-totp', {
    code: nextCode(secret),
  });
  assert.equal(answer.status, 200);
  const other = visitorOf(after, ada.id, ada.email);
  await other.signIn();
  const [code] = body.backupCodes;
  const used = await other.call('POST', '/api/auth/two-factor/verify-backup-code', { code });
  assert.equal(used.status, 200);
});
