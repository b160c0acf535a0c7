import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import cases from '../../../test/fixtures/ssrf-cases.json' with { type: 'json' };
import { isLong } from '../../../test/kit/long.ts';
import { canonicalAddress, isPublicAddress, judgeUrl, urlLengthMax } from './address.ts';

/** The fixture's ranges as numbers, computed without the code under test. */
const ranges4 = cases.ranges.v4.map(([cidr = '']) => bounds(cidr, 32));
const ranges6 = cases.ranges.v6.map(([cidr = '']) => bounds(cidr, 128));

describe('judgeUrl', () => {
  test('refuses every URL of the list, in every spelling', () => {
    assert.equal(cases.refuse.length, 811);
    const passed = cases.refuse.filter(({ url }) => judgeUrl(url).ok);
    assert.deepEqual(passed, []);
  });

  test('refuses the same hosts over https and with a path', () => {
    const https = cases.refuse.map(({ url }) => url.replace(/^http:\/\//, 'https://'));
    assert.deepEqual(
      https.filter((url) => judgeUrl(`${url}a/b?c=d#e`).ok),
      [],
    );
  });

  test('allows every URL of the list of neighbours and customers', () => {
    assert.equal(cases.allow.length, 39);
    const refused = cases.allow.filter((url) => !judgeUrl(url).ok);
    assert.deepEqual(refused, []);
  });

  test('hands back the parsed URL that was judged', () => {
    const verdict = judgeUrl('https://Bücher.ch:443/x?y=1');
    assert.ok(verdict.ok);
    assert.equal(verdict.url.href, 'https://xn--bcher-kva.ch/x?y=1');
  });

  const reasons: [url: string, reason: RegExp][] = [
    ['http://10.0.0.1/', /public address/],
    ['http://[fd00:ec2::254]/', /public address/],
    ['http://intranet/', /public host name/],
    ['http://db.svc.cluster.local/', /public host name/],
    ['http://example.com./', /ends with a dot/],
    ['http://example..com/', /valid host name/],
    ['http://exa!mple.com/', /valid host name/],
    ['http://-a.com/', /valid host name/],
    ['https://user:secret@example.com/', /user name or password/],
    ['https://example.com:0/', /port 0/],
    ['http://example.com:22/', /port 80, 443 or one above 1023/],
    ['https://example.com:025/', /port 80, 443/],
    ['http://93.184.216.34:445/x', /port 80, 443/],
    ['http://[2606:4700::1]:1023/', /port 80, 443/],
    ['ftp://example.com/', /absolute http or https/],
    ['http:example.com', /absolute http or https/],
    ['https:///example.com/', /absolute http or https/],
    ['https://example.com\\@evil.com/', /backslashes/],
    ['https://exam\tple.com/', /control characters/],
    ['https://example.com/\u00a0', /spaces/],
    ['https://example.com:99999/', /not a valid URL/],
  ];
  for (const url of ['http://example.com:443/', 'https://example.com:80/', 'http://1.1.1.1:1024/'])
    test(`takes ${url}`, () => assert.ok(judgeUrl(url).ok));

  test('takes any port of a host that is allowed', () => {
    assert.ok(judgeUrl('http://10.0.0.1:25/', { exempt: () => true }).ok);
  });

  for (const [url, reason] of reasons) {
    test(`says why ${JSON.stringify(url)} is refused`, () => {
      const verdict = judgeUrl(url);
      assert.ok(!verdict.ok);
      assert.match(verdict.reason, reason);
    });
  }

  test('takes a URL of 2048 characters and refuses one of 2049', () => {
    const url = (length: number): string => 'https://example.com/'.padEnd(length, 'a');
    assert.equal(judgeUrl(url(urlLengthMax)).ok, true);
    assert.equal(judgeUrl(url(urlLengthMax + 1)).ok, false);
  });

  test('refuses http where only https is wanted, and only then', () => {
    assert.equal(judgeUrl('http://example.com/').ok, true);
    assert.equal(judgeUrl('http://example.com/', { httpsOnly: true }).ok, false);
    assert.equal(judgeUrl('https://example.com/', { httpsOnly: true }).ok, true);
  });

  test('refuses our own names and addresses, and not their neighbours', () => {
    const own = new Set(['farebox.example.com', '93.184.216.34', '2606:4700::1111']);
    assert.equal(judgeUrl('https://FAREBOX.example.com/', { own }).ok, false);
    assert.equal(judgeUrl('https://93.184.216.34/', { own }).ok, false);
    assert.equal(judgeUrl('https://[2606:4700:0:0::1111]/', { own }).ok, false);
    assert.equal(judgeUrl('https://box.example.com/', { own }).ok, true);
    assert.equal(judgeUrl('https://93.184.216.35/', { own }).ok, true);
  });

  test('an exempt host passes the rules for hosts and no other rule', () => {
    const exempt = (url: URL): boolean => url.hostname === 'comfyui';
    assert.equal(judgeUrl('http://comfyui:8188/x', { exempt }).ok, true);
    assert.equal(judgeUrl('http://other:8188/x', { exempt }).ok, false);
    assert.equal(judgeUrl('http://a:b@comfyui/x', { exempt }).ok, false);
    assert.equal(judgeUrl('gopher://comfyui/x', { exempt }).ok, false);
    assert.equal(judgeUrl('http://comfyui/x', { exempt, httpsOnly: true }).ok, false);
  });

  test('never throws and never lets a non-public literal through, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl(), fc.string(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        for (const url of [text, `http://${text}/`, `http://[${text}]/`]) {
          const verdict = judgeUrl(url);
          if (!verdict.ok) continue;
          const host = verdict.url.hostname.replace(/^\[|\]$/g, '');
          if (isIP(host) !== 0) assert.equal(oracle(host), true, url);
        }
      }),
    );
  });
});

