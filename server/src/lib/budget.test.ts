import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBudget } from './budget.ts';

test('what is left is taken by whoever comes, and what is refused takes nothing', () => {
  const budget = createBudget(10, 10);
  assert.equal(budget.take('a', 6), true);
  assert.equal(budget.take('b', 5), false);
  assert.equal(budget.take('b', 4), true);
  assert.equal(budget.take('a', 1), false);
});

test('an owner takes no more than its share, and leaves the rest to others', () => {
  const budget = createBudget(10, 4);
  assert.equal(budget.take('a', 4), true);
  assert.equal(budget.take('a', 1), false);
  assert.equal(budget.take('b', 4), true);
});

test('what is given back can be taken again', () => {
  const budget = createBudget(10, 4);
  budget.take('a', 3);
  budget.give('a', 2);
  assert.equal(budget.take('a', 3), true);
  assert.equal(budget.take('a', 1), false);
  budget.give('a', 4);
  assert.equal(budget.take('b', 4), true);
  assert.equal(budget.take('c', 4), true);
  assert.equal(budget.take('d', 3), false);
  assert.equal(budget.take('d', 2), true);
});

test('what an owner holds is known, and nothing is held by a stranger', () => {
  const budget = createBudget(10, 4);
  budget.take('a', 3);
  budget.take('a', 3);
  budget.take('b', 1);
  assert.deepEqual(
    ['a', 'b', 'c'].map((owner) => budget.takenBy(owner)),
    [3, 1, 0],
  );
  budget.give('a', 3);
  assert.equal(budget.takenBy('a'), 0);
});

test('owners that leave to others what they hold themselves never take the last place', () => {
  const budget = createBudget(64, null);
  const taken: number[] = [];
  for (const owner of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    let count = 0;
    while (budget.take(owner, 1)) count++;
    taken.push(count);
  }
  assert.deepEqual(taken, [32, 16, 8, 4, 2, 1, 1]);
  budget.give('a', 32);
  assert.equal(budget.leftFor('h'), 16, 'what is given back is shared anew');
});
