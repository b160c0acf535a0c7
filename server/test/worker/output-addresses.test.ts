import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, beforeEach, describe, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { App } from '../../src/app.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { createFake, tinyPng } from '../kit/fake.ts';
import { before, withService } from '../kit/with-service.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';
import { card, moneyOf, passDeadline, rowOf, submitted, wake } from './floor.ts';

/** Outputs at addresses: what is followed, what is refused, and when a try is the last one. */

type Answer = (res: ServerResponse, req: IncomingMessage) => void;

/** The upstream's own server, another public one, and one that only the operator may reach. */
let own: LocalServer;
let other: LocalServer;
let inside: LocalServer;
/** May fetch from `own` and `other`. */
let app: App;
/** The same, and gives up a try after half a second. */
let hasty: App;
let closedPort: number;
/** Answers by path, at each server. */
const pages: Record<string, Answer> = {};
const fake = createFake();
const long = `ok.png?sig=${'s'.repeat(8_000)}`;

const to =
  (location: string, status = 302): Answer =>
  (res) =>
    res.writeHead(status, { location }).end('moved');
const picture: Answer = (res) => res.end(tinyPng);
const status =
  (code: number, body: string | Buffer = 'no'): Answer =>
  (res) =>
    res.writeHead(code).end(body);
/** The picture, as the beginning of a file of so many bytes. */
const part =
  (all: number): Answer =>
  (res) =>
    res.writeHead(206, { 'content-range': `bytes 0-${tinyPng.length - 1}/${all}` }).end(tinyPng);
const coded =
  (label: string, body: Buffer): Answer =>
  (res) =>
    res.writeHead(200, label ? { 'content-encoding': label } : {}).end(body);

