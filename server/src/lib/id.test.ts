import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUuid, newId } from './id.ts';

test('new ids are UUIDs of version 7, all different, in the order they were made', () => {
  const ids = Array.from({ length: 5_000 }, newId);
  assert.ok(ids.every(isUuid));
  assert.ok(ids.every((id) => /^.{14}7.{4}[89ab]/.test(id)));
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual([...ids].sort(), ids);
});

test('not one letter may be upper case', () => {
  const good = 'abcdefab-cdef-abcd-efab-cdefabcdefab';
  for (let at = 0; at < good.length; at++) {
    if (good[at] === '-') continue;
    assert.equal(
      isUuid(good.slice(0, at) + good.charAt(at).toUpperCase() + good.slice(at + 1)),
      false,
    );
  }
  assert.equal(isUuid(good), true);
});

test('only the canonical spelling is a UUID', () => {
  const good = '0190f5e2-7c1b-7d3a-9e4f-0123456789ab';
  assert.equal(isUuid(good), true);
  const others = [
    good.toUpperCase(),
    good.replaceAll('-', ''),
    `{${good}}`,
    ` ${good}`,
    `${good}\n`,
    good.replace('9e4f', '9e4g'),
    good.slice(1),
    '',
    null,
    undefined,
    7,
    [good],
    { length: 36 },
  ];
  for (const other of others) assert.equal(isUuid(other), false, String(other));
});