describe('isPublicAddress', () => {
  test('refuses both ends and the middle of every range', () => {
    for (const [first, last] of ranges4) {
      for (const n of [first, last, (first + last) / 2n])
        assert.equal(isPublicAddress(text4(n)), false, text4(n));
    }
    for (const [first, last] of ranges6) {
      for (const n of [first, last, (first + last) / 2n])
        assert.equal(isPublicAddress(text6(n)), false, text6(n));
    }
  });

  test('agrees with the ranges, done in whole numbers, on any IPv4 address', () => {
    const near = fc.constantFrom(...ranges4.flatMap(([a, b]) => [a - 1n, a, b, b + 1n]));
    const any = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n });
    fc.assert(
      fc.property(fc.oneof(near, any), (n) => {
        const ip = text4(((n % (1n << 32n)) + (1n << 32n)) % (1n << 32n));
        assert.equal(isPublicAddress(ip), oracle(ip), ip);
      }),
      { numRuns: isLong ? 2000 : 300 },
    );
  });

  test('agrees with the ranges, done in whole numbers, on any IPv6 address', () => {
    const top = 1n << 128n;
    const near = fc.constantFrom(...ranges6.flatMap(([a, b]) => [a - 1n, a, b, b + 1n]));
    const global = fc.bigInt({ min: 1n << 125n, max: (1n << 126n) - 1n });
    const any = fc.bigInt({ min: 0n, max: top - 1n });
    fc.assert(
      fc.property(fc.oneof(near, global, any), (n) => {
        const ip = text6(((n % top) + top) % top);
        assert.equal(isPublicAddress(ip), oracle(ip), ip);
      }),
      { numRuns: isLong ? 2000 : 300 },
    );
  });

  test('refuses every IPv6 form that carries an IPv4 address, a public one too', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        const hex = bytes4(ip).map((b) => b.toString(16).padStart(2, '0'));
        const tail = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
        const forms = [
          `::${ip}`,
          `::ffff:${ip}`,
          `::ffff:${tail}`,
          `::ffff:0:${tail}`,
          `64:ff9b::${tail}`,
          `64:ff9b:1::${tail}`,
          `2002:${tail}::1`,
          `2001:0:${tail}::1`,
        ];
        for (const form of forms) assert.equal(isPublicAddress(form), false, form);
      }),
    );
  });

  const neither = [
    '',
    'example.com',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '1.1.1.1.',
    '01.1.1.1',
    ' 1.1.1.1',
    '1.1.1.1/32',
    '[2606:4700::1111]',
    '2606:4700::1111%eth0',
    'fe80::1%lo',
    '2606:4700::1111%',
    '1.1.1.1\n',
  ];
  for (const ip of neither) {
    test(`refuses ${JSON.stringify(ip)}, which is no plain address`, () => {
      assert.equal(isPublicAddress(ip), false);
    });
  }

  test('refuses our own public addresses, however they are spelt', () => {
    const own = new Set(['93.184.216.34', canonicalAddress('2606:4700:0:0:0:0:0:1111')]);
    assert.equal(isPublicAddress('93.184.216.34', own), false);
    assert.equal(isPublicAddress('2606:4700::1111', own), false);
    assert.equal(isPublicAddress('2606:4700:0::0:1111', own), false);
    assert.equal(isPublicAddress('93.184.216.35', own), true);
    assert.equal(isPublicAddress('93.184.216.34'), true);
  });
});

function oracle(ip: string): boolean {
  if (isIP(ip) === 4) {
    const n = bytes4(ip).reduce((sum, b) => sum * 256n + BigInt(b), 0n);
    return !ranges4.some(([first, last]) => n >= first && n <= last);
  }
  const n = value6(ip);
  return n >> 125n === 1n && !ranges6.some(([first, last]) => n >= first && n <= last);
}

function bounds(cidr: string, width: number): [bigint, bigint] {
  const [net = '', bits = ''] = cidr.split('/');
  const first =
    width === 32 ? bytes4(net).reduce((sum, b) => sum * 256n + BigInt(b), 0n) : value6(net);
  return [first, first + (1n << BigInt(width - Number(bits))) - 1n];
}

function bytes4(ip: string): number[] {
  return ip.split('.').map(Number);
}

function value6(ip: string): bigint {
  const [left = '', right] = ip.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':').flatMap(dotted));
  const head = groups(left);
  const tail = right === undefined ? [] : groups(right);
  const fill = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...fill, ...tail].reduce((sum, g) => (sum << 16n) + BigInt(`0x${g}`), 0n);
}

function dotted(group: string): string[] {
  if (!group.includes('.')) return [group];
  const [a = 0, b = 0, c = 0, d = 0] = bytes4(group);
  return [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
}

function text4(n: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (n >> shift) & 255n).join('.');
}

function text6(n: bigint): string {
  return Array.from({ length: 8 }, (_, i) =>
    ((n >> BigInt(112 - i * 16)) & 0xffffn).toString(16),
  ).join(':');
}
