/** A few pages in a real browser; the long tests beside it walk all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, withoutBrowser } from '../browser.ts';
import { looks } from './pages.ts';
import { walk } from './walk.ts';
import { openWorld } from './world.ts';

const few = new Set(['sign-in', 'overview', 'requests']);

test('some pages are clean', { skip: withoutBrowser() ?? false }, async (t) => {
  const world = await openWorld(t);
  const walked = {
    browser: await openBrowser(),
    world,
    looks: looks.filter(({ name }) => few.has(name)),
    windows: ['phone', 'laptop'] as const,
  };
  assert.deepEqual(await walk('nobody', walked), []);
  assert.deepEqual(await walk('demo', walked), []);
});
