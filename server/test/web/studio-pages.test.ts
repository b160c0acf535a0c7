/** The studio, in a real browser, with the sandbox behind it. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import * as keys from '../../src/db/keys.ts';
import { rawSql } from '../../src/lib/sql.ts';
import { createSandbox } from '../../src/upstreams/sandbox/sandbox.ts';
import {
  barriers,
  desktop,
  openBrowser,
  phone,
  enter,
  picture,
  visitor,
  withoutBrowser,
  type Visitor,
  type VisitOptions,
} from '../kit/browser.ts';
import { tinyPng } from '../kit/fake.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { originOf, person, startWebService } from '../kit/web.ts';
import type { Role } from '../../src/core/role.ts';

const canvas = 'sandbox/canvas/text-to-image';
const edit = 'sandbox/canvas/edit';

/** How wide a picture is once the browser has read it. */
const decoded = (node: any): Promise<number> => node.decode().then(() => node.naturalWidth);

describe('the studio', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser | undefined;
  let base: string;
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sandbox-'));
    const catalog = join(import.meta.dirname, '../../../catalog/sandbox.yaml');
    service = await startWebService({
      upstreams: [createSandbox({ dir, speed: Infinity })],
      catalog: await readFile(catalog, 'utf8'),
      running: true,
    });
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await browser?.close();
    await service.audit();
    await service.stop();
    await rm(dir, { recursive: true, force: true });
  });

  interface Visit extends Visitor {
    account: TestAccount;
  }

  async function visit(
    { role = 'owner', usd = 10, ...options }: VisitOptions & { role?: Role; usd?: number } = {},
    account?: TestAccount,
  ): Promise<Visit> {
    const own = account ?? (await service.account({ usd }));
    const who = await person(service, { [own.account_id]: role });
    const one = await visitor(browser!, options);
    await enter(one, base, who);
    return { ...one, account: own };
  }

  async function counted({ account_id }: TestAccount) {
    const [row] = await service.db.run<{ requests: bigint; transfers: bigint }>(
      rawSql(
        `select (select count(*) from requests where account_id = $1) as requests,
          (select count(*) from transfers where account_id = $1) as transfers`,
        [account_id],
      ),
    );
    return { requests: Number(row!.requests), transfers: Number(row!.transfers) };
  }

  async function openModel(page: Page, id: string, query = ''): Promise<void> {
    await page.goto(`${base}/studio/${id}${query}`);
    await page.locator('[data-price]').or(page.getByText('No price yet')).first().waitFor();
  }

  const price = (page: Page, micro: string) =>
    page.locator(`[data-price="${micro}"][data-fresh]`).waitFor();
  const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true });
  const completed = (page: Page) => page.locator('[data-status=COMPLETED]').first();

  for (const [size, viewport] of Object.entries({ desktop, phone })) {
    test(`leads from the gallery to a picture at the price shown, at ${size} width`, async () => {
      const { page, context, faults, account } = await visit({ viewport });
      await page.goto(`${base}/studio`);
      await page.getByRole('heading', { name: 'Models' }).waitFor();
      await page.getByText('Canvas Max').waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `gallery-${size}`);
      await page.getByLabel('Search models, tasks, owners…').fill('landscape words');
      await page.waitForURL(/q=landscape/);
      await page.locator('[data-model-card]').first().click();
      await page.getByRole('heading', { name: 'Canvas', exact: true }).waitFor();
      // The dearest resolution, as none is chosen; nothing runs without a prompt.
      await price(page, '60000');
      assert.equal(await run(page).isDisabled(), true);
      assert.equal(await page.locator('[data-reason]').innerText(), 'Still to fill in: Prompt');
      await page.getByLabel('Prompt').fill('a boat on a quiet lake');
      await page.getByText('1k', { exact: true }).last().click();
      await price(page, '30000');
      await page.getByRole('textbox', { name: 'Number of images' }).fill('2');
      await price(page, '60000');
      await page.getByRole('textbox', { name: 'Number of images' }).fill('1');
      await price(page, '30000');
      assert.deepEqual(await counted(account), { requests: 0, transfers: 1 });
      await run(page).click();
      const card = completed(page);
      await card.locator('img').waitFor();
      await page.locator('[data-charged="30000"]').waitFor();
      assert.equal((await service.balance(account)).available, 9_970_000n);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `model-${size}`);

      const address = (await card.locator('img').getAttribute('src'))!;
      const made = Buffer.from(await (await fetch(address)).arrayBuffer());
      const saving = page.waitForEvent('download');
      await card.getByRole('link', { name: /^Download/ }).click();
      const saved = await saving;
      assert.deepEqual(await readFile(await saved.path()), made);
      assert.match(saved.suggestedFilename(), /\.png$/);

      await page.reload();
      await completed(page).locator('img').waitFor();
      assert.deepEqual(await counted(account), { requests: 1, transfers: 3 });
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      assert.equal(overflow, 0);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('sends a double click once, and a lost answer again as the same run', async () => {
    const { page, context, account } = await visit();
    await openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    await price(page, '60000');
    await run(page).dblclick();
    await completed(page).waitFor();
    assert.deepEqual(await counted(account), { requests: 1, transfers: 3 });

    const keysSent: (string | undefined)[] = [];
    await page.route('**/v1/queue/**', async (route) => {
      keysSent.push(route.request().headers()['idempotency-key']);
      if (keysSent.length > 1) return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByLabel('Prompt').fill('other hills');
    await run(page).click();
    await page.locator('[data-status=COMPLETED]').nth(1).waitFor();
    assert.equal(keysSent.length, 2);
    assert.equal(keysSent[0], keysSent[1]);
    assert.deepEqual(await counted(account), { requests: 2, transfers: 5 });
    await context.close();
  });

  test('shows why a run failed, and that nothing was charged', async () => {
    const { page, context, account, faults } = await visit();
    await openModel(page, canvas);
    await page.getByLabel('Prompt').fill('sandbox:fail');
    await price(page, '60000');
    await run(page).click();
    const card = page.locator('[data-status=FAILED]');
    await card.locator('[data-failure]').waitFor();
    assert.match(await card.locator('[data-failure]').innerText(), /\w{3}/);
    await card.getByText('Nothing was charged').waitFor();
    const { available, reserved } = await service.balance(account);
    assert.deepEqual([available, reserved], [10_000_000n, 0n]);
    await page.getByText('Balance $10.00').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('puts what the service refuses at its field, and reads the whole input as JSON', async () => {
    const { page, context, account } = await visit();
    await openModel(page, canvas);
    await page.getByText('JSON', { exact: true }).click();
    const json = page.getByLabel('The whole input as JSON');
    await json.fill('{ "prompt": ');
    await page.getByText('Correct the JSON first.').waitFor();
    assert.equal(await run(page).isDisabled(), true);
    await json.fill('{"prompt":"hills","num_images":9}');
    await page.getByText('No price yet').waitFor();
    assert.match(await page.locator('[data-reason]').innerText(), /num_images must be/);
    await json.fill('{"prompt":"hills","resolution":"1k","aspect_ratio":"wide"}');
    await price(page, '30000');
    await page.getByText('Form', { exact: true }).click();
    assert.equal(await page.getByLabel('Prompt').inputValue(), 'hills');
    await run(page).click();
    await page
      .locator('[id$=-error]')
      .getByText(/must match/)
      .waitFor();
    assert.deepEqual(await counted(account), { requests: 0, transfers: 1 });
    await context.close();
  });

  test('takes an uploaded file and an earlier result, and goes on with a result', async () => {
    const { page, context, faults } = await visit();
    await openModel(page, edit);
    await page.getByLabel('Prompt').fill('sepia');
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose a file: Image', exact: true }).click();
    await (await choosing).setFiles({ name: 'dot.png', mimeType: 'image/png', buffer: tinyPng });
    await page.getByText('Your file').waitFor();
    await price(page, '30000');
    await run(page).click();
    await completed(page).locator('img').waitFor();
    await page.reload();
    const preview = page.locator('img[src*="/v1/files/file_"]');
    await preview.waitFor();
    assert.equal(await preview.evaluate(decoded), 1);

    await page.getByRole('button', { name: 'Remove Image', exact: true }).click();
    await page.getByRole('button', { name: 'My results' }).first().click();
    await page.getByRole('button', { name: /^Use / }).first().click();
    await page.getByText('Your result').waitFor();

    await page.getByRole('button', { name: 'What to do with it' }).click();
    await page.getByRole('menuitem', { name: 'Use as input…' }).click();
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^Canvas Upscale/ })
      .click();
    await page.waitForURL(/canvas\/upscale$/);
    await page.getByText('Your result').waitFor();
    await price(page, '20000');
    await run(page).click();
    await completed(page).locator('img').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('fills the form from a request, and compares what came out', async () => {
    const { page, context, account, faults } = await visit({ scheme: 'dark' });
    for (const seed of [1, 2]) {
      const body = { prompt: `hills ${seed}`, resolution: '1k', seed };
      const reply = await service.call('POST', `/v1/queue/${canvas}`, { key: account.key, body });
      assert.equal(reply.status, 202);
      if (seed === 2) await openModel(page, canvas, `?from=${reply.body.request_id}`);
    }
    await page.waitForURL((url) => url.search === '');
    assert.equal(await page.getByLabel('Prompt').inputValue(), 'hills 2');
    await page.locator('[data-status=COMPLETED] img').nth(1).waitFor();
    for (const name of ['hills 1', 'hills 2'])
      await page.getByRole('checkbox', { name: `Choose to compare: ${name}` }).check();
    await page.getByRole('button', { name: 'Compare 2' }).click();
    await page.locator('[data-compared]').nth(1).waitFor();
    assert.equal(await page.getByRole('dialog').getByText('hills 1').count(), 1);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'compare-dark');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'What to do with it' }).first().click();
    await page.getByRole('menuitem', { name: 'Run with another seed' }).click();
    await page.locator('[data-status=COMPLETED]').nth(2).waitFor();
    assert.equal((await counted(account)).requests, 3);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('does not run what cannot be paid, and says why', async () => {
    const { page, context, account } = await visit({ usd: 0.05 });
    await openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    await page.locator('[data-reason=balance]').waitFor();
    assert.equal(await run(page).isDisabled(), true);
    await page.getByText('1k', { exact: true }).last().click();
    await price(page, '30000');
    assert.equal(await run(page).isEnabled(), true);
    const [row] = await service.db.run<{ id: string }>(
      rawSql('select id from keys where account_id = $1 and is_studio', [account.account_id]),
    );
    await keys.setLimits(service.db, row!.id, { monthly_limit_usd_micro: 20_000n });
    await page.reload();
    await page.locator('[data-reason=limit]').waitFor();
    assert.match(await page.locator('[data-reason=limit]').innerText(), /\$0\.02 a month/);
    assert.equal(await run(page).isDisabled(), true);
    assert.deepEqual(await counted(account), { requests: 0, transfers: 1 });
    await context.close();
  });

  test('lets who may only look look', async () => {
    const { page, context, account, faults } = await visit({ role: 'read_only' });
    await openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    await price(page, '60000');
    await page.locator('[data-reason=role]').waitFor();
    assert.equal(await run(page).isDisabled(), true);
    await page.keyboard.press('Control+Enter');
    await page.goto(`${base}/studio/chat`);
    await page.getByLabel('Write a message').fill('hello');
    await page.getByText('Your role may look').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send' }).isDisabled(), true);
    assert.equal((await counted(account)).requests, 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
