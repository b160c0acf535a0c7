/** The stage of a model's page in a real browser: results, the strip, the viewer, code, cancels. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  assertClear,
  barriers,
  isFocused,
  overflowOf,
  picture,
  withoutBrowser,
} from '../browser.ts';
import type { TestAccount } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import {
  canvas,
  completed,
  counted,
  large,
  openStudio,
  price,
  run,
  shownPrompt,
  tiles,
  type Studio,
} from './studio-kit.ts';

const film = 'sandbox/film/text-to-video';

let studio: Studio;

async function submit({ key }: TestAccount, prompt: string, model = canvas) {
  const body = model === film ? { prompt } : { prompt, resolution: '1k', aspect_ratio: '16:9' };
  const reply = await studio.service.call('POST', `/v1/queue/${model}`, { key, body });
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id as string;
}

async function statusOf({ key }: TestAccount, id: string): Promise<string> {
  const reply = await studio.service.call('GET', `/v1/requests/${id}/status`, { key });
  return reply.body.status;
}

async function endsAs(account: TestAccount, id: string, status: string): Promise<void> {
  await until(`it ends as ${status}`, async () => (await statusOf(account, id)) === status);
}

/** Runs with these prompts, the last the newest. */
async function made(account: TestAccount, ...prompts: string[]): Promise<void> {
  for (const prompt of prompts) await endsAs(account, await submit(account, prompt), 'COMPLETED');
}

