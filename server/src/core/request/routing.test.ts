import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelUpstream } from '../catalog/catalog.ts';
import {
  nextTry,
  routeAfter,
  routesAfter,
  routesInOrder,
  routeTo,
  type FailedChat,
} from './routing.ts';

function routes(...weights: (number | null)[]): ModelUpstream[] {
  return weights.map((weight, i) => ({
    upstream: 'abcd'[i]!,
    model: 'm',
    weight,
    input_mapping: {},
    input_defaults: {},
    cost_usd_micro: null,
    cost_output_usd_micro: null,
  }));
}
const names = (list: readonly ModelUpstream[]) => list.map(({ upstream }) => upstream).join('');

describe('the order of routes', () => {
  const cases: [weights: (number | null)[], chance: number, order: string][] = [
    [[null, null, null], 0, 'abc'],
    [[null, null, null], 0.999, 'abc'],
    [[3, 1], 0, 'ab'],
    [[3, 1], 0.7499, 'ab'],
    [[3, 1], 0.75, 'ba'],
    [[3, 1], 0.9999999, 'ba'],
    [[0, 1, 1], 0, 'bac'],
    [[0, 1, 1], 0.5, 'cab'],
    [[null, 5], 0, 'ba'],
    [[0, 0], 0.5, 'ab'],
  ];
  for (const [weights, chance, order] of cases) {
    test(`of weights ${JSON.stringify(weights)} at ${chance} is ${order}`, () => {
      assert.equal(names(routesInOrder(routes(...weights), chance)), order);
    });
  }

  test('draws each as often as its weight says', () => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < 1000; i++) {
      const first = routesInOrder(routes(2, 5, 3), i / 1000)[0]!.upstream;
      counts[first] = (counts[first] ?? 0) + 1;
    }
    assert.deepEqual(counts, { a: 200, b: 500, c: 300 });
  });
});

describe('the route after one that was not accepted', () => {
  const next = (current: string, closed = '') => {
    const all = routes(null, null, null);
    const at = all.findIndex(({ upstream }) => upstream === current);
    const found = routeAfter(all, at, (r) => !closed.includes(r.upstream));
    return found && `${found.route.upstream}${found.again ? ' again' : ''}`;
  };
  const cases: [current: string, closed: string, next: string | null][] = [
    ['a', '', 'b'],
    ['b', '', 'c'],
    ['c', '', 'a again'],
    ['a', 'b', 'c'],
    ['b', 'c', 'a again'],
    ['a', 'bc', null],
    ['c', 'ab', null],
    // One that the row names no more.
    ['x', '', 'a'],
  ];
  for (const [current, closed, expected] of cases) {
    test(`${current}${closed && `, ${closed} closed`} is ${expected ?? 'none'}`, () => {
      assert.equal(next(current, closed), expected);
    });
  }

  test('is none where there is only one', () => {
    assert.equal(
      routeAfter(routes(null), 0, () => true),
      null,
    );
  });

  test('may be another model of the same upstream, and is not the same model once more', () => {
    const all = routes(null, null, null).map((route, i) => ({
      ...route,
      upstream: 'a',
      model: 'mnm'[i]!,
    }));
    const models = [0, 1].map((at) => routesAfter(all, at));
    const told = models.map((each) => each.map(({ route, again }) => [route.model, again]));
    assert.deepEqual(told, [[['n', false]], [['m', true]]]);
  });
});

describe('after a chat call that failed', () => {
  const cases: [name: string, failed: FailedChat, more: object, isLast: boolean, next: string][] = [
    ['busy', { outcome: 'not_accepted', why: 'busy' }, {}, false, 'route'],
    ['busy for this key', { outcome: 'not_accepted', why: 'busy', limited: true }, {}, true, 'key'],
    ['no credit', { outcome: 'not_accepted', why: 'account' }, {}, false, 'key'],
    ['a bad key', { outcome: 'not_accepted', why: 'credential' }, {}, true, 'key'],
    ['no such model', { outcome: 'not_accepted', why: 'model' }, {}, false, 'route'],
    ['nobody there', { outcome: 'not_accepted', why: 'unreachable' }, {}, true, 'route'],
    ['a wait for the share', { outcome: 'not_accepted', waited: true }, {}, false, 'nothing'],
    ['lost', { outcome: 'unknown' }, {}, false, 'route'],
    ['lost at the last route', { outcome: 'unknown' }, {}, true, 'nothing'],
    ['lost where the row waits', { outcome: 'unknown' }, { on_lost: 'wait' }, false, 'nothing'],
    ['an unreadable answer', { outcome: 'unknown', answer: 'unreadable' }, {}, false, 'nothing'],
    ['slow', { outcome: 'unknown', answer: 'slow' }, { first_byte_seconds: 1 }, false, 'route'],
  ];
  for (const [name, failed, more, isLast, next] of cases)
    test(`${name} comes ${next}`, () => {
      assert.equal(nextTry(failed, { ...routes(null)[0]!, ...more }, isLast), next);
    });
});

describe('the route of a request', () => {
  const all = [...routes(null, null), { ...routes(null)[0]!, model: 'n' }];
  const cases: [upstream: string, model: string | null, index: number][] = [
    ['a', 'm', 0],
    ['a', 'n', 2],
    ['b', 'm', 1],
    // One that the row names no more, and one from before routes were kept.
    ['a', 'gone', 0],
    ['a', null, 0],
    ['x', 'm', -1],
  ];
  for (const [upstream, model, index] of cases) {
    test(`to ${model} of ${upstream} is ${index < 0 ? 'none' : `number ${index}`}`, () => {
      assert.equal(routeTo(all, upstream, model), all[index]);
    });
  }
});
