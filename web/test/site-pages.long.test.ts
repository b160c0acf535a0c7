/** The search of the public docs in a real browser; it needs no script. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  barriers,
  desktop,
  openBrowser,
  overflowOf,
  phone,
  visitor,
  withoutBrowser,
} from './browser.ts';
import { originOf, startWebService } from '../../server/test/kit/web.ts';

test(
  'the search of the docs leads to the heading',
  { skip: withoutBrowser() ?? false },
  async (t) => {
    const service = await startWebService();
    t.after(() => service.stop());
    const { page, context, faults } = await visitor(await openBrowser());
    await page.goto(`${originOf(service)}/docs`);
    await page.getByRole('searchbox', { name: 'Search the docs' }).fill('idempotency');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: 'Idempotency', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Idempotency', exact: true }).waitFor();
    assert.match(page.url(), /\/docs\/api\/conventions#idempotency$/);
    assert.deepEqual(faults, []);
    await context.close();
  },
);

test(
  'code is copied by a button, and has none without scripts',
  { skip: withoutBrowser() ?? false },
  async (t) => {
    const service = await startWebService();
    t.after(() => service.stop());
    const browser = await openBrowser();
    const at = `${originOf(service)}/docs/api/queue`;
    for (const viewport of [desktop, phone]) {
      const { page, context, faults } = await visitor(browser, { viewport });
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.goto(at);
      const blocks = page.locator('.code');
      assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), await blocks.count());
      await blocks.first().getByRole('button', { name: 'Copy' }).click();
      await blocks.first().getByRole('button', { name: 'Copied' }).waitFor();
      const copied = await page.evaluate('navigator.clipboard.readText()');
      assert.equal(copied, await blocks.first().locator('code').textContent());
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    }
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const page = await plain.newPage();
    await page.goto(at);
    await page.locator('.code .s').first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0);
    await plain.close();
  },
);
