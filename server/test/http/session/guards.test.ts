/** Sign-in against forgers and eavesdroppers. */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { webRoutes } from '../../../src/http/session/routes.ts';
import type { Service } from '../../kit/service.ts';
import {
  operatorOf,
  originOf,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Person,
} from '../../kit/web.ts';

/** A call as from a browser that uses this address. */
function comeBy(host: string, path: string): Promise<{ status: number; to: string | undefined }> {
  const { port, hostname } = new URL(service.base);
  return new Promise((resolve, reject) => {
    const call = get({ host: hostname, port, path, headers: { host } }, (reply) => {
      reply.resume();
      resolve({ status: reply.statusCode!, to: reply.headers.location });
    });
    call.on('error', reject);
  });
}

const { service } = withWebService();

const signInAs = (who: Person, email: string, given = password) =>
  who.call('POST', '/api/auth/sign-in/email', { email, password: given });
test('on this machine, a page redirects to the address from which changes are accepted', async () => {
  const origin = originOf(service);
  const { port } = new URL(origin);
  const path = '/dashboard/keys?state=all';
  for (const name of ['127.0.0.1', '[::1]', '127.0.0.2'])
    assert.deepEqual(await comeBy(`${name}:${port}`, path), { status: 302, to: origin + path });
  // Not at the pages' own address, not with another name or port, and not for calls of the pages.
  for (const host of [`localhost:${port}`, `farebox.example:${port}`, '127.0.0.1:1', '127.0.0.1'])
    assert.deepEqual(await comeBy(host, path), { status: 200, to: undefined }, host);
  const call = await comeBy(`127.0.0.1:${port}`, '/api/me');
  assert.deepEqual(call, { status: 401, to: undefined });
  const elsewhere = await comeBy(`127.0.0.1:${port}`, '//farebox.example/');
  assert.ok(elsewhere.to === undefined || elsewhere.to.startsWith(`${origin}/`));
});

test('an old address of the dashboard redirects to the new one', async () => {
  const { host } = new URL(originOf(service));
  const moved = [
    ['/cabinet', '/dashboard'],
    ['/cabinet/keys?state=all&to=/cabinet', '/dashboard/keys?state=all&to=/cabinet'],
    ['/%63abinet/keys', '/dashboard/keys'],
    ['/cabinet//evil.example', '/dashboard//evil.example'],
    ['http://evil.example/cabinet', '/dashboard'],
  ] as const;
  for (const [path, to] of moved) assert.deepEqual(await comeBy(host, path), { status: 308, to });
  assert.deepEqual(await comeBy(host, '/cabinets'), { status: 404, to: undefined });
});

describe('the calls of the sign-in library', () => {
  const own: [string, string, object?][] = [
    ['POST', '/change-password', { currentPassword: password, newPassword: 'a whole new one' }],
    ['POST', '/two-factor/enable', { password }],
    ['POST', '/two-factor/disable', { password }],
    ['POST', '/two-factor/generate-backup-codes', { password }],
    ['POST', '/two-factor/verify-totp', { code: '000000' }],
    ['POST', '/two-factor/verify-backup-code', { code: '00000-00000' }],
    ['GET', '/passkey/generate-register-options'],
    ['POST', '/passkey/verify-registration', { response: {} }],
    ['GET', '/passkey/list-user-passkeys'],
    ['POST', '/passkey/update-passkey', { id: newId(), name: 'x' }],
    ['POST', '/passkey/delete-passkey', { id: newId() }],
  ];
  for (const [method, path, body] of own) {
    test(`${method} ${path} needs a session`, async () => {
      const reply = await stranger(service).call(method, `/api/auth${path}`, body);
      assert.equal(reply.status, 401);
      assert.equal(reply.headers.getSetCookie().length, 0);
    });
  }

  test('that the pages do not use do not exist, also with a session', async () => {
    const ada = await person(service);
    const gone = `GET /get-session, GET /list-sessions, POST /revoke-session, POST /revoke-sessions,
      POST /update-user, POST /update-session, POST /sign-up/email, POST /change-email,
      POST /delete-user, GET /list-accounts, POST /unlink-account, POST /link-social,
      POST /get-access-token, POST /refresh-token, GET /account-info, POST /verify-password,
      POST /two-factor/get-totp-uri, POST /two-factor/send-otp, POST /two-factor/verify-otp,
      GET /error, GET /ok`;
    for (const line of gone.split(/,\s+/)) {
      const [method, path] = line.split(' ') as [string, string];
      const reply = await ada.call(method, `/api/auth${path}`, method === 'GET' ? undefined : {});
      assert.ok(reply.status === 404 || reply.status === 405, `${line}: ${reply.status}`);
    }
  });

  test('never answer with the token of a session', async () => {
    const ada = await person(service);
    const answers = [
      await ada.signIn(),
      await ada.call('GET', '/api/me'),
      await ada.call('GET', '/api/me/security'),
      await ada.call('GET', '/api/auth/passkey/list-user-passkeys'),
      await ada.call('POST', '/api/auth/change-password', {
        currentPassword: password,
        newPassword: 'a whole new one',
        revokeOtherSessions: true,
      }),
    ];
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const token = decodeURIComponent([...ada.cookies.values()].join()).split('.')[0]!;
    assert.ok(token.length > 20);
    for (const { text } of answers) assert.doesNotMatch(text, /"token"/);
    assert.ok(!answers.some(({ text }) => text.includes(token)));
  });

  test('add no passkey if the sign-in was long ago', async () => {
    const ada = await person(service);
    const path = '/api/auth/passkey/generate-register-options';
    assert.equal((await ada.call('GET', path)).status, 200);
    await service.db.run(sql`update sessions set created_at = now() - interval '2 h'
      where person_id = ${ada.id}`);
    const late = await ada.call('GET', path);
    assert.deepEqual([late.status, late.body.error.details.reason], [403, 'SESSION_NOT_FRESH']);
  });
});