const { service, account } = withService(async () => {
  const answer = (req: IncomingMessage, res: ServerResponse) =>
    (pages[req.url!] ?? status(404))(res, req);
  [own, other, inside] = await Promise.all([
    serveHttp(answer),
    serveHttp(answer),
    serveHttp(answer),
  ]);
  fake.origin = own.url;
  const closed = await serveHttp(answer);
  await closed.close();
  closedPort = closed.port;
  const lookup = () => Promise.reject(new Error('ENOTFOUND'));
  return { fake, lookup, account: { open_jobs: 1_000 } };
});
before(async () => {
  const env = {
    FAREBOX_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${other.port},127.0.0.1:${closedPort}`,
    FAREBOX_OUTPUT_MAX_BYTES: '20000',
  };
  app = (await service.another(env)).app;
  const soon = { FAREBOX_OUTPUT_SECONDS: '0.25', FAREBOX_STEP_TIMEOUT_SECONDS: '0.25' };
  hasty = (await service.another({ ...env, ...soon })).app;
});
after(() => Promise.all([own.close(), other.close(), inside.close()]));
beforeEach(() => {
  for (const server of [own, other, inside]) server.requests.length = 0;
  for (const path of Object.keys(pages)) delete pages[path];
  pages['/ok.png'] = picture;
});

/** Submits, and lets the upstream finish with an output at this address. */
async function finished(url: string, by = app): Promise<string> {
  const source = { url, headers: { authorization: 'Bearer theirs' } };
  fake.behave.poll = () => ({
    state: 'done',
    result: { media: [{ field: 'images', source }], fields: {} },
  });
  const id = await submitted(account);
  await by.worker!.runOnce();
  await again(id, by);
  return id;
}

async function again(id: string, by = app): Promise<void> {
  await wake(service, id);
  await by.worker!.runOnce();
}

/** Lets the first failed try lie `seconds` back. */
const passed = (id: string, seconds: number) =>
  service.db.run(sql`update attempts set unfetched_at = now() - ${seconds}::float8 * interval '1 s'
    where request_id = ${id}`);

/** The key that each request brought, by server and path. */
const keysAt = (server: LocalServer) =>
  server.requests.map(({ url, headers }) => [url, headers.authorization ?? 'none']);

async function assertUnfetched(id: string): Promise<void> {
  const { status: state, error, output_urls } = await card(account, id);
  assert.deepEqual(
    [state, error?.code, error?.details, output_urls],
    ['FAILED', 'output_unusable', { reason: 'not_fetched' }, []],
  );
  assert.match(error.message, /could not be fetched|must not be fetched/);
  assert.doesNotMatch(JSON.stringify(error), /127\.0\.0\.1|theirs|\.png/);
  assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
}

describe('an output is delivered', () => {
  /** `keys`: what each server was asked, and whether with the upstream's key. */
  const cases: [
    what: string,
    first: () => string,
    more: () => Record<string, Answer>,
    keys: () => [own: string[][], other: string[][]],
  ][] = [
    ...[301, 302, 303, 307, 308].map((code): (typeof cases)[number] => [
      `through a ${code} on its own server, with the key`,
      () => `${own.url}/a`,
      () => ({ '/a': to('/ok.png', code) }),
      () => [
        [
          ['/a', 'Bearer theirs'],
          ['/ok.png', 'Bearer theirs'],
        ],
        [],
      ],
    ]),
    [
      'on a store, which does not get the key',
      () => `${own.url}/a`,
      () => ({ '/a': to(`${other.url}/ok.png`) }),
      () => [[['/a', 'Bearer theirs']], [['/ok.png', 'none']]],
    ],
    [
      'through a store that leads back, without the key',
      () => `${own.url}/a`,
      () => ({ '/a': to(`${other.url}/b`), '/b': to(`${own.url}/ok.png`) }),
      () => [
        [
          ['/a', 'Bearer theirs'],
          ['/ok.png', 'none'],
        ],
        [['/b', 'none']],
      ],
    ],
    [
      'after five redirects, relative ones too',
      () => `${other.url}/x/1`,
      () => ({
        '/x/1': to('2'),
        '/x/2': to('./3', 307),
        '/x/3': to('../x/4?q=1#part'),
        '/x/4?q=1': to(`//127.0.0.1:${other.port}/x/5`),
        '/x/5': to('/ok.png', 301),
      }),
      () => [
        [],
        ['/x/1', '/x/2', '/x/3', '/x/4?q=1', '/x/5', '/ok.png'].map((path) => [
          path,
          'Bearer theirs',
        ]),
      ],
    ],
    [
      'at an address with bare spaces and letters',
      () => `${other.url}/a b/ü.png`,
      () => ({ '/a%20b/%C3%BC.png': to('/c d.png'), '/c%20d.png': picture }),
      () => [
        [],
        [
          ['/a%20b/%C3%BC.png', 'Bearer theirs'],
          ['/c%20d.png', 'Bearer theirs'],
        ],
      ],
    ],
    [
      'at a signed address of 8,000 characters',
      () => `${own.url}/a`,
      () => ({ '/a': to(`${other.url}/${long}`), [`/${long}`]: picture }),
      () => [[['/a', 'Bearer theirs']], [[`/${long}`, 'none']]],
    ],
    [
      'at an address that a redirect gives in UTF-8',
      () => `${other.url}/a`,
      () => ({ '/a': to(Buffer.from('/ü.png').toString('latin1')), '/%C3%BC.png': picture }),
      () => [
        [],
        [
          ['/a', 'Bearer theirs'],
          ['/%C3%BC.png', 'Bearer theirs'],
        ],
      ],
    ],
    ...[
      coded('gzip', gzipSync(tinyPng)),
      coded('br', brotliCompressSync(tinyPng)),
      coded('', gzipSync(tinyPng)),
      coded('gzip', tinyPng),
      coded('br', tinyPng),
      coded('deflate', tinyPng),
      coded('deflate', deflateSync(tinyPng)),
      coded('deflate', deflateRawSync(tinyPng)),
      coded('gzip, gzip', gzipSync(gzipSync(tinyPng))),
      coded('br, gzip', gzipSync(brotliCompressSync(tinyPng))),
    ].map((answer, i): (typeof cases)[number] => [
      `compressed or labelled so, ${i}`,
      () => `${other.url}/a`,
      () => ({ '/a': answer }),
      () => [[], [['/a', 'Bearer theirs']]],
    ]),
    [
      'with 201',
      () => `${other.url}/a`,
      () => ({ '/a': status(201, tinyPng) }),
      () => [[], [['/a', 'Bearer theirs']]],
    ],
    [
      'with 206, as a part that is the whole',
      () => `${other.url}/a`,
      () => ({ '/a': part(tinyPng.length) }),
      () => [[], [['/a', 'Bearer theirs']]],
    ],
    [
      'with 203, by a proxy',
      () => `${other.url}/a`,
      () => ({ '/a': status(203, tinyPng) }),
      () => [[], [['/a', 'Bearer theirs']]],
    ],
  ];
  for (const [what, first, more, keys] of cases)
    test(what, async () => {
      Object.assign(pages, more());
      const id = await finished(first());
      const shown = await card(account, id);
      assert.equal(shown.status, 'COMPLETED', JSON.stringify(shown.error));
      assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
      assert.deepEqual([keysAt(own), keysAt(other)], keys());
    });
});

