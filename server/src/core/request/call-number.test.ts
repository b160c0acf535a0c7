import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../lib/id.ts';
import { callerId, callNumber, repeatNumber, requestOfNumber } from './call-number.ts';

test('the numbers of a call and of its repeats lead to its request', () => {
  const id = newId();
  const repeat = repeatNumber(id, callNumber(newId()));
  assert.match(callNumber(id), /^req_[0-9a-f]{32}$/);
  assert.notEqual(repeat, repeatNumber(id, callNumber(newId())));
  for (const number of [id, callNumber(id), repeat, repeat.toUpperCase()])
    assert.equal(requestOfNumber(number), id);
  for (const other of [`${callNumber(id)}_`, ` ${callNumber(id)}`, 'req_', 'req_ZmFyZWJv', ''])
    assert.equal(requestOfNumber(other), null, other);
});

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = `00-${trace}-00f067aa0ba902b7-01`;
const zeros = (digits: number) => '0'.repeat(digits);

describe('the number of a caller', () => {
  const cases: [what: string, ids: string[], parents: string[], kept: string | null][] = [
    ['nothing', [], [], null],
    ['a number', ['abc-1'], [], 'abc-1'],
    ['128 characters', ['~'.repeat(128)], [], '~'.repeat(128)],
    ['129 characters', ['~'.repeat(129)], [], null],
    ['an empty one', [''], [], null],
    ['a space inside', ['a b'], [], null],
    ['a control character', ['a\u0001b'], [], null],
    ['a line break', ['a\nb'], [], null],
    ['UTF-8 in the bytes of a header', ['caf\u00c3\u00a9'], [], null],
    ['DEL', ['a\u007f'], [], null],
    ['the first valid of two', ['a b', 'c', 'd'], [], 'c'],
    ['a trace', [], [parent], trace],
    ['a trace behind an invalid number', ['a b'], [parent], trace],
    ['a number before a trace', ['a'], [parent], 'a'],
    ['a trace without sampling', [], [`00-${trace}-00f067aa0ba902b7-00`], trace],
    ['a later version with more fields', [], [`01${parent.slice(2)}-more`], trace],
    ['version 00 with more fields', [], [`${parent}-more`], null],
    ['version ff', [], [`ff${parent.slice(2)}`], null],
    ['upper case', [], [parent.toUpperCase()], null],
    ['a trace of zeros', [], [`00-${zeros(32)}-00f067aa0ba902b7-01`], null],
    ['a parent of zeros', [], [`00-${trace}-${zeros(16)}-01`], null],
    ['a short trace', [], [`00-${trace.slice(1)}-00f067aa0ba902b7-01`], null],
    ['the first valid of two traces', [], ['x', parent], trace],
  ];
  for (const [what, ids, parents, kept] of cases)
    test(`of ${what}: ${kept ?? 'none'}`, () => assert.equal(callerId(ids, parents), kept));
});
