/** Visible parts stay in place when the rest of a page loads. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { enter, openBrowser, picture, sizes, withoutBrowser } from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import { originOf, person, startWebService, type Person } from '../../server/test/kit/web.ts';

/** Runs in the page before its own scripts. */
const watch = `
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shift += value;
  }).observe({ type: 'layout-shift', buffered: true });`;

/** Resolves when all changes are drawn. */
const drawn = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** Delays answers until the page is drawn without them. */
async function hold(page: Page, addresses: RegExp): Promise<() => Promise<void>> {
  const held: (() => Promise<void>)[] = [];
  let isHeld = true;
  await page.route(addresses, async (route) => {
    if (isHeld) held.push(() => route.continue());
    else await route.continue();
  });
  return async () => {
    isHeld = false;
    for (const go of held) await go();
  };
}

describe('the pages do not move', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let who: Person;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    const { account_id } = await service.account({ usd: 5 });
    who = await person(service, { [account_id]: 'owner' });
  });
  after(async () => {
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    for (const [path, name, comes] of [
      ['/dashboard/team', 'Team', 'People'],
      ['/dashboard/webhooks', 'Webhooks', 'No deliveries yet'],
      ['/studio/fake/image', 'Model', 'Balance $5.00'],
    ] as const) {
      test(`as ${path} loads, at ${size} width`, async () => {
        const base = originOf(service);
        const { page, context, faults } = await enter(browser, base, who, { viewport });
        await page.addInitScript(watch);
        const releaseCode = await hold(page, new RegExp(`/assets/${name}-[^/]+\\.js`));
        const releaseData = await hold(page, /\/api\/accounts\/[^/]+\/(?!events)|\/v1\/models/);
        await page.goto(`${base}${path}`);
        // First the placeholder of the page, then the page with the placeholders of its data.
        const stand = page.locator('.mantine-Skeleton-root');
        const whole = page.locator('.mantine-Skeleton-root[style*="60vh"]');
        await whole.waitFor();
        await page.evaluate(drawn);
        await releaseCode();
        await whole.waitFor({ state: 'detached' });
        await stand.first().waitFor();
        await page.evaluate(drawn);
        const isFace = 'document.fonts.check(\'1em "Inter Variable"\')';
        assert.equal(await page.evaluate(isFace), true, 'the typeface is there before the text');
        await releaseData();
        await page.getByText(comes).first().waitFor();
        await page.waitForLoadState('networkidle');
        await page.evaluate(drawn);
        assert.equal(Number(await page.evaluate('shift.toFixed(2)')), 0);
        await picture(page, `still-${size}${path.replaceAll('/', '-')}`);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }
});
