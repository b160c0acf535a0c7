/** The pages that explain the API, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  barriers,
  desktop,
  enter,
  openBrowser,
  phone,
  picture,
  withoutBrowser,
} from '../kit/browser.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { originOf, person, startWebService } from '../kit/web.ts';

describe('the docs', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let account: TestAccount;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    account = await service.account();
    base = originOf(service);
  });
  after(async () => {
    await browser.close();
    await service.stop();
  });

  async function open(path: string, options: object, role: 'owner' | 'read_only' = 'owner') {
    const who = await person(service, { [account.account_id]: role });
    const opened = await enter(browser, base, who, options);
    await opened.page.goto(`${base}${path}`);
    return opened;
  }

  for (const [size, viewport] of Object.entries({ desktop, phone })) {
    for (const scheme of ['light', 'dark'] as const) {
      test(`give code that works, with the own key in it, at ${size} width, ${scheme}`, async () => {
        const { page, context, faults } = await open('/cabinet/docs', { viewport, scheme });
        await page.getByLabel('Your key').fill(account.key);
        const snippet = page.getByRole('region', { name: 'Ask for the price, JavaScript' });
        await page.getByRole('tab', { name: 'JavaScript' }).first().click();
        const code = await snippet.innerText();
        assert.match(code, new RegExp(account.key));
        const run = `(async () => { const console = { log: (x) => (globalThis.told = x) };
          ${code}; return globalThis.told; })()`;
        const told = (await page.evaluate(run)) as { price_usd_micro: string };
        assert.match(told.price_usd_micro, /^\d+$/);
        assert.deepEqual(await barriers(page), []);
        await picture(page, `docs-${size}-${scheme}`);
        assert.deepEqual(faults, []);
        await context.close();
      });

      test(`show every call, and make one, at ${size} width, ${scheme}`, async () => {
        const { page, context, faults } = await open('/cabinet/docs/reference?op=estimate', {
          viewport,
          scheme,
        });
        const body = { model_id: 'fake/image', input: { prompt: 'a cat', num_images: 2 } };
        await page.getByRole('textbox', { name: 'Body' }).fill(JSON.stringify(body));
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        const answer = page.getByRole('status');
        await answer.getByText('"price_usd_micro": "20000"').waitFor();
        assert.deepEqual(await barriers(page), []);
        await picture(page, `docs-reference-${size}-${scheme}`);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }

  test('let nobody spend whose role may not', async () => {
    const before = await service.transfers();
    const { page, context } = await open('/cabinet/docs/reference?op=submit', {}, 'read_only');
    await page.getByText('Your role may not make this call.').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
    assert.equal(await service.transfers(), before);
    await context.close();
  });

  test('list the same calls as openapi.json', async () => {
    const { page, context } = await open('/cabinet/docs/reference', {});
    await page.getByRole('heading', { name: 'Submit a generation' }).waitFor();
    const { body } = await service.call('GET', '/v1/openapi.json');
    for (const methods of Object.values(body.paths) as Record<string, { summary?: string }>[]) {
      for (const { summary } of Object.values(methods)) {
        if (summary === undefined) continue;
        assert.ok((await page.getByText(summary, { exact: true }).count()) > 0, summary);
      }
    }
    await context.close();
  });
});
