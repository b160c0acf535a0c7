/** The test of one area's pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, withoutBrowser } from '../browser.ts';
import { visitorNames } from './look.ts';
import { rowsOf, type Area } from './pages.ts';
import { walk } from './walk.ts';
import { openWorld } from './world.ts';

/** The rows to look at, or `all`. Unset: none, because some pages still have faults. */
const wanted = process.env.WEB_PAGES?.split(',') ?? [];

export function walkArea(area: Area): void {
  const looks = rowsOf(area).filter(({ name }) => wanted.includes('all') || wanted.includes(name));
  const missing =
    withoutBrowser() ?? (looks.length === 0 ? 'WEB_PAGES names no page of it' : false);
  test(`each page of ${area} is clean`, { skip: missing }, async (t) => {
    const browser = await openBrowser();
    const world = await openWorld(t);
    // Nobody signs in without a page to see, because sign-ins have a limit.
    for (const who of visitorNames.filter((name) => looks.some((look) => look.who === name)))
      await t.test(`that ${who} sees`, async () => {
        assert.deepEqual(await walk(who, { browser, world, looks }), []);
      });
  });
}