describe('a session', () => {
  test('that is ended is refused from the next call on', async () => {
    const { account_id } = await service.account();
    const ada = await person(service, { [account_id]: 'owner' });
    const other = visitorOf(service, ada.id, ada.email);
    await other.signIn();
    const { body } = await ada.call('GET', '/api/me/security');
    assert.deepEqual(
      body.sessions.map(({ is_this }: { is_this: boolean }) => is_this),
      [false, true],
    );
    const [{ session_id }] = body.sessions;
    const ended = await ada.call('DELETE', `/api/me/sessions/${session_id}`);
    assert.equal(ended.status, 200);
    assert.equal((await other.of(account_id).call('GET', '/balance')).status, 401);
    assert.equal((await ada.of(account_id).call('GET', '/balance')).status, 200);
    assert.equal((await ada.call('DELETE', `/api/me/sessions/${session_id}`)).status, 404);
  });

  test('of another person cannot be ended', async () => {
    const [ada, eve] = [await person(service), await person(service)];
    const { body } = await ada.call('GET', '/api/me');
    for (const id of [body.session_id, 'x', `${body.session_id}'`])
      assert.equal((await eve.call('DELETE', `/api/me/sessions/${id}`)).status, 404);
    assert.equal((await eve.call('DELETE', '/api/me/sessions')).body.ended, 0);
    assert.equal((await ada.call('GET', '/api/me')).status, 200);
  });

  test('is new at each sign-in: a planted one is not reused', async () => {
    const [ada, eve] = [await person(service), await person(service)];
    const planted = visitorOf(service, ada.id, ada.email);
    for (const [name, value] of eve.cookies) planted.cookies.set(name, value);
    await planted.signIn();
    assert.equal((await planted.call('GET', '/api/me')).body.email, ada.email);
    // The planted session was this browser's before, so it ends.
    assert.equal((await eve.call('GET', '/api/me')).status, 401);
    assert.notDeepEqual([...planted.cookies], [...eve.cookies]);
  });

  test('cannot be forged from the database', async () => {
    const ada = await person(service);
    const [name, value] = [...ada.cookies].find(([each]) => each.endsWith('session_token'))!;
    const token = decodeURIComponent(value).split('.')[0]!;
    const forged = stranger(service);
    for (const wrong of [token, `${token}.`, `${token}.${'A'.repeat(43)}=`, `x${value}`]) {
      forged.cookies.set(name, encodeURIComponent(wrong));
      assert.equal((await forged.call('GET', '/api/me')).status, 401, wrong);
    }
    forged.cookies.set(name, value);
    assert.equal((await forged.call('GET', '/api/me')).status, 200);
  });

  test('lives on while it is used, in the browser as well', async () => {
    const ada = await person(service);
    assert.equal((await ada.call('GET', '/api/me')).headers.getSetCookie().length, 0);
    await service.db.run(sql`update sessions set expires_at = now() + interval '2 days'
      where person_id = ${ada.id}`);
    const { headers } = await ada.call('GET', '/api/me');
    assert.match(headers.getSetCookie().join(), /session_token=.*Max-Age=1209600/);
    await service.db.run(sql`update sessions set expires_at = now() - interval '1 s'
      where person_id = ${ada.id}`);
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
  });
});

