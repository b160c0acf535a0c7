/** Unusual cases of the pages: an odd browser, an amount that is too large. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { enter, openBrowser, withoutBrowser } from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../server/test/kit/web.ts';

describe('the pages', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: Person;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
    operator = await operatorOf(service);
  });
  after(async () => {
    await service.stop();
  });

  /** Opens a browser of this person; default: the owner of a new account. */
  async function open(who?: Person) {
    const account = await service.account({ usd: 5 });
    const visit = await enter(
      browser,
      base,
      who ?? (await person(service, { [account.account_id]: 'owner' })),
    );
    return { ...visit, account };
  }

  test('work in a browser with an invalid language', async () => {
    const { page, context, faults } = await open();
    await page.addInitScript(
      `Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix', 'en'] })`,
    );
    for (const path of [
      '/dashboard',
      '/dashboard/money',
      '/dashboard/requests',
      '/dashboard/team',
    ]) {
      await page.goto(`${base}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      assert.equal(await page.getByText('Invalid language tag').count(), 0, path);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('tell an operator that an amount is too large', async () => {
    const { page, context, account } = await open(operator);
    await page.goto(`${base}/operator/accounts/${account.account_id}`);
    await page.getByRole('button', { name: 'Credit' }).click();
    const field = page.getByRole('dialog').getByLabel('Amount in USD');
    await field.fill('1000000000');
    await page.getByText('Too large. The maximum is 999,999,999.999999 USD').waitFor();
    await field.fill('abc');
    await page.getByText('An amount in USD above 0').waitFor();
    await context.close();
  });
});
