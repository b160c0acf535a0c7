import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callerAddress, networkOf } from './caller-address.ts';

const peer = '192.0.2.1';

/** Entries that a proxy writes, and the network that each counts for. */
const written: [entry: string, network: string][] = [
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:50000', '203.0.113.9'],
  ['203.0.113.9:', '203.0.113.9'],
  ['203.0.113.9:_hidden', '203.0.113.9'],
  ['"203.0.113.9:50000"', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::6', '2001:db8:1:2'],
  ['2001:0db8:0001:0002:0:0:0:0007', '2001:db8:1:2'],
  ['[2001:db8:1:2::7]', '2001:db8:1:2'],
  ['[2001:db8:1:2::7]:443', '2001:db8:1:2'],
  ['"[2001:db8:1:2::7]:443"', '2001:db8:1:2'],
  ['2001:db8:1:2::443', '2001:db8:1:2'],
  ['[fe80::1%eth0]:80', 'fe80:0:0:0'],
  ['fe80::2%25eth0', 'fe80:0:0:0'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['[::ffff:203.0.113.9]:80', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['0:0:0:0:0:FFFF:203.0.113.9', '203.0.113.9'],
  ['64:ff9b::203.0.113.9', '203.0.113.9'],
  ['64:ff9b:0::cb00:7109', '203.0.113.9'],
  ['::1', '0:0:0:0'],
  ['::203.0.113.9', '0:0:0:0'],
  ['::cb00:7109', '0:0:0:0'],
  ['unknown', peer],
  ['_gateway', peer],
  ['gateway.example', peer],
  ['', peer],
  [' , ', peer],
  ['203.0.113', peer],
  ['203.0.113.999', peer],
  ['0xcb007109', peer],
  ['3405803785', peer],
  ['203.0.113.09', peer],
  ['1.2.3.4:5:6', peer],
  ['2001:db8:1:2:3:4:5:6:443', '2001:db8:1:2'],
  ['2001:db8:1:2::7:50000', '2001:db8:1:2'],
  ['::ffff:203.0.113.9:50000', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6:http', peer],
  ['2001:db8:1:2:3:4:5:6:7:443', peer],
  ['[203.0.113.9', peer],
  ['\u0000', peer],
];

for (const [entry, network] of written)
  test(`a proxy that writes ${JSON.stringify(entry)} names ${network}`, () => {
    assert.equal(networkOf(callerAddress(peer, entry, 1)), network);
  });

/** Whole headers, the number of the operator's proxies, and the caller's address. */
const headers: [forwarded: string, proxies: number, address: string][] = [
  ['', 1, peer],
  ['203.0.113.9', 0, peer],
  ['203.0.113.9, 198.51.100.7', 1, '198.51.100.7'],
  ['203.0.113.9, 198.51.100.7', 2, '203.0.113.9'],
  ['203.0.113.9', 3, '203.0.113.9'],
  ['unknown, 198.51.100.7:80', 2, '198.51.100.7'],
  ['203.0.113.9, unknown', 2, '203.0.113.9'],
  ['unknown, unknown', 2, peer],
  ['203.0.113.9,, 198.51.100.7 ,', 2, '203.0.113.9'],
];

for (const [forwarded, proxies, address] of headers)
  test(`${proxies} proxies and ${JSON.stringify(forwarded)} lead to ${address}`, () => {
    assert.equal(callerAddress(peer, forwarded, proxies), address);
  });

test('a peer counts by its IPv4 address on a socket of both families', () => {
  assert.equal(callerAddress('::ffff:192.0.2.1', '', 0), peer);
  assert.equal(callerAddress(undefined, '', 0), '');
});
