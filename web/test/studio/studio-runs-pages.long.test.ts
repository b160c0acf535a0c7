/** Lost answers, and an account's own prices, in the studio in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setPrice } from '../../../server/src/operations/accounts/account.ts';
import { withoutBrowser } from '../browser.ts';
import { canvas, completed, counted, openStudio, price, run, type Studio } from './studio-kit.ts';

describe('the studio', { skip: withoutBrowser() ?? false }, () => {
  let studio: Studio;
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  test('keeps an unanswered submit when its page is left, and repeats it as the same run', async () => {
    const { page, context, account } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills at night');
    await price(page, '60000');
    const keysSent = new Set<string | undefined>();
    const lose = '**/v1/queue/**';
    await page.route(lose, async (route) => {
      keysSent.add(route.request().headers()['idempotency-key']);
      await route.fetch();
      await route.abort('connectionreset');
    });
    await run(page).click();
    const lost = page.getByText('The answer was lost');
    await lost.waitFor({ timeout: 30_000 });
    await page.getByRole('link', { name: 'Models', exact: true }).last().click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.goBack();
    await lost.waitFor();
    await page.reload();
    await lost.waitFor();
    await page.unroute(lose);
    page.on('request', (request) => {
      const { 'idempotency-key': key } = request.headers();
      if (key !== undefined) keysSent.add(key);
    });
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
    await lost.waitFor({ state: 'detached' });
    await completed(page).waitFor();
    assert.equal(keysSent.size, 1);
    assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
    await context.close();
  });

  test('shows the prices of the account itself wherever a price is shown', async () => {
    const { page, context, account, faults } = await studio.visit();
    await setPrice(studio.service.db, account.account_id, 1_333_333);
    await page.goto(`${studio.base}/studio?q=landscape`);
    const card = page.locator('[data-model-card]').first();
    await card.getByText('$0.04 – $0.08 an image').waitFor();
    await card.click();
    await price(page, '80000');
    await page.getByText('$0.04 – $0.08 an image').waitFor();
    await page
      .getByText(/^1k · \$/)
      .last()
      .click();
    await price(page, '40000');
    assert.equal(await page.getByText('$0.03').count(), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${studio.base}/studio/chat`);
    await page.getByText('$0.134 in · $0.534 out, per million tokens').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});