describe('headers to a browser', () => {
  const cookieAt = async (baseUrl: string) => {
    const { app, base } = await service.another({ FAREBOX_BASE_URL: baseUrl });
    const { email } = await person(service);
    const reply = await fetch(`${base}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { origin: originOf({ app } as Service), 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    assert.equal(reply.status, 200);
    const page = await fetch(`${base}/sign-in`);
    return {
      cookie: reply.headers.getSetCookie().find((each) => each.includes('session_token'))!,
      device: reply.headers.getSetCookie().find((each) => each.includes('.device'))!,
      hsts: page.headers.get('strict-transport-security'),
    };
  };

  test('over https: a cookie of this host only, and HSTS', async () => {
    const { cookie, device, hsts } = await cookieAt('https://farebox.example/v1');
    assert.match(device, /^__Host-farebox\.device=\S+; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/);
    assert.match(
      cookie,
      /^__Host-farebox\.session_token=\S+; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    assert.equal(hsts, 'max-age=31536000');
  });

  // Safari accepts no secure cookie without https, not even from localhost.
  for (const url of ['http://farebox.test/v1', 'http://localhost:8080/v1'])
    test(`over plain http: a cookie that each browser keeps and no script reads, ${url}`, async () => {
      const { cookie, device, hsts } = await cookieAt(url);
      assert.match(device, /^farebox\.device=\S+; Path=\/; .*HttpOnly; SameSite=Lax$/);
      assert.match(
        cookie,
        /^farebox\.session_token=\S+; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      assert.equal(hsts, null);
    });

  test('with each page: only our own scripts, no frames, no referrer', async () => {
    const nonces = new Set<string>();
    for (const path of [
      '/studio',
      '/sign-in',
      '/reset?token=secret',
      '/dashboard/team',
      '/operator',
    ]) {
      const { status, headers, text } = await stranger(service).call('GET', path);
      assert.equal(status, 200, path);
      const policy = headers.get('content-security-policy')!;
      const nonce = /'nonce-([^']+)'/.exec(policy)![1]!;
      nonces.add(nonce);
      assert.ok(text.includes(nonce));
      assert.match(policy, /^default-src 'none'; script-src 'self' 'nonce-/);
      for (const part of ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
        assert.ok(policy.includes(part), part);
      assert.doesNotMatch(policy, /unsafe|\*/);
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'same-origin');
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
      assert.equal(headers.get('cache-control'), 'no-store');
    }
    assert.equal(nonces.size, 5);
  });

  test('with data about people: no caching', async () => {
    const ada = await person(service);
    for (const path of ['/api/me', '/api/me/security', '/api/auth/passkey/list-user-passkeys'])
      assert.equal((await ada.call('GET', path)).headers.get('cache-control'), 'no-store', path);
  });
});

test('no password, code or token is logged or stored in clear', async () => {
  const { account_id } = await service.account();
  const ada = await person(service, { [account_id]: 'owner' });
  const secret = 'a password that stands nowhere';
  await signInAs(stranger(service), ada.email, secret);
  await signInAs(stranger(service), secret, secret);
  await ada.call('POST', '/api/sign-up', { name: 'x', email: 'log@example.com', password: secret });
  const made = await ada
    .of(account_id)
    .call('POST', '/invitations', { email: 'y@example.com', role: 'owner' });
  const token = new URL(made.body.url).searchParams.get('token')!;
  const session = decodeURIComponent([...ada.cookies.values()].join()).split('.')[0]!;
  const log = service.log.join('\n');
  for (const text of [secret, password, token, session]) assert.ok(!log.includes(text), text);
  const [kept] = await service.db.run<{ n: bigint }>(sql`
    select count(*) as n from (select to_jsonb(l)::text as row from logins l
       union all select to_jsonb(i)::text from invitations i
       union all select to_jsonb(w)::text from sign_in_windows w) t
       where position(${secret} in row) > 0 or position(${token} in row) > 0 or position(${ada.email} in row) > 0`);
  assert.equal(kept!.n, 0n);
});

test('a path with a NUL character, which the database cannot store, is not found', async () => {
  const { account_id } = await service.account();
  const operator = await operatorOf(service);
  const owner = await person(service, { [account_id]: 'owner' });
  const named = webRoutes.filter(({ path }) => /^\/api\/(?!auth\/).*:/.test(path));
  const calls = named.flatMap(({ method, path }) => {
    const own = path.replace(':account_id', account_id);
    return own.includes(':')
      ? [
          [method, own.replace(/:\w+/g, '%00')] as const,
          [method, own.replace(/:\w+/g, 'a%00b')] as const,
        ]
      : [];
  });
  assert.ok(calls.some(([, path]) => path === '/api/operator/chains/%00/resume'));
  for (const [method, path] of calls) {
    const who = path.startsWith('/api/operator') ? operator : owner;
    const { status, body } = await who.call(method, path, method === 'GET' ? undefined : {});
    assert.deepEqual([status, body?.error.code], [404, 'not_found'], `${method} ${path}`);
  }
});
