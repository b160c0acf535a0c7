import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  canonicalJson,
  isWithinDepth,
  JsonError,
  parseJson,
  storableJson,
  storableText,
} from './json.ts';

const limits = { depth: 64, values: 100_000 };
const parse = (text: string) => parseJson(Buffer.from(text), limits);
const nested = (open: string, core: string, close: string, levels: number) =>
  open.repeat(levels) + core + close.repeat(levels);

describe('parseJson', () => {
  const accepted: [name: string, text: string, value: unknown][] = [
    ['an object', '{"a":[1,2.5,"x",true,null]}', { a: [1, 2.5, 'x', true, null] }],
    ['a list as root', '[]', []],
    ['a number as root', '5', 5],
    ['null as root', ' null ', null],
    ['the last of duplicate keys', '{"a":1,"a":2}', { a: 2 }],
    ['escaped pairs', '"\\ud83d\\ude00"', '😀'],
    ['characters of four bytes', '"😀"', '😀'],
    ['other control characters', '"\\u0001\\u001f"', '\u0001\u001f'],
    ['keys that only look odd', '{"toJSON":1,"length":2}', { toJSON: 1, length: 2 }],
    ['constructor without prototype', '{"constructor":{"name":1}}', { constructor: { name: 1 } }],
    ['constructor as a text', '{"constructor":"prototype"}', { constructor: 'prototype' }],
    ['prototype alone', '{"prototype":{"a":1}}', { prototype: { a: 1 } }],
    ['a text that says __proto__', '["__proto__"]', ['__proto__']],
    ['the largest double', '1.7976931348623157e308', Number.MAX_VALUE],
    ['64 levels', nested('[', '1', ']', 64), JSON.parse(nested('[', '1', ']', 64))],
  ];
  for (const [name, text, value] of accepted) {
    test(`accepts ${name}`, () => assert.deepEqual(parse(text), value));
  }

  const refused: [name: string, body: string | Buffer, message: RegExp][] = [
    ['nothing', '', /empty/],
    ['white space', ' \n', /not valid JSON/],
    ['a trailing comma', '[1,]', /not valid JSON/],
    ['a comment', '{} // x', /not valid JSON/],
    ['NaN', 'NaN', /not valid JSON/],
    ['Infinity', '[Infinity]', /not valid JSON/],
    ['an open object', '{"a":1', /not valid JSON/],
    ['single quotes', "{'a':1}", /not valid JSON/],
    ['a raw NUL in a string', '"a\0b"', /not valid JSON/],
    ['a byte order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x31]), /byte order mark/],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), /not valid JSON/],
    ['the byte 0xff', Buffer.from([0x22, 0xff, 0x22]), /not valid UTF-8/],
    ['an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), /not valid UTF-8/],
    ['a cut character', Buffer.from([0x22, 0xe2, 0x82, 0x22]), /not valid UTF-8/],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /not valid UTF-8/],
    ['an escaped NUL', '{"a":[{"b":"x\\u0000"}]}', /at a\[0\]\.b holds a NUL/],
    ['an escaped NUL in a key', '{"a\\u0000":1}', /at \["a\\u0000"\] holds a NUL/],
    ['a high surrogate alone', '["\\ud800"]', /at \[0\] holds half of a surrogate/],
    ['a low surrogate alone', '["\\uDFFF"]', /half of a surrogate/],
    ['a surrogate in a key', '{"\\ud800":1}', /half of a surrogate/],
    ['a number beyond doubles', '{"n":1e400}', /at n holds a number beyond 1\.8e308/],
    ['a negative one', '-1E309', /body holds a number beyond/],
    ['__proto__', '{"a":{"__proto__":{"x":1}}}', /at a holds the key "__proto__"/],
    ['__proto__ of a plain value', '{"__proto__":1}', /"__proto__"/],
    ['__proto__ in escapes', '{"\\u005f_proto__":{}}', /"__proto__"/],
    ['constructor.prototype', '{"constructor":{"prototype":{"x":1}}}', /constructor\.prototype/],
    ['65 levels of lists', nested('[', '1', ']', 65), /too deeply; at most 64 levels/],
    ['65 levels of objects', nested('{"a":', '1', '}', 65), /too deeply; at most 64 levels/],
    ['65 empty levels', nested('[', '', ']', 65), /too deeply/],
    ['10,000 levels', nested('[', '1', ']', 10_000), /too deeply/],
    ['a million levels of lists', nested('[', '1', ']', 1_000_000), /too deeply/],
    ['a million levels of objects', nested('{"a":', '1', '}', 1_000_000), /too deeply/],
    ['a million open brackets', '['.repeat(1_000_000), /too deeply/],
  ];
  for (const [name, body, message] of refused) {
    test(`refuses ${name}`, () => {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      assert.throws(
        () => parseJson(bytes, limits),
        (error) => {
          assert.ok(error instanceof JsonError);
          assert.match(error.message, message);
          assert.ok(error.message.length < 400 && error.message.isWellFormed());
          return true;
        },
      );
    });
  }

  test('leaves Object.prototype alone whatever it is sent', () => {
    for (const [, body] of refused) {
      assert.throws(() => parseJson(Buffer.from(body as string), limits));
    }
    assert.equal(({} as Record<string, unknown>).x, undefined);
  });

  test('brackets and quotes inside long strings are no levels', () => {
    const padding = ' '.repeat(20_000);
    for (const text of ['[', '"[', '\\"[', '\\\\"{', '"\\'].map((piece) => piece.repeat(300))) {
      assert.deepEqual(parse(JSON.stringify({ a: text, b: [1] }) + padding), { a: text, b: [1] });
      const deep = `[${JSON.stringify(text)},${nested('[', '', ']', 64)}]${padding}`;
      assert.throws(() => parse(deep), /too deeply/);
    }
  });

  test('reads back every value that it should keep', () => {
    const clean = fc.jsonValue({
      depthSize: 'medium',
      stringUnit: 'binary',
      noUnicodeString: false,
    });
    fc.assert(
      fc.property(clean, (value) => {
        const text = JSON.stringify(value);
        if (/\\u0000|"__proto__"|"constructor"/.test(text)) return;
        assert.deepEqual(parse(text), JSON.parse(text));
      }),
    );
  });

  test('throws only JsonError, whatever the bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.string({ unit: fc.constantFrom(...'[]{}",:\\u0d8"1e9-. ') }).map((s) => Buffer.from(s)),
    );
    fc.assert(
      fc.property(bytes, (body) => {
        try {
          parseJson(Buffer.from(body), limits);
        } catch (error) {
          assert.ok(error instanceof JsonError);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('takes so many values in a long body, and no more', () => {
    const list = (count: number) =>
      `[${Array.from({ length: count }, () => '"xxxxxx"').join(',')}]`;
    const few = { depth: 64, values: 5_001 };
    assert.doesNotThrow(() => parseJson(Buffer.from(list(5_000)), few));
    assert.throws(() => parseJson(Buffer.from(list(5_001)), few), /too many values; at most 5001 /);
    assert.doesNotThrow(() => parseJson(Buffer.from(`["${',['.repeat(50_000)}"]`), few));
  });

  test('judges depth alike before parsing a long body and after parsing a short one', () => {
    const level = fc.constantFrom('[', '{"k":', '[1,"]]",', '{"a\\"[":0,"b":');
    fc.assert(
      fc.property(fc.array(level, { minLength: 60, maxLength: 68 }), (levels) => {
        const close = levels
          .map((open) => (open[0] === '[' ? ']' : '}'))
          .reverse()
          .join('');
        const short = `${levels.join('')}1${close}`;
        for (const text of [short, short + ' '.repeat(20_000)]) {
          if (levels.length <= 64) parse(text);
          else assert.throws(() => parse(text), /too deeply/);
        }
      }),
    );
  });

  test('takes no time that a caller could make long', () => {
    const began = process.cpuUsage();
    assert.throws(() => parse(nested('[', '', ']', 5_000_000)), /too deeply/);
    assert.throws(() => parse(nested('{"":', '1', '}', 2_000_000)), /too deeply/);
    parse(`"${'\\\\'.repeat(2_000_000)}"`);
    // Processor time, because other processes may use the cores meanwhile.
    assert.ok(process.cpuUsage(began).user < 3_000_000);
  });
});

describe('canonicalJson', () => {
  const forms: [value: unknown, text: string][] = [
    [{ b: 1, a: [true, null, { d: 'x', c: 2 }] }, '{"a":[true,null,{"c":2,"d":"x"}],"b":1}'],
    [
      { 10: 'a', 9: 'b', '\u20ac': 1, '\r': 2, '\ufb33': 3, '😀': 4, '\u0080': 5, ö: 6 },
      '{"\\r":2,"10":"a","9":"b","\u0080":5,"ö":6,"€":1,"😀":4,"\ufb33":3}',
    ],
    [
      [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 1e21, 123456789012345680000],
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,123456789012345680000]',
    ],
    ['\u20ac$\u000f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
    [{ a: undefined, b: 1 }, '{"b":1}'],
    [{}, '{}'],
    [[], '[]'],
    [null, 'null'],
  ];
  for (const [value, text] of forms) {
    test(`writes ${text.slice(0, 40)}`, () => assert.equal(canonicalJson(value), text));
  }

  for (const value of [NaN, Infinity, 1n, undefined, () => 1, [undefined], { a: 1n }]) {
    test(`refuses ${typeof value}, which JSON cannot say`, () => {
      assert.throws(() => canonicalJson(value), TypeError);
    });
  }

  test('says the same as JSON, and the same again', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
        assert.equal(canonicalJson(JSON.parse(text)), text);
      }),
    );
  });

  test('does not depend on the order of keys, at any level', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      const entries = Object.entries(value).map(([key, member]) => [key, reversed(member)]);
      return Object.fromEntries(entries.reverse());
    };
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.equal(canonicalJson(reversed(value)), canonicalJson(value));
      }),
    );
  });

  test('gives different values different texts', () => {
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        let equal = true;
        try {
          assert.deepStrictEqual(plain(a), plain(b));
        } catch {
          equal = false;
        }
        assert.equal(canonicalJson(a) === canonicalJson(b), equal);
      }),
    );
  });
});

