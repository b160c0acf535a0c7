/** Several models on the same input, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { barriers, overflowOf, picture, sizes, withoutBrowser } from '../browser.ts';
import { counted, openStudio, price, run, type Studio } from './studio-kit.ts';

const both = 'sandbox/canvas/text-to-image,sandbox/canvas/max/text-to-image';

describe('the comparison', { skip: withoutBrowser() ?? false }, () => {
  let studio: Studio;
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  for (const [size, viewport] of sizes) {
    test(`runs both models once at the summed price, and goes on with one, at ${size} width`, async () => {
      const { page, context, account, faults } = await studio.visit({ viewport });
      await page.goto(`${studio.base}/studio/compare`);
      await page.getByText('Choose at least two.').waitFor();
      assert.deepEqual(await barriers(page), []);
      const choose = page.getByRole('combobox', { name: 'Models' });
      await choose
        .or(page.getByLabel('Models', { exact: true }))
        .first()
        .click();
      await page.getByRole('option', { name: 'Canvas', exact: true }).click();
      await page.getByRole('option', { name: 'Canvas Edit' }).waitFor({ state: 'detached' });
      await page.getByRole('option', { name: 'Canvas Max' }).click();
      await page.keyboard.press('Escape');
      await page.getByLabel('Prompt').fill('hills for two');
      await page.getByText('1k', { exact: true }).last().click();
      const sum = page.locator('[data-price][data-fresh]');
      await sum.waitFor();
      const micro = BigInt((await sum.getAttribute('data-price'))!);
      await price(page, String(micro));
      await run(page).dblclick();
      const columns = page.locator('[data-compared][data-status=COMPLETED]');
      await columns.nth(1).waitFor();
      assert.deepEqual(await counted(studio.service, account), { requests: 2, transfers: 5 });
      const { available } = await studio.service.balance(account);
      assert.ok(available >= 10_000_000n - micro, 'no more than the sum is charged');
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      await picture(page, `compare-${size}`);
      await page.reload();
      await columns.nth(1).waitFor();
      await page.getByRole('link', { name: 'Go on with Canvas Max' }).click();
      await page.waitForURL(/canvas\/max\/text-to-image$/);
      assert.equal(await page.getByLabel('Prompt').inputValue(), 'hills for two');
      assert.equal((await counted(studio.service, account)).requests, 2);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('charges a lost answer of one model once, and the other is not touched', async () => {
    const { page, context, account } = await studio.visit();
    await page.goto(`${studio.base}/studio/compare?models=${both}`);
    await page.getByLabel('Prompt').fill('hills');
    await page.locator('[data-price][data-fresh]').waitFor();
    const lose = '**/v1/queue/sandbox/canvas/max/**';
    await page.route(lose, async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    });
    await run(page).click();
    const max = page.locator('[data-compared="sandbox/canvas/max/text-to-image"]');
    await max.getByText('The answer was lost').waitFor({ timeout: 30_000 });
    await page.locator('[data-compared][data-status=COMPLETED]').waitFor();
    await page.unroute(lose);
    await max.getByRole('button', { name: 'Try again' }).click();
    await page.locator('[data-compared][data-status=COMPLETED]').nth(1).waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 2, transfers: 5 });
    await context.close();
  });

  test('does not run what the balance covers for one model only', async () => {
    const { page, context, account } = await studio.visit({ usd: 0.07 });
    await page.goto(`${studio.base}/studio/compare?models=${both}`);
    await page.getByLabel('Prompt').fill('hills');
    await page.locator('[data-reason=balance]').waitFor();
    assert.equal(await run(page).isDisabled(), true);
    assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
    await context.close();
  });
});
