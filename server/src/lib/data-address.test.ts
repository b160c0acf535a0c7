import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { brokenDataAddresses, dataAddresses } from '../../test/fixtures/data-addresses.ts';
import { dataIn, plainData } from './data-address.ts';

const bytes = Buffer.from([0xfb, 0xff, 0xfe, 0x00, ...Buffer.from('<a%b>ü, 100 bytes '.repeat(9))]);

describe('a data: address means the same bytes and type', () => {
  for (const [what, address] of dataAddresses(bytes, 'audio/x-w.a+v'))
    test(what, () => {
      const data = dataIn(address);
      assert.equal(data?.content_type, 'audio/x-w.a+v');
      assert.deepEqual(Buffer.from(data.base64, 'base64'), bytes);
      const plain = `data:audio/x-w.a+v;base64,${bytes.toString('base64')}`;
      assert.equal(plainData(address), plain);
    });

  test('whatever the bytes are', () => {
    const property = fc.property(fc.uint8Array({ minLength: 1, maxLength: 99 }), (made) => {
      for (const [what, address] of dataAddresses(Buffer.from(made), 'image/png'))
        assert.deepEqual(dataIn(address)?.base64, Buffer.from(made).toString('base64'), what);
    });
    fc.assert(property, { numRuns: 50 });
  });
});

test('text that is not encoded counts as its UTF-8', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><text fill="#f00">ü 100%</text></svg>';
  for (const said of [svg, encodeURIComponent(svg), encodeURI(svg)]) {
    const data = dataIn(`data:image/svg+xml;utf8,${said}`);
    assert.equal(data?.content_type, 'image/svg+xml');
    assert.equal(Buffer.from(data.base64, 'base64').toString(), svg);
  }
});

test('a type that is missing or none is unknown', () => {
  for (const type of ['', ';charset=utf-8', 'png', 'image/', 'image/p ng', 'a/b/c'])
    assert.equal(dataIn(`data:${type};base64,AAAA`)?.content_type, 'application/octet-stream');
});

for (const address of [...brokenDataAddresses, '', 'AAAA', 'https://example.com/data:,x'])
  test(`${JSON.stringify(address.slice(0, 60))} contains nothing`, () => {
    assert.equal(dataIn(address), null);
    assert.equal(plainData(address), address);
  });

test('megabytes take no more than moments, whatever they are', () => {
  const long = 'A'.repeat(4 * 1024 * 1024);
  for (const text of [
    `data:image/png;base64,${long}`,
    `data:image/png;base64,${'AAAA\n'.repeat(800_000)}`,
    `data:${long}`,
    `data:${';"a"'.repeat(1_000_000)}`,
    `data:,${'%41'.repeat(1_000_000)}`,
  ]) {
    const begun = performance.now();
    dataIn(text);
    assert.ok(performance.now() - begun < 3_000, text.slice(0, 30));
  }
});
