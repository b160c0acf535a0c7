import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { canonicalEmail, isSameEmail, mailboxOf, namesOf } from './email.ts';

const kept = {
  'ada@example.com': 'ada@example.com',
  ' Ada.Lovelace+x@Example.COM\n': 'ada.lovelace+x@example.com',
  "o'brien!#$%&*/=?^_`{|}~-@localhost": "o'brien!#$%&*/=?^_`{|}~-@localhost",
  'a@192.0.2.1': 'a@192.0.2.1',
  // NFKC: full width, ligature, decomposed accent, a sign that is two letters.
  'ＡＤＡ＠ｅｘａｍｐｌｅ．ｃｏｍ': 'ada@example.com',
  'ﬁn@example.com': 'fin@example.com',
  'jose\u0301@example.com': 'josé@example.com',
  'ㄲ@example.com': 'ᄁ@example.com',
  'ada@bücher.example': 'ada@xn--bcher-kva.example',
  'почта@пример.рф': 'почта@xn--e1afmkfd.xn--p1ai',
  'ada@XN--E1AFMKFD.xn--p1ai': 'ada@xn--e1afmkfd.xn--p1ai',
  'ada@faß.example': 'ada@xn--fa-hia.example',
  'ada@例え。テスト': 'ada@xn--r8jz45g.xn--zckzah',
  // One script, with digits and signs.
  'почта-1@example.com': 'почта-1@example.com',
  'χρήστης@example.com': 'χρήστης@example.com',
  'उपयोगकर्ता@example.com': 'उपयोगकर्ता@example.com',
  'بريد@example.com': 'بريد@example.com',
  'ꭰꭱ@example.com': 'ꭰꭱ@example.com',
  // Japanese, Korean, Chinese.
  '山田たろうサン@example.com': '山田たろうサン@example.com',
  '한글漢字@example.com': '한글漢字@example.com',
  '張ㄅㄆ@example.com': '張ㄅㄆ@example.com',
};
for (const [given, email] of Object.entries(kept)) {
  test(`${JSON.stringify(given)} is ${email}`, () => {
    assert.equal(canonicalEmail(given), email);
    assert.equal(canonicalEmail(email), email);
  });
}

describe('no address is', () => {
  const refused: Record<string, string[]> = {
    'with an unseen character': [
      '\u200B',
      '\u2060',
      '\u00AD',
      '\uFEFF',
      '\u202E',
      '\u200D',
      '\u115F',
      '\u3164',
      '\uFFA0',
      '\u034F',
      '\u180E',
      '\uFE0F',
      '\u{E0041}',
      '\u{E0100}',
      '\0',
      '\u0085',
      '\u2028',
      '\uE000',
      '\ud800',
      '\u{10FFFF}',
      '\u0378',
      // Drawn as nothing.
      '\u{1D159}',
      '\u2800',
      '\uFFFC',
    ].flatMap((sign) => [
      `op${sign}z@example.com`,
      `opz@exam${sign}ple.com`,
      `${sign}opz@example.com`,
    ]),
    'with an accent that its letter hides': [
      'admi\u0307n@example.com',
      'İpek@example.com',
      '1\u0308@example.com',
    ],
    'with a space': ['a b@example.com', 'a@exa mple.com', 'a\u00A0b@example.com', 'a\tb@x.example'],
    'with letters of two scripts': [
      'op\u0435rator@example.com',
      'p\u03BFst@example.com',
      '\u13A0da@example.com',
      'tanaka田中@example.com',
      '한글かな@example.com',
      'почтаα@example.com',
      'ａ\u0430@example.com',
      'ada\u05D0@example.com',
    ],
    'without name or domain': ['', '@', 'ada', 'ada@', '@example.com', 'a@b@c', 'a＠b@c', 'a﹫b@c'],
    'with a bad domain': [
      'a@.com',
      'a@x..y',
      'a@-x.com',
      'a@x-.com',
      'a@x.com.',
      'a@127.1',
      'a@0x7f.0.0.1',
      'a@１２７.1',
      'a@[192.0.2.1]',
      'a@x.com/y',
      'a@x.com:25',
      'a@ex%61mple.com',
      'a@x?y',
      'a@x#y',
      'a@xn--a.com',
      'a@x\\y',
      'a@אa.com',
      `a@${'x'.repeat(64)}.com`,
      `a@${'ä'.repeat(80)}.de`,
      'a@x℀y.com',
    ],
    'with a sign that letters use': [
      'a,b@x.com',
      '"a"@x.com',
      '<a>@x.com',
      'a;b@x.com',
      'a\\b@x.com',
    ],
    'that is too long': [
      `${'a'.repeat(65)}@x.com`,
      `a@${'x.'.repeat(130)}com`,
      'ﷺ'.repeat(10) + '@x.com',
    ],
  };
  for (const [what, all] of Object.entries(refused)) {
    test(`one ${what}`, () => {
      for (const given of all) assert.equal(canonicalEmail(given), null, JSON.stringify(given));
    });
  }
});

test('the form of a form is itself', () => {
  const part = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(part, part, (local, domain) => {
      const email = canonicalEmail(`${local}@${domain}`);
      assert.equal(email === null ? null : canonicalEmail(email), email);
    }),
    { numRuns: 3000 },
  );
});

test('two spellings of a mailbox are the same, also where a stored one has no form', () => {
  assert.ok(isSameEmail('ada@bücher.example', 'Ada@xn--bcher-kva.example'));
  assert.ok(isSameEmail('op\u200Bz@x.com', 'op\u200Bz@x.com'));
  assert.ok(!isSameEmail('op\u200Bz@x.com', 'opz@x.com'));
});

test('the mailbox of an address has no dots and no tag', () => {
  for (const email of ['ada.l@x.com', 'adal+x@x.com', 'a.d.al+x+y.z@x.com', 'adal@x.com'])
    assert.equal(mailboxOf(email), 'adal@x.com');
  assert.equal(mailboxOf('+x@x.com'), '+x@x.com');
  assert.notEqual(mailboxOf('adal@x.com'), mailboxOf('adal@xcom'));
});

test('no address with a character at its end finds a stored one without it', () => {
  for (const end of ['\u00A0', '\uFEFF', '\u2003', '\u2028', '\u3000', '\v']) {
    for (const given of [`ada@x.com${end}`, `${end}ada@x.com`])
      assert.deepEqual([namesOf(given).stored === 'ada@x.com', namesOf(given).form], [false, null]);
  }
  assert.deepEqual(namesOf(' Ada@x.com\r\n'), { stored: 'ada@x.com', form: 'ada@x.com' });
});
