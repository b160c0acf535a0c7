/** The test of one file with pages of an area. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, withoutBrowser } from '../browser.ts';
import { visitorNames } from './look.ts';
import { rowsOfFile, type Area } from './pages.ts';
import { walk } from './walk.ts';
import { openWorld } from './world.ts';

/** The rows to look at, or `all`; `turns`: all of them, each in one language. Unset: none. */
const wanted = process.env.WEB_PAGES?.split(',') ?? [];

export function walkArea(area: Area, nth: number): void {
  const isWanted = (name: string) => wanted.some((each) => ['all', 'turns', name].includes(each));
  const looks = rowsOfFile(area, nth).filter(({ name }) => isWanted(name));
  const missing =
    withoutBrowser() ?? (looks.length === 0 ? 'WEB_PAGES names no page of it' : false);
  test(`pages of ${area} are clean`, { skip: missing }, async (t) => {
    const browser = await openBrowser();
    const world = await openWorld(t);
    const walked = { browser, world, looks, byTurns: wanted.includes('turns') };
    // Nobody signs in without a page to see, because sign-ins have a limit.
    for (const who of visitorNames.filter((name) => looks.some((look) => look.who === name)))
      await t.test(`that ${who} sees`, async () => {
        assert.deepEqual(await walk(who, walked), []);
      });
  });
}
