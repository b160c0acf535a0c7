/** The public pages in a real browser: they need no script, no cookie and no sideways scrolling. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  barriers,
  openBrowser,
  picture,
  schemes,
  sizes,
  visitor,
  withoutBrowser,
} from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import { originOf, startWebService } from '../../server/test/kit/web.ts';

describe('the public pages', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
  });
  after(() => service.stop());

  for (const [size, viewport] of sizes) {
    for (const scheme of schemes) {
      test(`are accessible at ${size} width, ${scheme}`, async () => {
        const { page, context, faults } = await visitor(browser, { viewport, scheme });
        for (const path of [
          '/',
          '/models',
          '/models/fake/image',
          '/docs',
          '/docs/api',
          '/docs/api/conventions',
          '/docs/api/chat',
          '/docs/api/images',
          '/docs/api/requests',
          '/docs/states',
        ]) {
          await page.goto(`${originOf(service)}${path}`);
          assert.deepEqual(await barriers(page), [], path);
          const width = await page.evaluate('document.documentElement.scrollWidth');
          assert.ok(Number(width) <= viewport.width, `${path} is ${String(width)} wide`);
          await picture(page, `site${path.replaceAll('/', '-')}-${size}-${scheme}`);
        }
        await page.getByRole('searchbox', { name: 'Search the docs' }).fill('idempotency');
        await page.getByRole('button', { name: 'Search' }).click();
        await page.getByRole('link', { name: 'Idempotency', exact: true }).first().click();
        await page.getByRole('heading', { name: 'Idempotency', exact: true }).waitFor();
        assert.match(page.url(), /\/docs\/api\/conventions#idempotency$/);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }
});