describe('what PostgreSQL cannot keep', () => {
  const cases: [name: string, value: string, kept: string][] = [
    ['NUL', 'a\0b', 'a\ufffdb'],
    ['the first half of a pair', 'a\ud83d', 'a\ufffd'],
    ['the second half of a pair', '\udc00b', '\ufffdb'],
    ['a whole pair stays', '😀', '😀'],
    ['the words for it stay', '\\u0000 \\\\u0000 \\ud83d', '\\u0000 \\\\u0000 \\ud83d'],
    ['other control characters stay', '\u0001\n\t"\\', '\u0001\n\t"\\'],
  ];
  for (const [name, value, kept] of cases) {
    test(name, () => {
      assert.equal(storableText(value), kept);
      assert.deepEqual(JSON.parse(storableJson({ [value]: [value] })), { [kept]: [kept] });
    });
  }

  test('never gets through, whatever stands around it', () => {
    const text = fc.string({
      unit: fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0', 'd'),
    });
    fc.assert(
      fc.property(text, (value) => {
        assert.doesNotThrow(() => parse(storableJson(value)));
        assert.equal(JSON.parse(storableJson(value)), storableText(value));
      }),
    );
  });
});

describe('the depth of a value', () => {
  const deep = (levels: number) => JSON.parse(nested('{"a":[', '1', ']}', levels / 2));

  test('is counted in lists and objects, and never overflows the stack', () => {
    assert.deepEqual(
      [5, [], [[]], { a: { b: 1 } }, deep(64), deep(66), deep(14_000)].map((value) =>
        isWithinDepth(value, 64),
      ),
      [true, true, true, true, true, false, false],
    );
    assert.deepEqual([isWithinDepth([], 0), isWithinDepth('x', 0)], [false, true]);
  });

  test('is at most 1,000 in what is kept', () => {
    assert.deepEqual(JSON.parse(storableJson(deep(1_000))), deep(1_000));
    assert.throws(() => storableJson(deep(1_002)), RangeError);
    assert.throws(() => storableJson(deep(14_000)), RangeError);
  });
});
