/** From the gallery to a result in a real browser, with the sandbox as the upstream. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { until } from '../../../server/test/kit/until.ts';
import { barriers, overflowOf, picture, sizes, withoutBrowser } from '../browser.ts';
import {
  canvas,
  completed,
  counted,
  large,
  openStudio,
  price,
  run,
  tiles,
  type Studio,
} from './studio-kit.ts';

describe('the studio', { skip: withoutBrowser() ?? false }, () => {
  let studio: Studio;
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  for (const [size, viewport] of sizes) {
    test(`leads from the gallery to a picture at the price shown, at ${size} width`, async () => {
      const { page, context, faults, account } = await studio.visit({ viewport });
      await page.goto(`${studio.base}/studio`);
      await page.getByRole('heading', { name: 'Models' }).waitFor();
      await page.getByText('Canvas Max').waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `gallery-${size}`);
      await page.getByLabel('Search models, tasks, owners…').fill('landscape words');
      await page.waitForURL(/q=landscape/);
      await page.locator('[data-model-card]').first().click();
      await page.getByRole('heading', { name: 'Canvas', exact: true }).waitFor();
      // Without a chosen resolution the most expensive one counts. Without a prompt nothing runs.
      await price(page, '60000');
      assert.equal(await run(page).isDisabled(), true);
      assert.equal(await page.locator('[data-reason]').innerText(), 'Required: Prompt');
      await page.getByLabel('Prompt').fill('a boat on a quiet lake');
      await page.getByText('1k · $0.03', { exact: true }).last().click();
      await price(page, '30000');
      await page.getByRole('textbox', { name: 'Number of images' }).fill('2');
      await price(page, '60000');
      await page.getByRole('textbox', { name: 'Number of images' }).fill('1');
      await price(page, '30000');
      assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
      await run(page).click();
      const card = completed(page);
      await large(page).waitFor();
      await page.locator('[data-charged="30000"]').waitFor();
      assert.equal((await studio.service.balance(account)).available, 9_970_000n);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `model-${size}`);

      const small = (await tiles(page).locator('img').getAttribute('src'))!;
      assert.match(small, /\/output\/0\?exp=\d+&sig=[\w-]+&size=square$/);
      const address = (await large(page).getAttribute('src'))!;
      await card.getByRole('button', { name: /^Open / }).click();
      await page.getByRole('dialog').locator(`img[src="${address}"]`).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const made = Buffer.from(await (await fetch(address)).arrayBuffer());
      const saving = page.waitForEvent('download');
      await card.getByRole('link', { name: 'Download' }).click();
      const saved = await saving;
      assert.deepEqual(await readFile(await saved.path()), made);
      assert.match(saved.suggestedFilename(), /\.png$/);

      await page.reload();
      await large(page).waitFor();
      assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('sends a double click once, and a lost answer again as the same run', async () => {
    const { page, context, account } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    await price(page, '60000');
    await run(page).dblclick();
    await completed(page).waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });

    const keysSent: (string | undefined)[] = [];
    await page.route('**/v1/queue/**', async (route) => {
      keysSent.push(route.request().headers()['idempotency-key']);
      if (keysSent.length > 1) return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByLabel('Prompt').fill('other hills');
    await run(page).click();
    // The first answer is lost, but live lists show its run even before it is asked for again.
    await until('it is asked for again', () => keysSent.length === 2);
    await tiles(page).nth(1).waitFor();
    assert.equal(keysSent[0], keysSent[1]);
    assert.deepEqual(await counted(studio.service, account), { requests: 2, transfers: 5 });
    await context.close();
  });

  test('shows why a run failed, and that nothing was charged', async () => {
    const { page, context, account, faults } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('sandbox:fail');
    await price(page, '60000');
    await run(page).click();
    const card = page.locator('[data-stage][data-status=FAILED]');
    await card.locator('[data-failure]').waitFor();
    assert.match(await card.locator('[data-failure]').innerText(), /\w{3}/);
    await card.getByText('Nothing was charged').first().waitFor();
    const { available, reserved } = await studio.service.balance(account);
    assert.deepEqual([available, reserved], [10_000_000n, 0n]);
    await page.getByText('Balance $10.00').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});