describe('the stage', { skip: withoutBrowser() ?? false }, () => {
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  for (const [width, height, least] of [
    [1280, 720, 560],
    [1440, 900, 700],
    [1920, 1080, 1_000],
    [2560, 1440, 1_500],
    [820, 1180, 600],
    [390, 844, 340],
  ] as const) {
    test(`shows the newest result large, and Run, on arrival at ${width} × ${height}`, async () => {
      const { page, context, account, faults } = await studio.visit({
        viewport: { width, height },
      });
      await made(account, 'an older hill', 'a lighthouse at dawn');
      await studio.openModel(page, canvas);
      await large(page).waitFor();
      await shownPrompt(page, 'a lighthouse at dawn').waitFor();
      const box = (await large(page).boundingBox())!;
      assert.ok(box.width >= least, `the result is ${box.width} wide`);
      for (const shown of [large(page), run(page)]) {
        const { y, height: tall } = (await shown.boundingBox())!;
        assert.ok(y >= 0 && y + tall <= height, `${y} + ${tall} is not in ${height}`);
      }
      assert.equal(await overflowOf(page), 0);
      await assertClear(page, `stage-${width}`);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('is played with the keyboard alone, from the prompt to the next run', async () => {
    const { page, context, account, faults } = await studio.visit();
    await made(account, 'hill one', 'hill two');
    await studio.openModel(page, canvas);
    await large(page).waitFor();
    await page.getByLabel('Prompt').focus();
    await page.keyboard.type('hill three');
    await price(page, '60000');
    await page.keyboard.press('Control+Enter');
    await tiles(page).nth(2).waitFor();
    await shownPrompt(page, 'hill three').waitFor();
    // Tab leads on to the stage and its strip, whose one stop is the shown run.
    const strip = page.getByRole('group', { name: 'Runs of this model' });
    await until('the strip has the focus', async () => {
      await page.keyboard.press('Tab');
      return isFocused(strip.locator('[aria-current]'));
    });
    await page.keyboard.press('ArrowRight');
    await shownPrompt(page, 'hill two').waitFor();
    assert.equal(await isFocused(strip.locator('[aria-current]')), true);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await shownPrompt(page, 'hill three').waitFor();
    await page.keyboard.press('Enter');
    const viewer = page.getByRole('dialog', { name: 'Result' });
    await viewer.getByText('hill three').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'viewer');
    await page.keyboard.press('ArrowRight');
    await viewer.getByText('hill two').waitFor();
    await page.keyboard.press('ArrowRight');
    await viewer.getByText('hill one').waitFor();
    await page.keyboard.press('ArrowRight');
    await viewer.getByText('hill one').waitFor();
    await page.keyboard.press('Escape');
    await viewer.waitFor({ state: 'detached' });
    await shownPrompt(page, 'hill one').waitFor();
    await until('the strip has the focus again', () => isFocused(strip.locator('[aria-current]')));
    assert.equal((await counted(studio.service, account)).requests, 3);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('loads with at most eight calls, and shows no code of an error before its words', async () => {
    const { page, context, account, faults } = await studio.visit();
    await made(account, ...Array.from({ length: 6 }, (_, i) => `hill ${i}`));
    await endsAs(account, await submit(account, 'sandbox:fail'), 'FAILED');
    // The list may be loaded once more, because runs ended just before.
    const calls = new Set<string>();
    page.on('request', (sent) => {
      const { pathname } = new URL(sent.url());
      if (/^\/(api|v1)\//.test(pathname) && sent.resourceType() !== 'image') calls.add(pathname);
    });
    await page.route(/\/requests\/[^/]+$/, async (route) => {
      // Whatever the page knows without the request itself is said in words.
      const text = await page.locator('main').innerText();
      assert.doesNotMatch(text, /upstream_|timeout|COMPLETED|FAILED/);
      await route.fallback();
    });
    await studio.openModel(page, canvas);
    await page.locator('[data-stage][data-status=FAILED]').waitFor();
    await page.waitForLoadState('networkidle').catch(() => {});
    assert.ok(calls.size <= 8, [...calls].join('\n'));
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('offers to try a failed run again, and downloads a finished one', async () => {
    const { page, context, account, faults } = await studio.visit();
    const id = await submit(account, 'sandbox:fail');
    await endsAs(account, id, 'FAILED');
    await studio.openModel(page, canvas);
    const stage = page.locator('[data-stage][data-status=FAILED]');
    await stage.getByText('Nothing was charged').waitFor();
    assert.equal(await stage.getByRole('link', { name: 'Download' }).count(), 0);
    await stage.getByRole('button', { name: 'Try again' }).dblclick();
    await tiles(page, 'FAILED').nth(1).waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 2, transfers: 5 });
    await page.getByRole('button', { name: 'Run actions' }).click();
    await page.getByRole('menuitem', { name: 'Reuse settings' }).click();
    assert.equal(await page.getByLabel('Prompt').inputValue(), 'sandbox:fail');
    await page.getByLabel('Prompt').fill('hills');
    await run(page).click();
    await completed(page).getByRole('link', { name: 'Download' }).waitFor();
    await completed(page).getByRole('button', { name: 'Run again' }).dblclick();
    await tiles(page).nth(1).waitFor();
    assert.equal((await counted(studio.service, account)).requests, 4);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('keeps the form beside its code, which follows what is typed', async () => {
    const { page, context, faults } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('one tree');
    await page.getByRole('tab', { name: 'Code' }).click();
    await page.waitForURL(/tab=code/);
    const code = page.getByRole('region', { name: 'Code, curl' });
    await code.getByText('one tree').waitFor();
    await page.getByLabel('Prompt').fill('two trees');
    await code.getByText('two trees').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'stage-code');
    await page.getByRole('tab', { name: 'About' }).click();
    await page.getByText(canvas, { exact: true }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.reload();
    await page.getByText(canvas, { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Playground' }).click();
    assert.equal(await page.getByLabel('Prompt').inputValue(), 'two trees');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('leads to another model from its name, by keyboard', async () => {
    const { page, context, faults } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByRole('button', { name: 'Canvas', exact: true }).press('Enter');
    await page.getByRole('combobox', { name: 'Search models, tasks, owners…' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.keyboard.type('upscale');
    await page.keyboard.press('Enter');
    await page.waitForURL(/canvas\/upscale$/);
    await page.getByRole('heading', { name: 'Canvas Upscale' }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});

describe('a run under way', { skip: withoutBrowser() ?? false }, () => {
  before(async () => {
    studio = await openStudio({ speed: 1 });
  });
  after(() => studio?.close());

  test('says how long it takes, and stops on the page of its model at no cost', async () => {
    const { page, context, account, faults } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('a slow hill sandbox:slow=120');
    await price(page, '60000');
    await run(page).click();
    const stage = page.locator('[data-stage][data-status=IN_PROGRESS]');
    await stage.getByText(/^\d+ sec? so far$|^\d+ s so far$|so far/).waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'stage-running');
    await stage.getByRole('button', { name: 'Cancel request' }).click();
    await page.locator('[data-stage][data-status=CANCELLED]').waitFor({ timeout: 60_000 });
    const { available, reserved } = await studio.service.balance(account);
    assert.deepEqual([available, reserved], [10_000_000n, 0n]);
    assert.equal(await page.getByLabel('Prompt').inputValue(), 'a slow hill sandbox:slow=120');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('stops on the page of the request, once its cost is confirmed', async () => {
    const { page, context, account, faults } = await studio.visit();
    const id = await submit(account, 'a film sandbox:slow=120', film);
    await endsAs(account, id, 'IN_PROGRESS');
    await page.goto(`${studio.base}/dashboard/requests/${id}`);
    await page.getByRole('button', { name: 'Cancel request' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('You pay what it has cost until then').waitFor();
    assert.deepEqual(await barriers(page), []);
    await dialog.getByRole('button', { name: 'Cancel request' }).click();
    await page.getByRole('main').getByText('The model is asked to stop').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Cancel request' }).count(), 0);
    await endsAs(account, id, 'CANCELLED');
    await page.getByText('Cancelled', { exact: true }).first().waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('has no cancel where its model cannot be stopped', async () => {
    const { page, context, account, faults } = await studio.visit();
    const sketch = 'sandbox-sketch';
    const id = await submit(account, 'sandbox:slow=60', sketch);
    await endsAs(account, id, 'IN_PROGRESS');
    for (const path of [`/studio/${sketch}`, `/dashboard/requests/${id}`]) {
      await page.goto(`${studio.base}${path}`);
      await page.getByRole('heading', { name: 'The model is working on it' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Cancel request' }).count(), 0);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
});
