import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

import {
  createFetch,
  type Fetch,
  type FetchOptions,
  type Lookup,
} from '../../src/lib/outbound/fetch.ts';
import { urlLengthMax } from '../../src/lib/outbound/address.ts';
import cases from '../fixtures/ssrf-cases.json' with { type: 'json' };
import {
  assertBlocked,
  assertFault,
  client,
  forbiddenListener,
  http,
  limits,
  text,
} from './outbound.ts';

const publicIp = '93.184.216.34';
const forbidden = await forbiddenListener();
/** A private host that some clients may call. */
const hook = await http((_req, res) => res.end('hello'));
const guarded = (options: Partial<FetchOptions> = {}): Fetch => client({ guard: true, ...options });

describe('a guarded call', () => {
  test('is refused for every URL of the list, before anything is sent', async (t) => {
    const fetch = guarded({ connectTimeoutMs: 1 });
    const seen = await forbidden.heard();
    // Only callers' addresses have the short limit of length: signed ones that follow may be longer.
    const refused = cases.refuse.filter(({ url }) => url.length <= urlLengthMax);
    for (const { url } of refused) await assertBlocked(fetch.request({ url, ...limits }));
    for (const { url } of cases.refuse.slice(0, 50)) {
      await assertBlocked(fetch.stream({ url, idleTimeoutMs: 1000, maxBytes: 1 }));
    }
    assert.equal(await forbidden.heard(), seen);
    t.diagnostic(`figure: ${refused.length} addresses refused`);
  });

  test('is refused if the same call without a guard succeeds', async () => {
    const { port } = forbidden;
    const urls = [
      `http://127.0.0.1:${port}/`,
      `http://127.1:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f.1:${port}/`,
      `http://0177.0.0.1:${port}/`,
      `http://0:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://127.0.0.1.nip.io:${port}/`,
      `http://localhost:${port}/`,
    ];
    const lookup: Lookup = async () => ['127.0.0.1'];
    const open = client({ lookup });
    const shut = guarded({ lookup });
    let seen = await forbidden.heard();
    for (const url of urls) {
      await assertBlocked(shut.request({ url, ...limits }));
      assert.equal(await forbidden.heard(), seen, url);
      const reply = await open.request({ url, ...limits });
      assert.equal(text(reply.body), 'secret', url);
      seen = await forbidden.heard();
    }
  });

  test('is refused for a literal address of our own', async () => {
    const fetch = guarded({ own: [publicIp, '2606:4700:0::1111'] });
    await assertBlocked(fetch.request({ url: `http://${publicIp}/`, ...limits }));
    await assertBlocked(fetch.request({ url: 'http://[2606:4700::1111]/', ...limits }));
  });

  test('reaches a private host allowed by name and port, and no other', async () => {
    const lookup: Lookup = async () => ['127.0.0.1'];
    const fetch = guarded({ guard: { allowHosts: [`comfyui:${hook.port}`] }, lookup });
    const reply = await fetch.request({ url: `http://comfyui:${hook.port}/`, ...limits });
    assert.equal(reply.status, 200);
    const seen = await forbidden.heard();
    await assertBlocked(fetch.request({ url: `http://comfyui:${forbidden.port}/`, ...limits }));
    await assertBlocked(fetch.request({ url: `http://127.0.0.1:${hook.port}/`, ...limits }));
    await assertBlocked(fetch.request({ url: `http://comfyui.com:${hook.port}/`, ...limits }));
    await assertBlocked(fetch.request({ url: `http://a.comfyui:${hook.port}/`, ...limits }));
    assert.equal(await forbidden.heard(), seen);
  });

  test('an allowed host without a port may be called on any, an IPv6 one in brackets', async () => {
    const anyPort = guarded({ guard: { allowHosts: ['127.0.0.1', '[::1]:1'] } });
    assert.equal((await anyPort.request({ url: `${hook.url}/`, ...limits })).status, 200);
    await assertFault(anyPort.request({ url: 'http://[::1]:1/', ...limits }), 'refused', false);
    await assertBlocked(anyPort.request({ url: 'http://[::1]:2/', ...limits }));
  });

  for (const entry of ['', 'http://a.com', 'a.com/x', 'a.com:99999999', '::1', 'u@a.com', 'a b']) {
    test(`cannot be set up with ${JSON.stringify(entry)} as an allowed host`, () => {
      assert.throws(
        () => createFetch({ guard: { allowHosts: [entry] } }),
        /neither host nor host:port/,
      );
    });
  }

  test('uses only https if configured', async () => {
    const fetch = guarded({ guard: { allowHosts: ['127.0.0.1'] }, httpsOnly: true });
    const seen = hook.requests.length;
    await assertBlocked(fetch.request({ url: `${hook.url}/`, ...limits }));
    assert.equal(hook.requests.length, seen);
  });
});

describe('in a network of its own', () => {
  const rig = new URL('./guard-rig.ts', import.meta.url).pathname;
  const tried = spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']);
  const skip =
    tried.status === 0 ? false : 'needs the right to make a network namespace (unshare -n) and ip';

  test('no forbidden address is ever hit, and the public ones are', { skip }, async () => {
    const { stdout } = await promisify(execFile)('unshare', ['-n', process.execPath, rig]);
    const found = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual(found, {
      unguarded_hits: [
        '127.0.0.1',
        '169.254.169.254',
        '10.0.0.5',
        '100.100.100.200',
        '168.63.129.16',
        'fd00:ec2::254',
      ],
      guarded_hits: [],
      guarded_blocked: 'all',
      public_hits: ['93.184.216.34', '2606:4700::1111'],
      kept_connections: 0,
      flips_delivered: 500,
      flips_blocked: 500,
      flips_forbidden_hits: 0,
      own_interface: 'blocked',
      wrong_peer: 'does not lead to a public address',
    });
  });
});
