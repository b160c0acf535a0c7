import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../errors.ts';
import { fingerprint, idempotencyKey, type Call } from './fingerprint.ts';

const call: Call = {
  method: 'POST',
  path: '/v1/queue/a/b',
  body: { prompt: 'fox', n: 1 },
  webhook_url: null,
};
const hex = (change: Partial<Call> = {}) => fingerprint({ ...call, ...change }).toString('hex');

describe('fingerprint', () => {
  test('is 32 bytes that never change: requests of older versions must still be recognised', () => {
    assert.equal(fingerprint(call).length, 32);
    assert.equal(hex(), 'bbd2e3884df437b9d7817cae1d60a730c9f05894cf33b7e76ca2d3105c954303');
  });

  test('does not see the order of keys', () => {
    assert.equal(hex({ body: { n: 1, prompt: 'fox' } }), hex());
  });

  const changes: Partial<Call>[] = [
    { method: 'PUT' },
    { path: '/v1/queue/a/c' },
    { path: '/v1/queue/a' },
    { body: { prompt: 'fox', n: 2 } },
    { body: { prompt: 'fox', n: '1' } },
    { body: { prompt: 'fox' } },
    { body: { prompt: 'fox', n: 1, webhook_url: null } },
    { body: null },
    { body: undefined },
    { body: [] },
    { body: {} },
    { body: 'null' },
    { webhook_url: '' },
    { webhook_url: 'null' },
    { webhook_url: 'https://example.com/hook' },
  ];
  test('sees every other difference', () => {
    const seen = new Set([hex(), ...changes.map((change) => hex(change))]);
    assert.equal(seen.size, changes.length + 1);
  });

  test('text cannot be moved from one part to its neighbour', () => {
    const text = fc.string({ maxLength: 6, unit: fc.constantFrom(...'ab",:{}[]\n') });
    const tuple = fc.tuple(text, text, text, text);
    fc.assert(
      fc.property(tuple, tuple, (a, b) => {
        const [x, y] = [a, b].map(([method, path, body, url]) =>
          fingerprint({ method, path, body, webhook_url: url }).toString('hex'),
        );
        assert.equal(
          x === y,
          a.every((part, i) => part === b[i]),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('idempotencyKey', () => {
  const good = ['a', 'order-17', '!', '~', '"quoted,"', 'x'.repeat(255)];
  for (const key of good) {
    test(`takes ${key.slice(0, 20)}`, () => assert.equal(idempotencyKey(key), key));
  }

  test('no header is no key', () => assert.equal(idempotencyKey(undefined), null));

  test('a list of none is no header', () => {
    assert.equal(idempotencyKey([]), null);
  });
  test('a list of one is one header', () => {
    assert.equal(idempotencyKey(['order-17']), 'order-17');
  });

  const bad = [
    '',
    'x'.repeat(256),
    'a b',
    ' a',
    'a\t',
    'a\n',
    'a\0',
    '\x7f',
    'é',
    'one, two',
    [''],
    ['a', 'b'],
    ['a', 'a'],
  ];
  for (const header of bad) {
    test(`refuses ${JSON.stringify(header).slice(0, 20)} and names the header`, () => {
      assert.throws(
        () => idempotencyKey(header),
        (error) => {
          assert.ok(error instanceof ApiError);
          assert.equal(error.code, 'bad_request');
          assert.equal(error.param, 'Idempotency-Key');
          assert.match(error.message, /Idempotency-Key/);
          return true;
        },
      );
    });
  }
});
