/** Pages whose code cannot be loaded, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { enter, openBrowser, withoutBrowser } from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import { originOf, person, startWebService } from '../../server/test/kit/web.ts';

describe('a page whose code cannot be loaded', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
  });
  after(async () => {
    await service.stop();
  });

  async function visit() {
    const account = await service.account({ usd: 5 });
    const base = originOf(service);
    const one = await enter(
      browser,
      base,
      await person(service, { [account.account_id]: 'owner' }),
    );
    await one.page.goto(`${base}/dashboard`);
    await one.page.getByRole('heading', { level: 1 }).waitFor();
    await one.page.evaluate('globalThis.isSame = true');
    return one;
  }

  test('says so without a connection, and is shown after another try', async () => {
    const { page, context } = await visit();
    await context.setOffline(true);
    for (const name of ['Team', 'Webhooks']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('alert').getByText('This page could not be loaded').waitFor();
      // The parts around the page are still there.
      assert.equal(await page.getByRole('link', { name: 'Keys', exact: true }).isVisible(), true);
    }
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' });
    await again.click();
    await again.waitFor();
    // Without a service to ask, the document stays.
    assert.equal(await page.evaluate('globalThis.isSame'), true);
    await context.setOffline(false);
    await again.click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Team', exact: true }).click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    await context.close();
  });

  test('is reloaded if the service has newer pages', async () => {
    const { page, context } = await visit();
    let isReplaced = true;
    await page.route('**/assets/Team-*.js', (route) =>
      isReplaced ? route.fulfill({ status: 404 }) : route.continue(),
    );
    await page.route('**/dashboard/team', (route) => {
      if (route.request().resourceType() !== 'document')
        return route.fulfill({ contentType: 'text/html', body: '<script src=/assets/new.js>' });
      isReplaced = false;
      return route.continue();
    });
    await page.getByRole('link', { name: 'Team', exact: true }).click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    assert.equal(await page.evaluate('globalThis.isSame'), undefined);
    await context.close();
  });
});