describe('an output is refused at once, and nobody inside is asked', () => {
  const cases: [what: string, first: () => string, more: () => Record<string, Answer>][] = [
    [
      'behind a redirect to this machine',
      () => `${own.url}/a`,
      () => ({ '/a': to(`${inside.url}/ok.png`) }),
    ],
    [
      'behind a second redirect to this machine',
      () => `${own.url}/a`,
      () => ({ '/a': to(`${other.url}/b`), '/b': to(`${inside.url}/ok.png`, 308) }),
    ],
    [
      "behind a redirect to the cloud's secrets",
      () => `${other.url}/a`,
      () => ({ '/a': to('http://169.254.169.254/latest/meta-data') }),
    ],
    [
      'behind a redirect to a name of the inner network',
      () => `${other.url}/a`,
      () => ({ '/a': to('http://vault.internal/') }),
    ],
    ['behind a redirect to a file', () => `${other.url}/a`, () => ({ '/a': to('file:///etc/x') })],
    [
      'behind a redirect with a password',
      () => `${other.url}/a`,
      () => ({ '/a': to(`http://a:b@127.0.0.1:${other.port}/ok.png`) }),
    ],
    [
      'behind a redirect to nonsense',
      () => `${other.url}/a`,
      () => ({ '/a': to('http://[::/ok.png') }),
    ],
  ];
  for (const [what, first, more] of cases)
    test(what, async () => {
      Object.assign(pages, more());
      const id = await finished(first());
      await assertUnfetched(id);
      assert.deepEqual(keysAt(inside), []);
    });
});

