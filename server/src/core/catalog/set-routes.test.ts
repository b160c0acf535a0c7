import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelUpstream } from './catalog.ts';
import { readRoutes, withRoutes, routesOf } from './set-routes.ts';

const cases: [what: string, given: number[], expected: number[]][] = [
  ['whole per cent stay', [70, 30], [70, 30]],
  ['thirds of one', [1 / 3, 1 / 3, 1 / 3], [33.3, 33.3, 33.4]],
  ['thirds of a hundred', [100 / 3, 100 / 3, 100 / 3], [33.3, 33.3, 33.4]],
  ['sixths', Array<number>(6).fill(1 / 6), [16.7, 16.7, 16.7, 16.7, 16.7, 16.5]],
  ['sevenths', Array<number>(7).fill(1 / 7), [14.3, 14.3, 14.3, 14.3, 14.3, 14.3, 14.2]],
  ['no share goes below zero', [49.95, 49.95, 0.1, 0], [50, 49.9, 0.1, 0]],
];

for (const [what, given, expected] of cases)
  test(`shares add up to 100, are shown so, and can be set again: ${what}`, () => {
    const routes = given.map((_, at) => ({ upstream: `u${at}`, model: 'm' }) as ModelUpstream);
    const set = readRoutes(
      routes,
      given.map((share, at) => ({ name: `u${at}`, share })),
    );
    const sharesIn = (all: { share: number | null }[]) => all.map(({ share }) => share);
    assert.deepEqual(sharesIn(set), expected);
    assert.deepEqual(sharesIn(routesOf(withRoutes(routes, set))), expected);
    assert.deepEqual(readRoutes(routes, set), set);
  });

test('weights of a file are shown as shares that can be set', () => {
  const routes = ['u0', 'u1', 'u2'].map(
    (upstream) => ({ upstream, model: 'm', weight: 1 }) as ModelUpstream,
  );
  const shown = routesOf(routes);
  assert.deepEqual(
    shown.map(({ share }) => share),
    [33.3, 33.3, 33.4],
  );
  assert.deepEqual(readRoutes(routes, shown), shown);
});
