/** Samples on all pages use the cheapest model, so that a first call costs little. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { enter, openBrowser, picture, withoutBrowser } from './browser.ts';
import { fakeCatalog, type Service } from '../../server/test/kit/service.ts';
import { originOf, person, startWebService } from '../../server/test/kit/web.ts';

/** The usual catalog with its expensive rows first. */
const catalog = fakeCatalog.replace(
  'models:\n',
  `models:
  - id: dear/image
    kind: image
    task: text-to-image
    name: Dear image
    price: { unit: image, usd: "0.60" }
    max: 1
    max_unit: images
    upstream_model: image
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
  - id: dear/chat
    kind: text
    task: chat
    name: Dear chat
    price: { unit: 1M tokens, input_usd: "30", output_usd: "90" }
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
`,
);

let service: Service;
before(async () => {
  service = await startWebService({ catalog });
});
after(() => service.stop());

test('the commands of llms.txt', async () => {
  const { text } = await service.call('GET', '/v1/llms.txt');
  const samples = text.slice(0, text.indexOf('## Catalog'));
  assert.doesNotMatch(samples, /dear\//, 'a sample takes a dear model');
  assert.match(samples, /\/queue\/fake\/image'/);
  assert.match(samples, /"model":"fake\/chat"/);
});

describe('the pages', { skip: withoutBrowser() ?? false }, () => {
  let browser: Browser;
  before(async () => {
    browser = await openBrowser();
  });

  async function withPage(address: string, work: (page: Page) => Promise<void>): Promise<void> {
    const account = await service.account({ usd: 10 });
    const who = await person(service, { [account.account_id]: 'owner' });
    const { page, context, faults } = await enter(browser, originOf(service), who);
    await page.goto(`${originOf(service)}${address}`);
    await work(page);
    assert.deepEqual(faults, []);
    await context.close();
  }

  test('the first call that a new key is shown with', () =>
    withPage('/dashboard/keys', async (page) => {
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      const form = page.getByRole('dialog');
      await form.getByLabel('Name').fill('Mine');
      await form.getByRole('button', { name: 'Create a key' }).click();
      const shown = page.getByRole('dialog', { name: /Mine/ });
      const line = await shown.getByRole('region', { name: 'curl' }).innerText();
      assert.match(line, /\/queue\/fake\/image /);
      await picture(page, 'samples-key');
    }));

  test('the model that a new conversation opens with', () =>
    withPage('/studio/chat', async (page) => {
      const model = page.getByRole('combobox', { name: 'Model' });
      await model.waitFor();
      assert.match(await model.inputValue(), /^(fake\/chat|Fake chat)/);
      await picture(page, 'samples-chat');
    }));
});
