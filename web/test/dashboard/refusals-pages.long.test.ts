/** Refused calls in a real browser: on the keys and on the overview. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertClear, enter, openBrowser, sizes, withoutBrowser } from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

describe('refused calls', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
  });
  after(async () => {
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    const scheme = size === 'phone' ? 'dark' : 'light';
    test(`are counted beside their key and on the overview, at ${size} width`, async () => {
      const account = await service.account({ usd: 1, monthly_limit_usd_micro: 15_000n });
      const who = await person(service, { [account.account_id]: 'owner' });
      const base = originOf(service);
      const { page, context, faults } = await enter(browser, base, who, { viewport, scheme });
      const submit = () =>
        service.call('POST', '/v1/queue/fake/image', {
          key: account.key,
          body: { prompt: 'a cat' },
        });
      assert.equal((await submit()).status, 202);
      for (let i = 0; i < 3; i++) assert.equal((await submit()).status, 402);
      await page.goto(`${base}/dashboard`);
      const told = page.locator('[data-refused=key_limit_reached]');
      await told.getByText('test: 3 calls refused in the last day').waitFor();
      await told.getByText('monthly limit').waitFor();
      await assertClear(page, `overview-refused-${size}`);
      await page.goto(`${base}/dashboard/keys`);
      const row = page.getByRole('listitem').filter({ hasText: 'test' });
      await row.getByText('3 calls refused in the last day: monthly limit').waitFor();
      assert.equal(await told.count(), 1);
      await assertClear(page, `keys-refused-${size}`);
      // The open page counts further ones.
      await submit();
      await row.getByText('4 calls refused in the last day: monthly limit').waitFor();

      // Each count leads to its calls, which say what to do; new ones come by themselves.
      await row.getByRole('link', { name: /4 calls refused/ }).click();
      await page.waitForURL(/status=REFUSED/);
      const calls = page.locator('[data-refused=key_limit_reached]');
      await calls.nth(3).waitFor();
      await calls.first().getByText("The key's monthly limit is reached").waitFor();
      await page.getByText('Fake image').first().waitFor();
      await assertClear(page, `requests-refused-${size}`);
      await submit();
      await calls.nth(4).waitFor();
      await page.getByRole('button', { name: 'Remove the filter Error: key_limit' }).waitFor();
      const states = page.getByRole('group', { name: 'Status' });
      await states.getByText('All').click();
      await page.getByRole('link', { name: 'a cat' }).waitFor();
      await states.getByText('Refused').click();
      await calls.nth(4).waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });
  }
});
