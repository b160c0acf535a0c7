/** The library in a real browser: the wall, its keyboard, search, favorites, deletion. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { barriers, desktop, overflowOf, phone, picture, withoutBrowser } from '../browser.ts';
import { canvas, openStudio, type Studio, type Visit } from './studio-kit.ts';

describe('the library', { skip: withoutBrowser() ?? false }, () => {
  let studio: Studio;
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  async function make({ account }: Visit, prompts: string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const prompt of prompts) {
      const reply = await account.post(`/v1/queue/${canvas}`, { prompt, resolution: '1k' });
      ids.push(reply.body.request_id);
      await account.get(`/v1/requests/${ids.at(-1)}/status?until=final`);
    }
    return ids;
  }

  for (const [size, viewport, scheme] of [
    ['desktop', desktop, 'light'],
    ['phone', phone, 'dark'],
  ] as const)
    test(`shows, finds, marks and deletes what was made, at ${size} width`, async () => {
      const visit = await studio.visit({ viewport, scheme });
      const { page, context, faults, account } = visit;
      const ids = await make(visit, ['a lighthouse', 'قطة على السطح', '🦊 in the snow']);
      const gone = (await make(visit, ['long ago']))[0]!;
      await studio.service.db.run(
        rawSql(`update requests set expires_at = completed_at, wake_at = now() where id = $1`, [
          gone,
        ]),
      );
      await page.goto(`${studio.base}/studio/library`);
      const tiles = page.locator('[data-tile]');
      await tiles.nth(2).waitFor();
      await page.locator(`[data-line="${gone}"]`).getByText('long ago').waitFor();
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      await picture(page, `library-${size}`);

      await tiles.first().focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.getByText('قطة على السطح').waitFor();
      await page.keyboard.press('ArrowRight');
      await dialog.getByText('a lighthouse').waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `library-viewer-${size}`);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });

      await page.getByRole('button', { name: 'Add to favorites' }).first().click();
      await page.getByText('Favorites', { exact: true }).click();
      await tiles.nth(1).waitFor({ state: 'detached' });
      await page.getByText('All', { exact: true }).click();
      await page.getByRole('searchbox').fill('LIGHT');
      await tiles.nth(1).waitFor({ state: 'detached' });
      assert.equal(await tiles.first().getAttribute('data-tile'), ids[0]);
      await page.getByRole('searchbox').fill('');
      await tiles.nth(2).waitFor();

      await tiles.last().focus();
      await page.keyboard.press('Space');
      await page.getByRole('button', { name: 'Delete files' }).click();
      await dialog.getByRole('button', { name: 'Delete files' }).click();
      await page.locator(`[data-line="${ids[0]}"]`).waitFor();
      const { status } = await account.get(`/v1/requests/${ids[0]}/response`);
      assert.equal(status, 410);
      await page.getByRole('link', { name: 'Make again: long ago' }).click();
      await page.waitForURL(new RegExp(canvas));
      await page.getByText('long ago').first().waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });

  test('a run that is marked on its model page is a favorite of the library, and back', async () => {
    const visit = await studio.visit();
    const { page, context, faults } = visit;
    const [kept, other] = await make(visit, ['a pier', 'a mole']);
    await studio.openModel(page, canvas);
    const star = page.getByRole('button', { name: 'Add to favorites' });
    const tile = page.getByRole('button', { name: /^a pier: .*favorite$/ });
    await page.locator(`[data-stage="${other}"]`).waitFor();
    await page.getByRole('button', { name: /^a pier/ }).click();
    await page.locator(`[data-stage="${kept}"]`).waitFor();
    await star.click();
    await tile.waitFor();
    assert.equal(await star.getAttribute('aria-pressed'), 'true');
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'stage-favorite');
    await page.goto(`${studio.base}/studio/library?show=favorites`);
    await page.locator(`[data-tile="${kept}"]`).waitFor();
    assert.equal(await page.locator('[data-tile]').count(), 1);
    await page.getByRole('button', { name: 'Add to favorites' }).first().click();
    await studio.openModel(page, canvas);
    await page.getByRole('button', { name: /^a pier/ }).waitFor();
    assert.equal(await tile.count(), 0);
    await page.locator(`[data-stage="${other}"]`).waitFor();
    await page.getByRole('button', { name: /^a mole/ }).press('Enter');
    const viewer = page.getByRole('dialog');
    await viewer.getByRole('button', { name: 'Add to favorites' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^a mole: .*favorite$/ }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});
