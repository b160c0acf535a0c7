import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../core/errors.ts';
import * as s from './schema.ts';
import { readBody, readQuery } from './validate.ts';

const body = s.form({
  name: s.text(undefined, { minLength: 1, maxLength: 5 }),
  count: s.optional(s.integer(undefined, { minimum: 1, maximum: 9 })),
  price: s.optional(s.amount()),
  until: s.optional(s.nullable(s.time())),
  kind: s.optional(s.choice(['a', 'b'])),
  tags: s.optional(s.list(s.text(), undefined, { maxItems: 2 })),
  inner: s.optional(s.object({ flag: s.optional(s.choice(['x'])) })),
});
const refusal = (read: () => unknown): [string | null | undefined, string] => {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'bad_request');
    return [error.param, error.message];
  }
  throw new Error('nothing was refused');
};

describe('a body', () => {
  test('is given back as it fits', () => {
    const good = { name: 'abc', count: 3, until: null, price: '1', kind: 'a', tags: ['x'] };
    assert.deepEqual(readBody(body, { ...good }), good);
  });

  for (const until of [
    '2027-01-01T00:00:00.000Z',
    '2027-01-01T00:00:00+00:00',
    '2027-01-01T02:00:00.000000+02:00',
    '2026-12-31T19:00-05:00',
  ])
    test(`may name a time as ${until}`, () => {
      assert.deepEqual(readBody(body, { name: 'abc', until }), { name: 'abc', until });
    });

  for (const until of [
    '2027-01-01',
    '2027-01-01T00:00:00',
    '2027-01-01T00:00:00 01:00',
    '1969-12-31T23:00-00:30',
    '2199-12-31T23:59:59-01:00',
    '2027-01-01T00:00:00+25:00',
  ])
    test(`is refused with ${until} as a time`, () => {
      assert.equal(refusal(() => readBody(body, { name: 'abc', until }))[0], 'until');
    });

  const wrong: [what: string, given: Record<string, unknown>, param: string, words: string][] = [
    ['left out', {}, 'name', 'name is missing. It must be a string of 1 to 5 characters.'],
    ['of another type', { name: 7 }, 'name', 'name must be a string of 1 to 5 characters.'],
    ['too long', { name: 'abcdef' }, 'name', 'name must be a string of 1 to 5 characters.'],
    ['too large', { count: 10 }, 'count', 'count must be an integer from 1 to 9.'],
    ['not whole', { count: 1.5 }, 'count', 'count must be an integer from 1 to 9.'],
    [
      'an amount of nothing',
      { price: '0' },
      'price',
      'price must be whole micro-USD above 0 as a decimal string, such as "2500000" for 2.50 USD.',
    ],
    [
      'no time',
      { until: 'soon' },
      'until',
      'until must be a time with Z or an offset, such as 2027-01-31T00:00:00.000Z, or null.',
    ],
    ['none of the choices', { kind: 'c' }, 'kind', 'kind must be one of a, b.'],
    ['within a list', { tags: ['x', 1] }, 'tags[1]', 'tags[1] must be a string.'],
    ['within an object', { inner: { flag: 'y' } }, 'inner.flag', 'inner.flag must be one of x.'],
    [
      'unknown',
      { nam: 'x' },
      'nam',
      'There is no field nam. Allowed: name, count, price, until, kind, tags, inner.',
    ],
  ];
  for (const [what, given, param, words] of wrong) {
    test(`with a field ${what} is refused by its name`, () => {
      const whole = what === 'left out' ? given : { name: 'abc', ...given };
      assert.deepEqual(
        refusal(() => readBody(body, whole)),
        [param, words],
      );
    });
  }
});

describe('the parameters of an address', () => {
  const query = s.object({ ...s.pageQuery(25), state: s.optional(s.choice(['open'])) });

  test('become numbers, and have their defaults', () => {
    assert.deepEqual(readQuery(query, { limit: '7' }), { limit: 7 });
    assert.deepEqual(readQuery(query, { other: 'x' }), { limit: 25 });
  });

  test('are refused where the schema is closed, with the names that there are', () => {
    const closed = s.form(query.properties);
    const more = s.object({ 'metadata.NAME': s.optional(s.text()) });
    const read = (name: string) => readQuery(closed, { [name]: '1' }, more);
    assert.deepEqual(read('limit'), { limit: 1 });
    assert.deepEqual(read('metadata.customer'), { limit: 25 });
    for (const name of ['other', 'metadata', '__proto__', 'toString'])
      assert.deepEqual(
        refusal(() => read(name)),
        [name, `There is no parameter ${name}. Allowed: limit, cursor, state, metadata.NAME.`],
      );
  });

  for (const [given, param] of [
    [{ limit: '0' }, 'limit'],
    [{ limit: '1e1' }, 'limit'],
    [{ cursor: 'x' }, 'cursor'],
    [{ state: '' }, 'state'],
  ] as const) {
    test(`are refused by name: ${JSON.stringify(given)}`, () => {
      assert.equal(refusal(() => readQuery(query, given))[0], param);
    });
  }

  for (const given of [{ limit: ['1', '2'] }, { limit: ['1', '1'] }, { state: ['open', ''] }])
    test(`are refused by name if they are repeated: ${JSON.stringify(given)}`, () => {
      const [param] = Object.keys(given);
      assert.deepEqual(
        refusal(() => readQuery(query, given)),
        [param, `${param} must be given once.`],
      );
    });

  test('may be repeated if nothing reads them', () => {
    assert.deepEqual(readQuery(query, { other: ['1', '2'] }), { limit: 25 });
  });
});
