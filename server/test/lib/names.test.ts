import assert from 'node:assert/strict';
import { hostname as machineName } from 'node:os';
import { describe, test } from 'node:test';

import { atEnd } from '../kit/at-end.ts';
import {
  createLookup,
  ownAddresses,
  resolvesToPublic,
  lookUpBySystem,
  type Fetch,
  type FetchOptions,
  type Lookup,
} from '../../src/lib/outbound/fetch.ts';
import cases from '../fixtures/ssrf-cases.json' with { type: 'json' };
import { serveNames, type Answer } from './name-server.ts';
import { assertBlocked, assertFault, client, forbiddenListener, http, limits } from './outbound.ts';

const publicIp = '93.184.216.34';
const forbidden = await forbiddenListener();
/**
 * A customer's server that behaves as the path says. It is reachable only if a test allows its
 * name.
 */
const hook = await http((req, res) => {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://hook');
  const to = searchParams.get('to');
  if (to !== null) res.setHeader('location', to);
  if (searchParams.has('alt')) {
    res.setHeader('alt-svc', `http/1.1="127.0.0.1:${forbidden.port}"; ma=3600`);
  }
  res.writeHead(Number(pathname.slice(1))).end('hello');
});
const guarded = (options: Partial<FetchOptions> = {}): Fetch => client({ guard: true, ...options });

/**
 * The real resolver, asking a name server of ours. `answer` sees how often the name was asked for
 * before, and silence is given up after `timeoutMs`.
 */
async function names(
  answer: (times: number) => Answer | null,
  timeoutMs = 1_500,
): Promise<Lookup & { asked: string[] }> {
  const times = { a: 0, aaaa: 0 };
  const server = await serveNames((_name, type) => answer(times[type]++));
  atEnd(() => server.close());
  const lookup = createLookup({ servers: [server.address], hostsFile: '/dev/null', timeoutMs });
  return Object.assign(lookup, { asked: server.asked });
}