describe('an output that cannot be fetched is tried for some minutes, then the request ends', () => {
  const drip: Answer = (res) => {
    const each = setInterval(() => res.write('x'), 20);
    res.on('close', () => clearInterval(each));
  };
  /** `gone`: its address says that there is nothing. `endless`: each try lasts as long as it may. */
  const cases: [what: string, answer: Answer | string, how?: 'gone' | 'endless'][] = [
    ['404', status(404), 'gone'],
    ['403 of an expired link', status(403, '<Error><Code>AccessDenied</Code></Error>'), 'gone'],
    ['410', status(410), 'gone'],
    ['401', status(401)],
    ['202, not there yet', status(202)],
    ['204', status(204)],
    ['206, a part', part(tinyPng.length + 1)],
    ['206 that does not say of what', status(206, tinyPng)],
    ['429', status(429)],
    ['500', status(500)],
    ['302 without an address', status(302)],
    ['a loop of redirects', to('/a')],
    ['a broken connection', (res) => res.destroy()],
    [
      'a body that breaks off',
      (res) => {
        res.writeHead(200, { 'content-length': tinyPng.length });
        res.write(tinyPng.subarray(0, 20), () => res.destroy());
      },
    ],
    ['a body that drips', drip, 'endless'],
    ['no answer', () => {}, 'endless'],
    ['no HTTP', (res) => void res.socket!.end('hello\r\n\r\n')],
    ['an unknown name', 'https://media.farebox-nowhere.net/a.png'],
    ['a redirect to an unknown name', to('https://media.farebox-nowhere.net/a.png')],
    ['a closed port', 'closed'],
  ];
  for (const [what, answer, how] of cases)
    test(what, async () => {
      const by = how === 'endless' ? hasty : app;
      if (typeof answer !== 'string') pages['/a'] = answer;
      const closed = `http://127.0.0.1:${closedPort}/a`;
      const url = answer === 'closed' ? closed : answer;
      const id = await finished(typeof url === 'string' ? url : `${other.url}/a`, by);
      const isOpen = async () => (await rowOf(service, id)).status === 'IN_PROGRESS';
      assert.equal(await isOpen(), true, 'a second try may succeed');
      for (const [seconds, open] of [
        [110, true],
        [130, how !== 'gone'],
        [590, how !== 'gone'],
        [610, false],
      ] as const) {
        if (!(await isOpen())) break;
        await passed(id, seconds);
        await again(id, by);
        assert.equal(await isOpen(), open, `after ${seconds} s`);
      }
      await assertUnfetched(id);
      const { error_cause } = (
        await service.db.run<{ error_cause: string }>(sql`select error_cause from request_results
          where request_id = ${id}`)
      )[0]!;
      assert.match(error_cause, /output/);
      assert.doesNotMatch(error_cause, /theirs/);
    });

  test('one that comes back in time is delivered and charged once', async () => {
    pages['/a'] = status(403);
    const id = await finished(`${other.url}/a`);
    await passed(id, 100);
    await again(id);
    pages['/a'] = picture;
    await again(id);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('among several it costs the others nothing, and keeps them waiting for two minutes', async () => {
    pages['/a'] = status(500);
    const media = ['/a', '/ok.png'].map((path) => ({
      field: 'images',
      source: { url: other.url + path },
    }));
    fake.behave.poll = () => ({ state: 'done', result: { media, fields: {} } });
    const id = await submitted(account);
    for (let i = 0; i < 2; i++) await again(id);
    await passed(id, 100);
    await again(id);
    assert.equal((await card(account, id)).status, 'IN_PROGRESS');
    await passed(id, 130);
    await again(id);
    const { status: state, output_urls } = await card(account, id);
    assert.deepEqual([state, output_urls.length], ['COMPLETED', 1]);
    const path = `/v1/requests/${id}/response`;
    const { body } = await account.get(path);
    assert.match(String(body.left_out), /could not be fetched/);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('never beyond the time of the job, and it is not called slow then', async () => {
    pages['/a'] = status(500);
    const id = await finished(`${other.url}/a`);
    await passDeadline(service, id);
    await app.worker!.runOnce();
    await assertUnfetched(id);
  });

  test('status and response say the same', async () => {
    pages['/a'] = status(404);
    const id = await finished(`${other.url}/a`);
    await passed(id, 130);
    await again(id);
    const { error } = await card(account, id);
    const path = `/v1/requests/${id}`;
    const shown = await account.get(`${path}/status`);
    assert.deepEqual(shown.body.error, error);
    const response = await account.get(`${path}/response`);
    assert.deepEqual([response.status, response.body.error.details.error], [409, error]);
  });
});

test('an output with too many bytes has its own reason', async () => {
  const endless: Answer = (res) => {
    res.write(tinyPng);
    const each = setInterval(() => res.write(Buffer.alloc(5_000)), 1);
    res.on('close', () => clearInterval(each));
  };
  for (const answer of [endless, status(200, Buffer.concat([tinyPng, Buffer.alloc(20_000)]))]) {
    pages['/a'] = answer;
    pages['/b'] = to('/a');
    const id = await finished(`${other.url}/b`);
    const { error } = await card(account, id);
    assert.equal(error?.code, 'output_too_large');
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  }
});
