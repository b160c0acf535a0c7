/** A model's form in the studio, and the use of its output as input, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as keys from '../../../server/src/db/accounts/keys.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { barriers, overflowOf, picture, withoutBrowser } from '../browser.ts';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { until } from '../../../server/test/kit/until.ts';
import {
  canvas,
  completed,
  counted,
  openStudio,
  price,
  run,
  tiles,
  type Studio,
} from './studio-kit.ts';

const edit = 'sandbox/canvas/edit';

/** The width of an image once the browser has decoded it. */
const decoded = (node: any): Promise<number> => node.decode().then(() => node.naturalWidth);

describe('the form of the studio', { skip: withoutBrowser() ?? false }, () => {
  let studio: Studio;
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  test('shows refusals at their fields, and reads the whole input as JSON', async () => {
    const { page, context, account } = await studio.visit();
    await studio.openModel(page, canvas);
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
    assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
    await context.close();
  });

  test('sends a seed of 64 bits as it was typed, and shows it so', async () => {
    const { page, context } = await studio.visit();
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    const field = page.getByLabel('Seed', { exact: true });
    const json = page.getByLabel('The whole input as JSON');
    for (const seed of ['20000000000000', '9007199254740993', '18446744073709551615']) {
      await page.getByRole('button', { name: 'Advanced' }).click();
      await field.fill(seed);
      await field.blur();
      assert.equal(await field.inputValue(), seed);
      await until('the draft is kept', () =>
        page.evaluate((typed) => JSON.stringify({ ...sessionStorage }).includes(typed), seed),
      );
      await page.reload();
      await page.getByText('JSON', { exact: true }).click();
      await until('the draft is back', async () =>
        new RegExp(`"seed": ${seed}\\b`).test(await json.inputValue()),
      );
      await page.getByText('Form', { exact: true }).click();
    }
    await page.getByText('JSON', { exact: true }).click();
    await json.fill('{"prompt":"hills","resolution":"1k","noise_seed":9007199254740993}');
    await price(page, '30000');
    const sent = page.waitForResponse((reply) => reply.url().includes('/queue/'));
    await run(page).click();
    const { request_id } = await (await sent).json();
    await page.goto(`${new URL(page.url()).origin}/dashboard/requests/${request_id}`);
    await page.getByText('9007199254740993', { exact: true }).waitFor();
    await context.close();
  });

  test('takes an uploaded file and an earlier result, and uses a result as the next input', async () => {
    const { page, context, faults } = await studio.visit();
    await studio.openModel(page, edit);
    await page.getByLabel('Prompt').fill('sepia');
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose a file: Image', exact: true }).click();
    await (await choosing).setFiles({ name: 'dot.png', mimeType: 'image/png', buffer: tinyPng });
    await page.getByText('dot.png').waitFor();
    await price(page, '30000');
    await run(page).click();
    await completed(page).locator('img').first().waitFor();
    await page.reload();
    const preview = page.locator('img[src*="/v1/files/file_"]');
    await preview.waitFor();
    await page.getByText('dot.png').waitFor();
    assert.equal(await preview.evaluate(decoded), 1);

    await page.getByRole('button', { name: 'Remove Image', exact: true }).click();
    await page.getByRole('button', { name: 'My results' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: /^Use / }).first().click();
    await page.getByText('Your result').waitFor();

    await page.getByRole('button', { name: 'Use as input' }).click();
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^Canvas Upscale/ })
      .click();
    await page.waitForURL(/canvas\/upscale$/);
    await page.getByText('Your result').waitFor();
    await price(page, '20000');
    await run(page).click();
    await completed(page).locator('img').first().waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('takes pasted and dropped files, and says why it refuses one', async () => {
    const { page, context, faults } = await studio.visit();
    let uploads = 0;
    page.on('request', (sent) => {
      if (sent.method() === 'POST' && sent.url().endsWith('/v1/files')) uploads++;
    });
    await studio.openModel(page, edit);
    const bytes = `Uint8Array.from(atob('${tinyPng.toString('base64')}'), (c) => c.charCodeAt(0))`;
    const given = (content: string) =>
      `data = new DataTransfer(); data.items.add(new File([${content}], 'a.png', {type: 'image/png'}));`;
    // If it is dropped beside all fields, the first field with room takes it.
    await page.evaluate(
      `{ let ${given(bytes)} dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, cancelable: true })) }`,
    );
    await page.getByRole('group', { name: 'Image', exact: true }).getByText('a.png').waitFor();
    await page.evaluate(
      `{ let ${given("'no picture'")} document.querySelector('[aria-label="Reference images"]')
        .dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true })) }`,
    );
    await page.getByText('This file is not an image.').waitFor();
    assert.equal(uploads, 1);
    await page.getByText('JSON', { exact: true }).click();
    // The file's name is shown before its upload has ended.
    const json = page.getByLabel('The whole input as JSON');
    const input = await until('the uploaded file is in the input', async () => {
      const read = JSON.parse(await json.inputValue());
      return read.image_url && read;
    });
    assert.match(input.image_url, /^file_/);
    assert.equal(input.reference_image_urls, undefined);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('refuses a file of the wrong type or size where it is chosen, and sends nothing', async () => {
    const { page, context, account, faults } = await studio.visit();
    await page.route('**/studio/allowance', async (route) => {
      const reply = await route.fetch();
      await route.fulfill({
        response: reply,
        json: { ...(await reply.json()), upload_max_bytes: 60 },
      });
    });
    await studio.openModel(page, edit);
    const choose = async (name: string, mimeType: string, buffer: Buffer) => {
      const choosing = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Choose a file: Image', exact: true }).click();
      await (await choosing).setFiles({ name, mimeType, buffer });
    };
    const field = page.getByRole('group', { name: 'Image', exact: true });
    await page.getByText('Balance $10.00').waitFor();
    await choose('dot.png', 'image/png', tinyPng);
    await field.getByText('The maximum is 1 MiB.').waitFor();
    await choose('notes.txt', 'text/plain', Buffer.from('no image'));
    await field.getByText('notes.txt').waitFor();
    await field.getByText('This file is not an image. Choose a PNG').waitFor();
    assert.equal(await field.getByText('dot.png').count(), 0);
    assert.equal(await run(page).isDisabled(), true);
    const [files] = await studio.service.db.run<{ n: bigint }>(
      rawSql('select count(*) as n from files where account_id = $1', [account.account_id]),
    );
    assert.equal(files!.n, 0n);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'wrong-file');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('shows its defaults as selected with their prices, and sends none of them', async () => {
    const { page, context, faults } = await studio.visit();
    await studio.openModel(page, canvas);
    await price(page, '60000');
    const resolution = page.getByRole('radiogroup', { name: 'Resolution' });
    assert.equal(await resolution.getByRole('radio', { name: '2k · $0.06' }).isChecked(), true);
    const field = page.locator('[data-field=resolution]');
    await field.getByText('default', { exact: true }).waitFor();
    const ratio = page.getByRole('radiogroup', { name: 'Aspect ratio' });
    assert.equal(await ratio.getByRole('radio', { name: 'auto' }).isChecked(), true);
    await resolution.getByText('1k · $0.03').click();
    await price(page, '30000');
    await field.getByRole('button', { name: 'Reset to default: Resolution' }).click();
    await price(page, '60000');
    assert.equal(await resolution.getByRole('radio', { name: '2k · $0.06' }).isChecked(), true);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'form-defaults');
    await page.getByText('JSON', { exact: true }).click();
    const input = await page.getByLabel('The whole input as JSON').inputValue();
    assert.equal(JSON.parse(input).resolution, undefined);
    assert.deepEqual(faults, []);
    await context.close();
  });

  for (const [width, height] of [
    [1366, 768],
    [1280, 720],
    [1024, 640],
    [390, 844],
    [360, 640],
  ] as const) {
    test(`has the price and Run in sight on arrival at ${width} × ${height}`, async () => {
      const { page, context } = await studio.visit({ viewport: { width, height } });
      for (const id of [canvas, 'sandbox/canvas/edit']) {
        await studio.openModel(page, id);
        for (const shown of [
          run(page),
          page.locator('[data-price]').or(page.getByText('No price')),
        ]) {
          const box = await shown.first().boundingBox();
          assert.ok(box!.y > 56 && box!.y + box!.height <= height, JSON.stringify(box));
        }
        assert.equal(await overflowOf(page), 0);
      }
      await context.close();
    });
  }

  test('fills the form from a request, and runs it with another seed', async () => {
    const { page, context, account, faults } = await studio.visit({ scheme: 'dark' });
    for (const seed of [1, 2]) {
      const body = { prompt: `hills ${seed}`, resolution: '1k', seed };
      const reply = await studio.service.call('POST', `/v1/queue/${canvas}`, {
        key: account.key,
        body,
      });
      assert.equal(reply.status, 202);
      if (seed === 2) await studio.openModel(page, canvas, `?from=${reply.body.request_id}`);
    }
    await page.waitForURL((url) => url.search === '');
    assert.equal(await page.getByLabel('Prompt').inputValue(), 'hills 2');
    await tiles(page).nth(1).waitFor();
    await page.getByRole('button', { name: 'Run actions' }).first().click();
    await page.getByRole('menuitem', { name: 'Run with another seed' }).click();
    await tiles(page).nth(2).waitFor();
    assert.equal((await counted(studio.service, account)).requests, 3);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('does not run without enough balance, and says why', async () => {
    const { page, context, account } = await studio.visit({ usd: 0.05 });
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    await page.locator('[data-reason=balance]').waitFor();
    assert.equal(await run(page).isDisabled(), true);
    await page.getByText('1k · $0.03', { exact: true }).last().click();
    await price(page, '30000');
    assert.equal(await run(page).isEnabled(), true);
    const [row] = await studio.service.db.run<{ id: string }>(
      rawSql('select id from keys where account_id = $1 and is_studio', [account.account_id]),
    );
    await keys.change(studio.service.db, row!.id, { monthly_limit_usd_micro: 20_000n }, 'operator');
    await page.reload();
    await page.locator('[data-reason=limit]').waitFor();
    assert.match(await page.locator('[data-reason=limit]').innerText(), /of \$0\.02 spent/);
    assert.equal(await run(page).isDisabled(), true);
    assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
    await context.close();
  });

  test('is readable for read-only people', async () => {
    const { page, context, account, faults } = await studio.visit({ role: 'read_only' });
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill('hills');
    await price(page, '60000');
    await page.locator('[data-reason=role]').waitFor();
    assert.equal(await run(page).isDisabled(), true);
    await page.keyboard.press('Control+Enter');
    await page.goto(`${studio.base}/studio/chat`);
    await page.getByLabel('Write a message').fill('hello');
    await page.getByText('Your role cannot run models').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send' }).isDisabled(), true);
    assert.equal((await counted(studio.service, account)).requests, 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
