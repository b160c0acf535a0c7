import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { hashVoucherCode, newVoucherCode, parseVoucherCode, voucherHintIn } from './voucher.ts';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const form = /^FB(-[0-9A-HJKMNP-TV-Z]{4}){5}$/;

describe('a voucher code', () => {
  test('has its form, is read as itself, and is another each time', () => {
    const codes = Array.from({ length: 2_000 }, () => newVoucherCode(randomBytes));
    assert.equal(new Set(codes).size, codes.length);
    for (const code of codes) {
      assert.match(code, form);
      assert.equal(parseVoucherCode(code), code);
    }
  });

  test('the form never changes: codes printed long ago stay good', () => {
    const counted = [...Array(18).keys()];
    const made = (digits: number[]) => newVoucherCode(() => Buffer.from(digits));
    assert.equal(made(counted), 'FB-0123-4567-89AB-CDEF-GHRS');
    assert.equal(made(counted.map((n) => 31 - n)), 'FB-ZYXW-VTSR-QPNM-KJHG-FE67');
    assert.equal(parseVoucherCode('FB-0123-4567-89AB-CDEF-GHRS'), 'FB-0123-4567-89AB-CDEF-GHRS');
  });

  test('is named by its last four characters, and by nothing else', () => {
    for (const text of ['FB-…WXYZ', 'fb…wxyz', '…WXYZ', '...wxyz', '..WXYZ', 'FB-...-WXYZ'])
      assert.equal(voucherHintIn(text), 'WXYZ', text);
    for (const text of ['', 'WXYZ', 'FB-WXYZ', '.WXYZ', '…WXY', '…WXYZ1', 'X…WXYZ', '…WX-Z'])
      assert.equal(voucherHintIn(text), null, text);
  });

  test('is read however somebody types it', () => {
    const code = newVoucherCode(() => Buffer.from([...Array(17).keys(), 1]));
    assert.match(code, /^FB-0123/);
    const bare = code.replaceAll('-', '');
    const typed = [
      code.toLowerCase(),
      bare,
      bare.slice(2),
      code.slice(3),
      ` ${code.replaceAll('-', ' ')}\n`,
      code.replaceAll('-', '–'),
      code.replace('FB-0123', 'FB-O123'),
      code.replace('FB-0123', 'fb-oi23'),
      code.replace('FB-0123', 'FB-0L23'),
    ];
    for (const each of typed) assert.equal(parseVoucherCode(each), code, each);
  });

  test('with any one or two characters wrong is none', () => {
    // The checksum is linear: what holds of the differences to one code holds of those to all.
    const code = newVoucherCode(randomBytes).replaceAll('-', '').slice(2);
    const digits = Array.from(code, (character) => alphabet.indexOf(character));
    const changed = (changes: [place: number, by: number][]) => {
      const other = [...digits];
      for (const [place, by] of changes) other[place]! ^= by;
      return other.map((digit) => alphabet[digit]).join('');
    };
    let tried = 0;
    for (let a = 0; a < 20; a++)
      for (let x = 1; x < 32; x++) {
        assert.equal(parseVoucherCode(changed([[a, x]])), null);
        for (let b = a + 1; b < 20; b++)
          for (let y = 1; y < 32; y++, tried++)
            if (
              parseVoucherCode(
                changed([
                  [a, x],
                  [b, y],
                ]),
              ) !== null
            )
              assert.fail(`${a} by ${x} and ${b} by ${y} passed`);
      }
    assert.equal(tried, 190 * 31 * 31);
  });

  for (const [what, text] of Object.entries({
    nothing: '',
    'no text': 7,
    'one too short': 'FB-0000-0000-0000-0000-000',
    'one too long': 'FB-0000-0000-0000-0000-00000',
    'a letter that is in no code': 'FB-U000-0000-0000-0000-0000',
    'a very long text': '0'.repeat(1_000_000),
    'other digits': 'FB-٠٠٠٠-0000-0000-0000-0000',
  })) {
    test(`is not ${what}`, () => assert.equal(parseVoucherCode(text), null));
  }

  test('is kept as its hash, which says nothing of it', () => {
    const [a, b] = [newVoucherCode(randomBytes), newVoucherCode(randomBytes)];
    assert.equal(hashVoucherCode(a!).length, 32);
    assert.notDeepEqual(hashVoucherCode(a!), hashVoucherCode(b!));
  });
});