describe('names', () => {
  /**
   * Asserts that the call is blocked, and that the check before it calls the address not public.
   */
  async function assertNeverPublic(answer: Answer): Promise<void> {
    const lookup = await names(() => answer);
    assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'not_public');
    await assertBlocked(send(lookup));
  }

  async function assertUnresolved(answer: Answer | null): Promise<void> {
    const lookup = await names(() => answer);
    assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'unresolved');
    await assertFault(send(lookup), 'dns', false);
  }

  function send(lookup: Lookup, options: Partial<FetchOptions> = {}): Promise<unknown> {
    const fetch = guarded({ lookup, connectTimeoutMs: 1000, ...options });
    return fetch.request({ url: `http://hook.example-farm.com:${forbidden.port}/`, ...limits });
  }

  /** Asserts that the server's answer comes back unchanged, without a further call. */
  async function assertReturned(path: string, status: number): Promise<void> {
    const lookup: Lookup = async () => ['127.0.0.1'];
    const fetch = guarded({
      guard: { allowHosts: [`hook.example-farm.com:${hook.port}`] },
      lookup,
    });
    const seen = hook.requests.length;
    const reply = await fetch.request({
      url: `http://hook.example-farm.com:${hook.port}${path}`,
      ...limits,
    });
    assert.equal(reply.status, status);
    assert.equal(hook.requests.length, seen + 1);
  }

  const privately = { a: ['127.0.0.1'] };
  const publicly = { a: [publicIp] };
  const scenarios: Record<string, () => Promise<void>> = {
    '127.0.0.1.nip.io': () => assertNeverPublic(privately),
    'localtest.me': () => assertNeverPublic({ a: ['127.0.0.1'], aaaa: ['::1'] }),
    'A public + A private mixed': () => assertNeverPublic({ a: [publicIp, '10.0.0.5'] }),
    'A public, AAAA private': () => assertNeverPublic({ a: [publicIp], aaaa: ['fd00::1'] }),
    'AAAA ::ffff:127.0.0.1': () => assertNeverPublic({ aaaa: ['::ffff:127.0.0.1'] }),
    'AAAA 64:ff9b::7f00:1': () => assertNeverPublic({ aaaa: ['64:ff9b::7f00:1'] }),
    'CNAME to localhost': () => assertNeverPublic({ ...privately, cname: 'localhost' }),
    'CNAME to internal name': () => assertNeverPublic({ a: ['10.0.0.5'], cname: 'db.internal' }),
    'TTL 0: public on check, private on connect': async () => {
      const lookup = await names((times) => (times === 0 ? publicly : privately));
      assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'public');
      await assertBlocked(send(lookup));
    },
    'public first 3 answers, private on 4th': async () => {
      const lookup = await names((times) => (times < 3 ? publicly : privately));
      for (let i = 0; i < 3; i++) {
        assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'public');
      }
      await assertBlocked(send(lookup));
    },
    'answers change between retries': async () => {
      const lookup = await names((times) => (times % 2 === 1 ? publicly : privately));
      for (let i = 0; i < 3; i++) {
        await assertBlocked(send(lookup));
        assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'public');
      }
    },
    NXDOMAIN: () => assertUnresolved({ code: 3 }),
    SERVFAIL: () => assertUnresolved({ code: 2 }),
    'resolver hang 30 s': async () => {
      const lookup = await names(() => null, 100);
      const begun = performance.now();
      await assertFault(send(lookup, { connectTimeoutMs: 150 }), 'dns', false);
      assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'unresolved');
      assert.ok(performance.now() - begun < 5000);
    },
    '1000 A records, last private': async () => {
      const many = Array.from({ length: 999 }, (_, i) => `93.184.${i >> 8}.${i & 255}`);
      await assertNeverPublic({ a: [...many, '10.0.0.5'] });
    },
    'empty answer': () => assertUnresolved({}),
    'redirect 301/302/303/307/308 to private': async () => {
      for (const status of [301, 302, 303, 307, 308]) {
        await assertReturned(`/${status}?to=${encodeURIComponent(forbidden.url)}`, status);
      }
    },
    'redirect chain of 20 public hops': () => assertReturned('/302?to=/302%3Fto%3D/302', 302),
    'redirect https->http': () => assertReturned('/301?to=http://hook.example-farm.com/', 301),
    'redirect to file:': () => assertReturned('/302?to=file:///etc/passwd', 302),
    'Alt-Svc header to private': async () => {
      await assertReturned('/200?alt', 200);
      await assertReturned('/200?alt', 200);
    },
    'own public address (hairpin)': async () => {
      const lookup = await names(() => publicly);
      await assertBlocked(send(lookup, { own: [publicIp] }));
      assert.equal(
        await resolvesToPublic('hook.example-farm.com', lookup, new Set([publicIp])),
        'not_public',
      );
    },
    'own hostname': async () => {
      const lookup = await names(() => publicly);
      await assertBlocked(send(lookup, { own: ['Hook.example-farm.com'] }));
      const own = ownAddresses(['hook.example-farm.com']);
      assert.ok(own.has(machineName().toLowerCase()));
      assert.equal(await resolvesToPublic('hook.example-farm.com', lookup, own), 'not_public');
      assert.deepEqual(lookup.asked, []);
    },
  };

  test('every scenario of the list is tested', () => {
    assert.deepEqual(Object.keys(scenarios), cases.dns);
  });

  for (const [name, play] of Object.entries(scenarios)) {
    test(`${name}: the forbidden listener hears nothing`, async () => {
      const seen = await forbidden.heard();
      await play();
      assert.equal(await forbidden.heard(), seen);
    });
  }

  test('one family without an answer fails the look-up: it could hide an address', async () => {
    await assertUnresolved({ a: [publicIp], code: 2, failing: 'aaaa' });
  });

  test('one family without an address is fine', async () => {
    const only4 = await names(() => ({ a: [publicIp] }));
    assert.deepEqual(await only4('hook.example-farm.com'), [publicIp]);
    const only6 = await names(() => ({ aaaa: ['2606:4700::1111'] }));
    assert.deepEqual(await only6('hook.example-farm.com'), ['2606:4700::1111']);
    assert.equal(await resolvesToPublic('hook.example-farm.com', only6), 'public');
  });

  test('of a thousand addresses each is judged, and all are found public', async () => {
    const many = Array.from({ length: 1000 }, (_, i) => `93.184.${i >> 8}.${i & 255}`);
    const lookup = await names(() => ({ a: many }));
    assert.equal((await lookup('hook.example-farm.com')).length, 1000);
    assert.equal(await resolvesToPublic('hook.example-farm.com', lookup), 'public');
  });

  test('an invalid address from a look-up is refused', async () => {
    await assertBlocked(send(async () => [publicIp, 'fe80::1%lo']));
    await assertBlocked(send(async () => ['2130706433']));
  });

  test('a literal address is judged without a look-up', async () => {
    const never: Lookup = () => assert.fail('asked');
    assert.equal(await resolvesToPublic('10.0.0.1', never), 'not_public');
    assert.equal(await resolvesToPublic('[::1]', never), 'not_public');
    assert.equal(await resolvesToPublic('[2606:4700::1111]', never), 'public');
  });

  test('a look-up that never answers is unresolved after 2 s', async () => {
    const begun = performance.now();
    assert.equal(
      await resolvesToPublic('hook.example-farm.com', () => new Promise(() => {})),
      'unresolved',
    );
    const waitedMs = performance.now() - begun;
    assert.ok(waitedMs > 1900 && waitedMs < 6000, `${waitedMs} ms`);
  });

  test('the hosts file overrides the name server', async () => {
    const server = await serveNames(() => publicly);
    atEnd(() => server.close());
    const lookup = createLookup({ servers: [server.address] });
    assert.ok((await lookup('localhost')).includes('127.0.0.1'));
    assert.deepEqual(server.asked, []);
    assert.ok((await lookUpBySystem('localhost')).length > 0);
  });
});
