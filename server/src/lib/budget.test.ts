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
