/** The overview in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { assertClear, enter, openBrowser, sizes, withoutBrowser } from '../browser.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { spendForMonths } from '../../../server/test/kit/spent.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

describe('the overview', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let busy: TestAccount;
  let forget: () => Promise<unknown>;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    busy = await service.account({ usd: 5, monthly_limit_usd_micro: 40_000n });
    forget = await spendForMonths(service, busy);
  });
  after(async () => {
    await forget();
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    test(`shows what was spent, as bars and as a table, at ${size} width`, async () => {
      const who = await person(service, { [busy.account_id]: 'owner' });
      const { page, context, faults } = await enter(browser, originOf(service), who, { viewport });
      await page.goto(`${originOf(service)}/dashboard`);
      const chart = page.getByRole('img', { name: /^Bar chart of the spend/ });
      await chart.waitFor();
      await page.locator('[data-chart=bars] rect').first().waitFor();
      // The values of a day come by keyboard and by pointer, and go again.
      await chart.press('End');
      await chart.getByText(today()).waitFor();
      await chart.press('ArrowLeft');
      await chart.getByText(today()).waitFor({ state: 'detached' });
      await chart.press('Escape');
      assert.equal(await chart.innerText(), '');
      const { x, y, width, height } = (await chart.boundingBox())!;
      await page.mouse.move(x + width - 2, y + height / 2);
      await chart.getByText(today()).waitFor();
      await page.mouse.move(0, 0);
      assert.equal(await chart.innerText(), '');
      await page.getByRole('link', { name: 'Fake image' }).first().waitFor();
      await page.getByText('$0.03').first().waitFor();
      await assertClear(page, `overview-${size}`);
      await page.getByText('By model', { exact: true }).click();
      await page.getByText('Last 90 days').click();
      await page.waitForURL(/days=90/);
      await page.getByText('fal/veo/text-to-video').first().waitFor();
      await page.getByText('Last 7 days', { exact: true }).click();
      await page.waitForURL(/days=7/);
      await page.getByText('As a table').click();
      await page.getByRole('columnheader', { name: 'fal/veo/text-to-video' }).waitFor();
      await assertClear(page, `overview-table-${size}`);
      assert.ok((await endsOf(page)).length > 4);
      for (const spread of await endsOf(page)) assert.ok(spread < 1, `ends are ${spread} apart`);

      // A request that ends disappears from the running ones while the page is open.
      await service.call('POST', `/v1/requests/${await waiting(busy)}/cancel`, { key: busy.key });
      await page.getByText('Nothing is running').waitFor();
      await service.call('POST', '/v1/queue/fake/image', {
        key: busy.key,
        body: { prompt: 'another cat', num_images: 2 },
      });
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  /** Today's UTC date as the chart writes it. */
  function today(): string {
    const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
    return format.format(new Date());
  }

  /** How far the ends of each column of amounts are apart, in pixels. */
  async function endsOf(page: Page): Promise<number[]> {
    return page.evaluate(`(() => {
      const ends = new Map();
      for (const amount of document.querySelectorAll('table .number')) {
        const column = amount.closest('td, th').cellIndex;
        const end = amount.getBoundingClientRect().right;
        ends.set(column, [...(ends.get(column) ?? []), end]);
      }
      return [...ends.values()].map((each) => Math.max(...each) - Math.min(...each));
    })()`);
  }

  async function waiting({ key }: TestAccount): Promise<string> {
    const { body } = await service.call('GET', '/v1/requests?status=IN_QUEUE', { key });
    return body.data[0].request_id as string;
  }
});
