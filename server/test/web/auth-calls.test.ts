/** The calls of the sign-in library, made in other ways than by the pages. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { inShort } from '../kit/long.ts';
import type { Service } from '../kit/service.ts';
import {
  newAddress,
  originOf,
  password,
  person,
  startWebService,
  stranger,
  visitorOf,
  type Person,
} from '../kit/web.ts';

let service: Service;
before(async () => {
  service = await startWebService({ env: { FAREBOX_SMTP_URL: 'smtp://127.0.0.1:1' } });
});
after(() => service.stop());

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

  test('a field that is missing', async () => {
    assert.deepEqual(await refused(stranger(service).call('POST', '/api/auth/sign-in/email', {})), [
      400,
      'bad_request',
      'invalid_request_error',
      'VALIDATION_ERROR',
    ]);
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
