/** The calls of the sign-in library, made in other ways than by the pages. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { inShort } from '../../kit/long.ts';
import {
  newAddress,
  originOf,
  password,
  person,
  stranger,
  visitorOf,
  withWebService,
  type Answer,
  type Person,
} from '../../kit/web.ts';

const { service } = withWebService({ env: { FAREBOX_SMTP_URL: 'smtp://127.0.0.1:1' } });

/** Posts this body unchanged, with this type. */
async function post(path: string, body: string, type: string | null, cookies?: Person['cookies']) {
  const reply = await fetch(`${originOf(service)}${path}`, {
    method: 'POST',
    headers: {
      origin: originOf(service),
      'x-forwarded-for': newAddress(),
      ...(cookies && { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') }),
      ...(type !== null && { 'content-type': type }),
    },
    body: new TextEncoder().encode(body),
  });
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as any };
}

/** Gets this exact target, which `fetch` would normalise. */
async function get(target: string, { cookies }: Person) {
  const { hostname, port, host } = new URL(originOf(service));
  const socket = connect(Number(port), hostname === 'localhost' ? '127.0.0.1' : hostname);
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
  socket.write(
    `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
  );
  const reply = await text(socket);
  return { status: Number(reply.split(' ')[1]), reply };
}

describe('a body that is not JSON', () => {
  const fields = ({ email }: Person) => new URLSearchParams({ email, password }).toString();

  const types = [
    'application/x-www-form-urlencoded',
    'text/plain',
    null,
    'multipart/form-data; boundary=x',
    'application/json-seq',
    'application/vnd.api+json',
  ];
  for (const type of inShort(3, types)) {
    test(`is refused as ${type}, because the limits of an address would not see it`, async () => {
      const ada = await person(service);
      const reply = await post('/api/auth/sign-in/email', fields(ada), type);
      assert.deepEqual([reply.status, reply.body.error.code], [415, 'unsupported_media_type']);
      assert.equal(reply.headers.getSetCookie().length, 0);
    });
  }

  for (const body of ['null', '[]', '"x"', '{"email":', '']) {
    test(`is refused as JSON: ${body || 'nothing'}`, async () => {
      const reply = await post('/api/auth/sign-in/email', body, 'application/json');
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'bad_request']);
    });
  }
});

describe('an address to go on to', () => {
  const elsewhere = [
    'https://evil.example/',
    '//evil.example',
    '/a/..//evil.example/x',
    '/\\evil.example',
    'javascript:alert(1)',
    '/.//evil.example',
    '/a/%2e%2e//evil.example',
    '/\t/evil.example',
  ];
  for (const to of elsewhere) {
    test(`is refused: ${JSON.stringify(to)}`, async () => {
      const query = `callbackURL=${encodeURIComponent(to)}`;
      for (const path of ['verify-email?token=x&', 'reset-password/x?', 'callback/oidc?state=x&']) {
        const reply = await stranger(service).call('GET', `/api/auth/${path}${query}`);
        assert.equal(reply.status, 403, path);
        assert.equal(reply.headers.get('location'), null);
      }
      const { email } = await person(service);
      for (const name of ['callbackURL', 'redirectTo', 'errorCallbackURL', 'newUserCallbackURL']) {
        const body = { email, password, provider: 'oidc', [name]: to };
        for (const path of ['sign-in/email', 'sign-in/social', 'request-password-reset']) {
          const reply = await stranger(service).call('POST', `/api/auth/${path}`, body);
          assert.deepEqual([reply.status, reply.body.error.param], [403, name], path);
          assert.equal(reply.headers.getSetCookie().length, 0);
        }
      }
    });
  }

  test('is accepted if it is one of the pages', async () => {
    for (const to of ['/sign-in', '/sign-in?to=%2Fdashboard', `${originOf(service)}/sign-in`]) {
      const path = `/api/auth/reset-password/x?callbackURL=${encodeURIComponent(to)}`;
      const reply = await stranger(service).call('GET', path);
      const led = new URL(reply.headers.get('location')!, originOf(service));
      assert.equal(led.origin + led.pathname, `${originOf(service)}/sign-in`);
      assert.equal(led.searchParams.get('error'), 'INVALID_TOKEN');
    }
  });
});

describe('a call that the pages do not make', () => {
  for (const target of [
    '/api/auth/reset-password/..\\list-sessions',
    '/api/auth/reset-password/..\\get-session',
    '/api/auth/reset-password/%2e%2e\\list-accounts',
    '/api/auth/reset-password/..%5clist-sessions',
    '/api/auth/reset-password/..\\..\\me',
    '/api/auth/passkey/%6cist-user-passkeys',
    'http://evil.example/api/auth/passkey/list-user-passkeys',
  ]) {
    test(`is not reached as ${target}`, async () => {
      const ada = await person(service);
      const { status, reply } = await get(target, ada);
      assert.ok(status === 404 || status === 400, reply);
      assert.doesNotMatch(reply, /"(token|userId|user)"/);
    });
  }

  test('is not reached by another spelling of its path', async () => {
    const ada = await person(service);
    const body = JSON.stringify({ email: ada.email, password });
    const reply = await post('/api/auth/sign-in/%65mail', body, 'application/json');
    assert.equal(reply.status, 404);
  });
});

describe('the library gets only the fields that the pages send', () => {
  /** A passkey, which only its row knows. */
  async function passkeyOf({ id: person_id }: Person): Promise<string> {
    const id = newId();
    await service.db.run(
      rawSql(
        `insert into passkeys
           (id, person_id, name, public_key, credential_id, counter, device_type, backed_up)
         values ($1::uuid, $2, 'Mine', 'x', $1::uuid::text, 0, 'x', false)`,
        [id, person_id],
      ),
    );
    return id;
  }
  const refusal = ({ status, body }: Answer) => [status, body.error?.code, body.error?.param];
  const provider = { provider: 'oidc', callbackURL: '/' };

  for (const [path, body, param] of [
    ['sign-in/email', {}, 'email'],
    ['sign-in/email', { email: 'a@example.com', password: ['x'] }, 'password'],
    ['sign-in/email', { email: 'a@example.com', password, token: 'x' }, 'token'],
    ['sign-in/social', { ...provider, idToken: { token: 'x' } }, 'idToken'],
    ['sign-in/social', { ...provider, scopes: ['offline_access'] }, 'scopes'],
    ['sign-in/social', { ...provider, additionalParams: { prompt: 'none' } }, 'additionalParams'],
    ['sign-in/social', { provider: 'another' }, 'provider'],
    ['two-factor/enable', { password, issuer: 'x'.repeat(50_000) }, 'issuer'],
    ['two-factor/verify-totp', { code: 123_456 }, 'code'],
    ['two-factor/verify-totp', { code: '1'.repeat(65) }, 'code'],
    ['two-factor/verify-backup-code', { code: 'x', disableSession: true }, 'disableSession'],
    ['passkey/update-passkey', { id: 'x', name: 'Mine' }, 'id'],
    ['passkey/delete-passkey', { id: 'x' }, 'id'],
  ] as const) {
    test(`not ${param} of ${path}: ${JSON.stringify(body).slice(0, 70)}`, async () => {
      const ada = await person(service);
      const reply = await ada.call('POST', `/api/auth/${path}`, body);
      assert.deepEqual(refusal(reply), [400, 'bad_request', param], reply.text);
    });
  }

  for (const name of ['', ' ', 'x'.repeat(101), 'Mine\u202E', 'a\u0007b', 5]) {
    test(`not as the name of a passkey: ${JSON.stringify(name).slice(0, 20)}`, async () => {
      const ada = await person(service);
      const id = await passkeyOf(ada);
      const body = { id, name };
      const reply = await ada.call('POST', '/api/auth/passkey/update-passkey', body);
      assert.deepEqual(refusal(reply), [400, 'bad_request', 'name'], reply.text);
      const [row] = await service.db.run(rawSql('select name from passkeys where id = $1', [id]));
      assert.deepEqual(row, { name: 'Mine' });
    });
  }

  test('but the name of a passkey is changed and the passkey removed', async () => {
    const ada = await person(service);
    const id = await passkeyOf(ada);
    const named = await ada.call('POST', '/api/auth/passkey/update-passkey', { id, name: 'Phone' });
    assert.deepEqual([named.status, named.body.passkey?.name], [200, 'Phone']);
    const removed = await ada.call('POST', '/api/auth/passkey/delete-passkey', { id });
    assert.equal(removed.status, 200);
  });

  test('and no query that the pages do not send', async () => {
    const ada = await person(service);
    const path = '/api/auth/passkey/generate-register-options?name=Eve&authenticatorAttachment=x';
    const { status, body } = await ada.call('GET', path);
    assert.deepEqual([status, body.user.name], [200, ada.email]);
    for (const query of ['state=%00', 'state=a&state=b', 'code=x&state=a%00b'])
      assert.equal((await ada.call('GET', `/api/auth/callback/oidc?${query}`)).status, 400, query);
  });
});

test('a failure inside the library is logged like every other, not printed', async (t) => {
  const printed = t.mock.method(console, 'error', () => {});
  const ada = await person(service);
  await service.db.run(rawSql('alter table passkeys rename to passkeys_away'));
  try {
    const reply = await ada.call('GET', '/api/auth/passkey/list-user-passkeys');
    assert.deepEqual([reply.status, reply.body.error.code], [500, 'internal_error']);
    const line = service.log.find((each) => each.includes(reply.body.error.request_id))!;
    assert.match(line, /passkeys/);
  } finally {
    await service.db.run(rawSql('alter table passkeys_away rename to passkeys'));
  }
  assert.equal(printed.mock.callCount(), 0);
});

describe("the library's refusals have the form of all refusals", () => {
  const refused = async (answer: Promise<{ status: number; headers: Headers; body: any }>) => {
    const { status, headers, body } = await answer;
    assert.deepEqual(Object.keys(body), ['error']);
    const { code, type, message, request_id, details } = body.error;
    assert.ok(message.length > 0);
    assert.equal(request_id, headers.get('x-request-id'));
    return [status, code, type, details?.reason];
  };

  test('a wrong password', async () => {
    const { email } = await person(service);
    const wrong = { email, password: 'a wrong password' };
    assert.deepEqual(
      await refused(stranger(service).call('POST', '/api/auth/sign-in/email', wrong)),
      [401, 'unauthorized', 'authentication_error', 'INVALID_EMAIL_OR_PASSWORD'],
    );
  });

  test('an unknown provider', async () => {
    const body = { provider: 'oidc', callbackURL: '/' };
    assert.deepEqual(
      await refused(stranger(service).call('POST', '/api/auth/sign-in/social', body)),
      [404, 'not_found', 'invalid_request_error', 'PROVIDER_NOT_FOUND'],
    );
  });

  test('too many calls, with the time to wait', async () => {
    const guesser = stranger(service);
    const guess = (i: number) =>
      guesser.call('POST', '/api/auth/sign-in/email', { email: `g${i}@example.com`, password });
    for (let i = 0; i < 10; i++) assert.equal((await guess(i)).status, 401);
    const last = await guess(10);
    assert.deepEqual((await refused(Promise.resolve(last))).slice(0, 3), [
      429,
      'rate_limited',
      'rate_limit_error',
    ]);
    const seconds = Number(last.headers.get('retry-after'));
    assert.ok(seconds > 1 && seconds <= 60, String(seconds));
  });

  test('without a session', async () => {
    const path = '/api/auth/passkey/list-user-passkeys';
    const told = await refused(stranger(service).call('GET', path));
    assert.deepEqual(told.slice(0, 3), [401, 'unauthorized', 'authentication_error']);
  });
});

describe('from another place', () => {
  test('with the same host name and another scheme or port, a change is refused', async () => {
    const ada = await person(service);
    const own = new URL(originOf(service));
    for (const origin of [`https://${own.host}`, `http://${own.hostname}:1`, 'null']) {
      const other = visitorOf(service, ada.id, ada.email);
      const reply = await other.call(
        'POST',
        '/api/auth/sign-in/email',
        { email: ada.email, password },
        { origin },
      );
      assert.equal(reply.status, 403, origin);
      assert.equal(other.cookies.size, 0);
      assert.equal((await ada.call('PATCH', '/api/me', { name: 'Eve' }, { origin })).status, 403);
    }
  });
});

test("a stranger's address to go on to is not logged", async () => {
  const long = `/${'x'.repeat(3000)}\\spoken-by-a-stranger`;
  const query = new URLSearchParams({ callbackURL: long }).toString();
  const path = `/api/auth/reset-password/x?${query}`;
  assert.equal((await stranger(service).call('GET', path)).status, 403);
  const body = { provider: 'spoken-by-a-stranger', callbackURL: '/' };
  await stranger(service).call('POST', '/api/auth/sign-in/social', body);
  assert.ok(!service.log.some((line) => line.includes('spoken-by-a-stranger')));
});
