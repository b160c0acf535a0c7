import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openChains } from '../../src/chains/chains.ts';
import { readConfig } from '../../src/read-config.ts';
import { settingsOf, type UpstreamDefinition } from '../../src/core/catalog/upstream-definition.ts';
import { hideInLogs, redact } from '../../src/lib/log.ts';
import { splitCredentials } from '../../src/lib/outbound/address.ts';
import { createFetch, FetchError } from '../../src/lib/outbound/fetch.ts';
import { sendNotification } from '../../src/operations/requests/notification.ts';
import { openStorage } from '../../src/storage/index.ts';
import { falOf } from '../../src/upstreams/fal/wire.ts';
import vectors from '../fixtures/address-vectors.json' with { type: 'json' };
import { serveHttp, type LocalServer } from '../lib/local-server.ts';

/**
 * Each setting that is an address of the operator, with addresses that no call can be made to: they
 * stop the start, and the message names the setting without the address.
 */

const fetch = createFetch({ guard: false });
after(() => fetch.close());
const chainsDir = join(import.meta.dirname, '../../../chains');
const webhookSecret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const xpub = vectors.sets[2]!.xpub_evm;

/** Reads a setting. Returns what is wrong with it; null: nothing. */
type Reader = (address: string) => string | null;

const fromConfig =
  (name: string, more: Record<string, string> = {}): Reader =>
  (address) => {
    try {
      readConfig({ ...more, [name]: address });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
const thrownBy = (work: () => unknown): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};
const definition = { name: 'own', url_from: 'OWN_URL', key_from: null } as UpstreamDefinition;

/** `of`: makes the setting's address of one with https or http. */
const settings: Record<
  string,
  { name: string; read: Reader; takesUser: boolean; of?: (url: string) => string; query?: boolean }
> = {
  'an endpoint of a chain': {
    name: 'FAREBOX_RPC_BSC',
    takesUser: true,
    read: (address) => {
      const { faults } = openChains({
        dir: chainsDir,
        xpubs: { evm: xpub, tron: null },
        variable: (name) => (name === 'FAREBOX_RPC_BSC' ? address : null),
        fetch,
        hide: () => {},
      });
      return faults[0] ?? null;
    },
  },
  "the operator's webhook": {
    name: 'FAREBOX_OPERATOR_WEBHOOK_URL',
    takesUser: true,
    read: fromConfig('FAREBOX_OPERATOR_WEBHOOK_URL', {
      FAREBOX_OPERATOR_WEBHOOK_SECRET: webhookSecret,
    }),
  },
  'the identity provider': {
    name: 'FAREBOX_OIDC_ISSUER',
    takesUser: false,
    query: false,
    read: fromConfig('FAREBOX_OIDC_ISSUER', { FAREBOX_OIDC_CLIENT_ID: 'farebox' }),
  },
  'the base address': {
    name: 'FAREBOX_BASE_URL',
    takesUser: false,
    query: false,
    of: (url) => `${url.replace(/\/$/, '')}/v1`,
    read: fromConfig('FAREBOX_BASE_URL'),
  },
  'the address of the pages': {
    name: 'FAREBOX_WEB_URL',
    takesUser: false,
    query: false,
    of: (url) => url.replace(/\/$/, ''),
    read: fromConfig('FAREBOX_WEB_URL'),
  },
  'the mail server': {
    name: 'FAREBOX_SMTP_URL',
    takesUser: true,
    of: (url) => url.replace(/^http/, 'smtp'),
    read: fromConfig('FAREBOX_SMTP_URL'),
  },
  'an upstream': {
    name: 'OWN_URL',
    takesUser: false,
    query: false,
    read: (address) => {
      const found = settingsOf(definition, (name) => (name === 'OWN_URL' ? address : null));
      return typeof found === 'string' ? found : null;
    },
  },
  'an option of an upstream': {
    name: 'rest_url',
    takesUser: false,
    read: (address) =>
      thrownBy(() =>
        falOf({ url: 'https://fal.run', key: 'k', options: { rest_url: address } }, {} as never),
      ),
  },
  'the storage': {
    name: 'storage address',
    takesUser: true,
    of: (url) =>
      url.replace(/^https?:\/\/([^@]*@)?/, 's3://key:secret@').replace(/\/?$/, '/bucket'),
    read: (address) => thrownBy(() => openStorage(address)),
  },
};

const word = 'hidden-word';
const impossible: Record<string, string> = {
  'a host with a star': `https://*.${word}.example/`,
  'a host with a sign': `https://${word}!.example/`,
  'a host with a hyphen at its end': `https://${word}-.example/`,
  'a port of 0': `https://${word}.example:0/`,
  'a port that is too large': `https://${word}.example:99999/`,
  'a port in letters': `https://${word}.example:http/`,
  'a blank in it': `https://${word} .example/`,
  'a blank at its end': `https://${word}.example/ `,
  'a line end': `https://${word}.example/\n`,
  'a line end in it': `https://${word}\n.example/`,
  'a tab': `https://${word}\t.example/`,
  'a backslash': `https:\\\\${word}.example/`,
  'a fragment': `https://${word}.example/#part`,
  'an empty fragment': `https://${word}.example/#`,
  'no host': `https:///`,
  'an IPv6 address with a zone': 'http://[fe80::1%25eth0]:8545/',
  'an IPv6 address that is not closed': 'http://[fe80::1:8545/',
  'half of an IPv4 address': 'http://10.0.0.999/',
  'too many characters': `https://${word}.example/${'a'.repeat(20_000)}`,
};
const otherSchemes: Record<string, string> = {
  'another scheme': `ftp://${word}.example/`,
  'the scheme of a socket': `ws://${word}.example/`,
  'no scheme': `${word}.example:8545`,
  'no slashes': `https:${word}.example`,
};
const withUser: Record<string, string> = {
  'a user name and a password': `https://me:${word}@one.example/`,
  'a user name alone': `https://${word}@one.example/`,
  'a password alone': `https://:${word}@one.example/`,
};
const usual: Record<string, string> = {
  'a name': 'https://one.example/',
  'a name that no name server knows': 'https://no-such-host.invalid/',
  'a port': 'http://one.example:8545/',
  'a loopback address': 'http://127.0.0.1:8545/',
  'a private address': 'http://10.1.2.3/',
  'a link-local address': 'http://169.254.1.1:8545/',
  'an IPv6 address': 'http://[fd00::1]:8545/',
  'a name of this network': 'http://node:8545/',
  capitals: 'https://ONE.example/',
};

for (const [what, setting] of Object.entries(settings)) {
  const { name, read, takesUser, of = (url) => url, query = true } = setting;
  describe(`${what} (${name})`, () => {
    const wrong = { ...impossible, ...otherSchemes, ...(takesUser ? {} : withUser) };
    for (const [kind, url] of Object.entries(wrong))
      // One endpoint ends at a blank, and another one follows.
      if (!(name === 'FAREBOX_RPC_BSC' && /at its end|^a line end$/.test(kind)))
        test(`is refused with ${kind}, by name and without the address`, () => {
          const address = kind in otherSchemes ? url : of(url);
          const told = read(address) ?? 'taken';
          assert.ok(told.includes(name), told);
          assert.ok(!told.includes(word), told);
        });
    if (!query)
      test('is refused with a query', () => {
        assert.ok(read(of(`https://one.example/?key=${word}`))?.includes(name));
      });
    for (const [kind, url] of Object.entries({ ...usual, ...(takesUser ? withUser : {}) }))
      if (!(name === 'FAREBOX_WEB_URL' && kind === 'capitals'))
        test(`is taken with ${kind}`, () => assert.equal(read(of(url)), null));
  });
}

describe('whatever is taken', () => {
  let server: LocalServer;
  before(async () => {
    server = await serveHttp((req, res) => void res.end(req.headers.authorization ?? 'nobody'));
  });
  after(() => server.close());
  const call = { method: 'GET', maxBytes: 1_000, timeoutMs: 2_000 };

  test('is never refused by the call itself, and the other way round', async () => {
    const all = { ...impossible, ...otherSchemes, ...withUser, ...usual };
    for (const [kind, url] of Object.entries(all)) {
      const near = url.replace(/one\.example(:\d+)?/i, '127.0.0.1:1');
      const isTaken = settings["the operator's webhook"]!.read(near) === null;
      const error: unknown = await fetch
        .request({ ...call, url: isTaken ? splitCredentials(near).url : near, timeoutMs: 300 })
        .catch((thrown: unknown) => thrown);
      const isBlocked = error instanceof FetchError && error.kind === 'blocked';
      // A fragment is never sent, so the call alone would not notice it.
      if (!kind.includes('fragment')) assert.equal(isTaken, !isBlocked, `${kind}: ${error}`);
    }
  });

  const users: [user: string, sent: string][] = [
    ['node:p%40ss', 'node:p@ss'],
    ['node:p@ss', 'node:p@ss'],
    ['us%40er:p%3Aw%2F%23%25', 'us@er:p:w/#%'],
    ['only-user', 'only-user:'],
    [':only-password', ':only-password'],
    ['n%C3%A4me:%E2%82%AC', 'näme:€'],
  ];
  for (const [user, sent] of users)
    test(`signs in as ${sent}`, async () => {
      const url = `http://${user}@127.0.0.1:${server.port}/x`;
      const { body } = await fetch.request({ ...call, ...splitCredentials(url) });
      const [scheme, given] = Buffer.from(body).toString().split(' ');
      assert.deepEqual([scheme, Buffer.from(given!, 'base64').toString()], ['Basic', sent]);
      assert.equal(server.requests.at(-1)!.url, '/x');
    });

  test('is signed in to by an endpoint of a chain', async () => {
    const address = `http://node:p%40ss-${word}@127.0.0.1:${server.port}/`;
    const { live } = openChains({
      dir: chainsDir,
      xpubs: { evm: xpub, tron: null },
      variable: (name) => (name === 'FAREBOX_RPC_BSC' ? address : null),
      fetch,
      hide: hideInLogs,
    });
    await assert.rejects(live[0]!.endpoints[0].rpc('eth_chainId'), (error: Error) => {
      // This endpoint repeats what it was sent.
      assert.match(error.message, /Basic /);
      const shown = redact(`${error.message} ${address} p@ss-${word}`);
      assert.ok(!shown.includes(word), shown);
      const basic = Buffer.from(`node:p@ss-${word}`).toString('base64');
      return !redact(`token=${basic}`).includes(basic);
    });
  });

  test('is signed in to by an event', async () => {
    const address = `http://hook:p%40ss@127.0.0.1:${server.port}/events`;
    const { body, ...receiver } = {
      ...splitCredentials(address),
      body: '{}',
      secrets: [webhookSecret],
    };
    await sendNotification({ id: 'e', body, ...receiver }, { fetch, timeoutMs: 2_000 });
    const { url, headers } = server.requests.at(-1)!;
    const basic = Buffer.from('hook:p@ss').toString('base64');
    assert.deepEqual([url, headers.authorization], ['/events', `Basic ${basic}`]);
  });

  test('but no call takes a password out of an address by itself', async () => {
    const asked = server.requests.length;
    const url = `http://me:secret@127.0.0.1:${server.port}/`;
    await assert.rejects(fetch.request({ ...call, url }), { kind: 'blocked' });
    assert.equal(server.requests.length, asked);
  });
});
