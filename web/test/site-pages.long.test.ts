/** The search of the public docs in a real browser; it needs no script. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, visitor, withoutBrowser } from './browser.ts';
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
