/** The operator's console in a real browser: revenue, vouchers, invitations, the log. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createVouchers } from '../../../server/test/kit/by-command-line.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import {
  barriers,
  enter,
  openBrowser,
  overflowOf,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';

describe('the console', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: Person;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
    operator = await operatorOf(service);
    await earn(service);
  });
  after(async () => {
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    test(`shows revenue and cost, and the audit, at ${size} width`, async () => {
      const { page, context, faults } = await enter(browser, base, operator, { viewport });
      await page.goto(`${base}/operator`);
      await page.getByText('By model').waitFor();
      const shifted = await page.evaluate<number>(`new Promise((tell) => {
        new PerformanceObserver((list) => {
          tell(list.getEntries().reduce((sum, { value }) => sum + value, 0));
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => tell(0), 300);
      })`);
      assert.ok(shifted < 0.02, String(shifted));
      const main = page.locator('main');
      for (const name of ['Revenue', 'Upstream cost', 'Margin', 'Requests', 'Failed']) {
        const figure = main.getByText(name, { exact: true }).first().locator('..');
        const href = await figure.locator('a').first().getAttribute('href');
        assert.match(href!, /^\/operator\/requests\?.*from=/, name);
      }
      await page.getByText('All clear').waitFor();
      await page.locator('[data-chart=lines] polyline').first().waitFor();
      await page.getByText('$0.04', { exact: true }).first().waitFor();
      const failed = main.getByText('Failed', { exact: true }).first().locator('..');
      assert.match(await failed.innerText(), /^Failed\s+1\s+20% of requests$/);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-overview-${size}`);
      const views = page.getByRole('radiogroup', { name: 'Show as' });
      await views.getByText('Requests', { exact: true }).click();
      await page.locator('[data-chart=bars]').waitFor();
      await page.getByText('24 hours', { exact: true }).click();
      await page.waitForURL(/days=1$/);
      await main.getByText('No charges in this period').waitFor();
      await page.getByText('30 days', { exact: true }).click();
      await views.getByText('Table', { exact: true }).click();
      await page.getByText('New accounts', { exact: true }).first().waitFor();
      await page.getByRole('tab', { name: 'Top accounts' }).click();
      await page
        .getByLabel('Top accounts')
        .getByRole('link', { name: 'a1@example.com' })
        .first()
        .waitFor();
      const lately = page.getByLabel('Failed lately');
      await lately.getByRole('link', { name: 'Fake image' }).first().waitFor();
      await page.getByRole('button', { name: 'Check now' }).click();
      await page.getByText('Checked just now.').waitFor();
      await page.getByText('The books balance').first().waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-overview-table-${size}`);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    });

    test(`makes vouchers, shows their codes once, and voids one, at ${size} width`, async () => {
      const { page, context, faults } = await enter(browser, base, operator, {
        viewport,
        scheme: 'dark',
      });
      await page.goto(`${base}/operator/vouchers`);
      await page.getByRole('button', { name: 'New vouchers' }).click();
      await page.getByLabel('Amount per voucher, in USD').fill('2.5');
      await page.getByLabel('How many').fill('3');
      await page.getByLabel('Note').fill(`course ${size}`);
      await page.getByText('Total $7.50').waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-new-vouchers-${size}`);
      await page.getByRole('button', { name: 'Create vouchers' }).click();
      const codes = (await page.locator('pre').innerText()).trim().split('\n');
      assert.equal(new Set(codes).size, 3);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-codes-${size}`);
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download as CSV' }).click(),
      ]);
      assert.match(file.suggestedFilename(), /^vouchers-.*\.csv$/);
      await page.getByRole('button', { name: "I've saved them" }).click();
      await page.getByText(`course ${size}`).first().waitFor();
      assert.equal(await page.getByText(codes[0]!).count(), 0);
      await page.getByRole('button', { name: `Void: …${codes[0]!.slice(-4)}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Void' }).click();
      await page.getByText('Voucher voided.').waitFor();
      await page.getByText('Voided').first().waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-vouchers-${size}`);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('without an answer, shows the time of its numbers, and not that all is well', async () => {
    const { context } = await enter(browser, base, operator);
    await context.clock.install();
    const paths = ['/operator', '/operator/upstreams', '/operator/queue', '/dashboard'];
    const opened = await Promise.all(
      paths.map(async (path) => {
        const page = await context.newPage();
        await page.goto(`${base}${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
        return page;
      }),
    );
    const [overview] = opened;
    await overview!.getByText('All clear').waitFor();
    await context.route('**/api/**', (route) => route.abort());
    await context.clock.fastForward(6_000);
    for (const page of opened) {
      await page.getByText(/^Not updated since \d\d:\d\d$/).waitFor();
      await picture(page, `operator-not-updated-${opened.indexOf(page)}`);
    }
    assert.equal(await overview!.getByText('All clear').count(), 0);
    await context.unroute('**/api/**');
    await overview!.getByRole('button', { name: 'Try again' }).first().click();
    await overview!.getByText('All clear').waitFor();
    assert.equal(await overview!.getByText(/^Not updated since/).count(), 0);
    await context.close();
  });

  test('shows the given last day of a voucher in every time zone', async () => {
    const { context, page } = await enter(browser, base, operator);
    const expires_at = new Date('2199-12-31T23:59:59.999Z');
    const one = { amount: 1_000_000n, count: 1, note: 'to the end' };
    await createVouchers(service.db, { ...one, expires_at });
    await page.goto(`${base}/operator/vouchers`);
    await page
      .getByRole('row', { name: /to the end/ })
      .getByText('31 Dec 2199')
      .waitFor();
    await context.close();
  });

  test('makes an invitation, withdraws it, and has both in the log', async () => {
    const { page, context, faults } = await enter(browser, base, operator);
    await page.goto(`${base}/operator/invitations`);
    await page.getByText('No open invitation').waitFor();
    await page.getByText('Sign-up is open to everybody.').waitFor();
    await page.getByRole('button', { name: 'New invitation' }).click();
    await page.getByLabel('E-mail address').fill('guest@example.com');
    await page.getByRole('button', { name: 'Create link' }).click();
    const shown = page.locator('pre', { hasText: '/invitation?token=' });
    const link = await shown.innerText();
    await page.keyboard.press('Escape');
    await shown.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Withdraw: guest@example.com' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-invitations');
    await page.getByRole('button', { name: 'New link: guest@example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create link' }).click();
    const other = await shown.innerText();
    assert.notEqual(other, link);
    await page.keyboard.press('Escape');
    await shown.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Withdraw: guest@example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('No open invitation').waitFor();
    await page.goto(`${base}/operator/log`);
    const list = page.getByRole('region', { name: 'Operator log' });
    await list.getByText('Withdrew an invitation').nth(1).waitFor();
    assert.equal(await page.getByText(new URL(link).searchParams.get('token')!).count(), 0);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-log');
    await page.getByPlaceholder('All actions').click();
    await page.getByRole('option', { name: 'Invited somebody to sign up' }).click();
    await page.waitForURL(/action=invitation.create/);
    await list.getByText('Withdrew an invitation').first().waitFor({ state: 'detached' });
    await list.getByText('guest@example.com').nth(1).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('speaks Russian, in the dark', async () => {
    const { page, context, faults } = await enter(browser, base, operator, {
      language: 'ru',
      scheme: 'dark',
    });
    for (const path of ['', '/accounts', '/vouchers', '/invitations', '/log']) {
      await page.goto(`${base}/operator${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      // Percentages have the Russian form.
      if (path === '') await page.getByText(/^\d+(,\d)?\u00a0% выручки$/).waitFor();
      assert.deepEqual(await barriers(page), [], path);
      await picture(page, `operator-ru${path.replace('/', '-')}`);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
});

/** Some requests that were charged, on several days. */
async function earn(service: Service): Promise<void> {
  const { key } = await service.account({ usd: 50 });
  for (let i = 0; i < 4; i++) {
    const sent = await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a' } });
    assert.equal(sent.status, 202, sent.text);
  }
  await service.work();
  service.fake.behave.start = () => ({ outcome: 'rejected', message: 'no' });
  await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a' } });
  await service.work();
  await service.db.run(
    rawSql(`with r as (select request_id, row_number() over () as n from request_results)
      update request_results s set created_at = now() - r.n * interval '2 days'
      from r where r.request_id = s.request_id`),
  );
  // Stored sums of past days, which know nothing of the requests that were moved there.
  await service.db.run(rawSql('truncate revenue_days, revenue, spending'));
}
