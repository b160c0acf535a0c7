import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  hashKey,
  keyHint,
  keyHintIn,
  newKey,
  parseAuthorization,
  parseKey,
  whyNoKey,
  type KeyPrefix,
} from './key.ts';

/** The key that random bytes of zero make. */
const known = newKey((bytes) => Buffer.alloc(bytes));
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keys = fc.uint8Array({ minLength: 64, maxLength: 64 }).map((seed) => {
  let at = 0;
  return newKey((bytes) =>
    Buffer.from(Array.from({ length: bytes }, () => (seed[at++ % 64] ?? 0) % 248)),
  );
});

/** CRC-32 bit by bit, as in the standard: the second opinion on the checksum. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function base62(value: number): string {
  let text = '';
  for (let i = 0; i < 6; i++, value = Math.floor(value / 62))
    text = alphabet.charAt(value % 62) + text;
  return text;
}

describe('newKey and parseKey', () => {
  test('a key is fbx_, 32 base62 characters and the checksum of both', () => {
    fc.assert(
      fc.property(keys, (key) => {
        assert.match(key, /^fbx_[0-9A-Za-z]{38}$/);
        assert.equal(key.slice(36), base62(crc32(key.slice(0, 36))));
        assert.equal(parseKey(key), key);
      }),
    );
  });

  test('the form never changes: keys given out long ago stay good', () => {
    assert.equal(known, 'fbx_000000000000000000000000000000004Kz40j');
    assert.equal(parseKey(known), known);
  });

  test('keys differ', () => {
    const made = new Set(Array.from({ length: 1_000 }, () => newKey(randomBytes)));
    assert.equal(made.size, 1_000);
  });

  test('no single changed character passes', () => {
    for (let at = 0; at < known.length; at++) {
      for (const char of alphabet) {
        if (char === known[at]) continue;
        assert.equal(parseKey(known.slice(0, at) + char + known.slice(at + 1)), null);
      }
    }
  });

  test('no swap of two neighbours passes', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 0, max: 40 }), (key, at) => {
        const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2);
        assert.equal(parseKey(swapped), swapped === key ? key : null);
      }),
    );
  });

  test('what is no key is null, never an exception', () => {
    const others = [
      '',
      'fbx_',
      known.slice(1),
      `${known}0`,
      ` ${known}`,
      `${known}\n`,
      known.toUpperCase(),
      known.replace('fbx_', 'fbx-'),
      known.replace('0', 'é'),
      'x'.repeat(1e6),
      null,
      undefined,
      7,
      [known],
      { length: 42 },
    ];
    for (const other of others) assert.equal(parseKey(other), null);
    fc.assert(fc.property(fc.anything(), (value) => parseKey(value) === null));
  });
});

describe('a key of the operator', () => {
  const ofOperator = newKey((bytes) => Buffer.alloc(bytes), 'fbo_');

  test('has another prefix, and the checksum covers it', () => {
    assert.match(ofOperator, /^fbo_[0-9A-Za-z]{38}$/);
    assert.equal(ofOperator.slice(36), base62(crc32(ofOperator.slice(0, 36))));
    assert.equal(parseKey(known.replace('fbx_', 'fbo_'), 'fbo_'), null);
  });

  test('is none of an account, nor the other way round', () => {
    assert.equal(parseKey(ofOperator, 'fbo_'), ofOperator);
    assert.equal(parseKey(ofOperator), null);
    assert.equal(parseKey(known, 'fbo_'), null);
    assert.equal(parseAuthorization(`Key ${ofOperator}`), null);
    assert.equal(parseAuthorization(`Key ${ofOperator}`, 'fbo_'), ofOperator);
    assert.equal(keyHintIn(ofOperator), null);
  });

  const advice: [header: string, prefix: KeyPrefix, says: RegExp][] = [
    [`Key ${ofOperator}`, 'fbx_', /operator key, which works only below \/v1\/operator/],
    [`Key ${known}`, 'fbo_', /account's key.* need an operator key/],
    ['Key fbo_...', 'fbo_', /placeholder.*operator-key create/],
    [`Key ${ofOperator}x`, 'fbo_', /mistyped or incomplete/],
    ['Key sk_1234567890', 'fbo_', /its keys begin with fbo_/],
    [ofOperator, 'fbo_', /no scheme/],
  ];
  for (const [header, prefix, says] of advice)
    test(`${header} where ${prefix} is needed says so`, () => {
      const said = whyNoKey([header], prefix) ?? '';
      assert.match(said, says);
      assert.ok(!said.includes(ofOperator.slice(4)) && !said.includes(known.slice(4)), said);
    });
});

describe('hashKey and keyHint', () => {
  test('the hash is SHA-256 of the whole key', () => {
    assert.deepEqual(hashKey(known), createHash('sha256').update(known).digest());
  });

  test('the hint shows six characters in front and four at the end, no more', () => {
    const key = 'fbx_abCDEFGHIJKLMNOPQRSTUVWXYZ01234567wxyz';
    assert.deepEqual(keyHint(key), { prefix: 'fbx_ab', last4: 'wxyz' });
  });

  test('somebody names a key by all of it, by its beginning, or as it is shown', () => {
    const { prefix, last4 } = keyHint(known);
    const named: [text: string, hint: ReturnType<typeof keyHintIn>][] = [
      [known, { prefix, last4 }],
      [known.slice(0, 20), { prefix, last4: null }],
      [prefix, { prefix, last4: null }],
      [`${prefix}…${last4}`, { prefix, last4 }],
      [`${prefix}...${last4}`, { prefix, last4 }],
      [`${prefix}..${last4}`, { prefix, last4 }],
      ['fbx_a', null],
      ['you@example.com', null],
      [`${prefix}…${last4}1`, null],
      [`x${prefix}`, null],
    ];
    for (const [text, hint] of named) assert.deepEqual(keyHintIn(text), hint, text);
  });
});

describe('parseAuthorization', () => {
  for (const scheme of ['Key', 'Bearer', 'key', 'BEARER', 'bEaReR']) {
    test(`takes the scheme ${scheme}`, () => {
      assert.equal(parseAuthorization(`${scheme} ${known}`), known);
    });
  }

  test('takes one space or more, as RFC 9110 allows', () => {
    for (const spaces of [2, 3, 80])
      assert.equal(parseAuthorization(`Bearer${' '.repeat(spaces)}${known}`), known);
  });

  test('takes a list of one, as headersDistinct gives', () => {
    assert.equal(parseAuthorization([`Key ${known}`]), known);
  });

  const refused: [name: string, header: string | string[] | undefined][] = [
    ['no header', undefined],
    ['an empty header', ''],
    ['an empty list', []],
    ['two values', [`Key ${known}`, `Key ${known}`]],
    ['two values joined', `Key ${known}, Key ${known}`],
    ['the scheme alone', 'Key'],
    ['the scheme and a space', 'Key '],
    ['the key alone', known],
    ['spaces alone', `Key${' '.repeat(8_192)}`],
    ['spaces and a tab', `Key  \t${known}`],
    ['a tab', `Key\t${known}`],
    ['a space in front', ` Key ${known}`],
    ['a space behind', `Key ${known} `],
    ['a no-break space', `Key\u00a0${known}`],
    ['another scheme', `Basic ${known}`],
    ['a scheme in Unicode', `\u212aey ${known}`],
    ['a parameter', `Key token=${known}`],
    ['quotes', `Key "${known}"`],
    ['a wrong checksum', `Key ${known.slice(0, -1)}x`],
    ['non-ASCII', `Key ${known.slice(0, -1)}é`],
    ['8 KB', `Key ${'a'.repeat(8_192)}`],
    ['an upper-case prefix', `Key ${known.replace('fbx', 'FBX')}`],
  ];
  for (const [name, header] of refused) {
    test(`refuses ${name}`, () => assert.equal(parseAuthorization(header), null));
  }
});
