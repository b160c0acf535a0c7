/** The operator changes prices, routes, sales and upstreams on the pages, in a real browser. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { createFake } from '../../../server/test/kit/fake.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';
import {
  assertClear,
  desktop,
  enter,
  openBrowser,
  phone,
  sizes,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';

const routes = '[{ upstream: fake, model: a, cost_usd: "0.03" }, { upstream: other, model: b }]';
const catalog = `owned_by: test
models:
  - { id: t/picture, kind: image, task: text-to-image, name: Picture, price: { unit: image, usd: "0.06" }, max: 4, max_unit: images,
      input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] },
      example: { prompt: a cat }, upstreams: ${routes} }
  - { id: t/sized, kind: image, task: text-to-image, name: Sized, price: { unit: image, usd_by_resolution: { 1k: "0.02", 2k: "0.04" } },
      input_schema: { type: object, properties: { prompt: { type: string }, resolution: { type: string } } },
      example: { prompt: a cat }, upstreams: ${routes} }
  - { id: t/chat, kind: text, task: chat, name: Talk, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100, upstreams: ${routes} }
`;
const unset = `
upstream: { name: unset, adapter: openai, url: "https://unset.example/v1", key_from: UNSET_KEY }
models:
  - { id: t/absent, kind: text, task: chat, name: Absent, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100 }
`;
const tablet = { width: 820, height: 1100 };

describe('the pages of catalog and upstreams', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let operator: Person;
  let owner: Person;
  let customer: TestAccount;
  before(async () => {
    service = await startWebService({
      catalog,
      upstreams: [createFake({ name: 'other' })],
    });
    writeFileSync(join(service.dir, 'catalog', 'unset.yaml'), unset);
    await service.app.catalog.reload();
    operator = await operatorOf(service);
    customer = await service.account({ usd: 10 });
    owner = await person(service, { [customer.account_id]: 'owner' });
    browser = await openBrowser();
    for (let n = 0; n < 6; n++) await customer.post('/v1/queue/t/picture', { prompt: 'a cat' });
    await service.work();
  });
  after(() => service.stop());

  const at = async (
    path: string,
    options: VisitOptions,
    look: (page: Page) => Promise<void>,
    who = operator,
  ) => {
    const { page, context, faults } = await enter(browser, originOf(service), who, options);
    await page.goto(`${originOf(service)}${path}`);
    await look(page);
    assert.deepEqual(faults, []);
    await context.close();
  };
  const priceOf = async (id: string) => (await customer.get(`/v1/models/${id}`)).body.price;

  test('a price, the order and a stop are changed beside the list, and undone', async () => {
    await at('/operator/catalog', { viewport: desktop }, async (page) => {
      await page.getByRole('link', { name: 'Picture' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'Absent' }).count(), 0, 'it is folded');
      await page.getByRole('button', { name: /^unset/ }).click();
      await page.getByRole('link', { name: 'Absent' }).waitFor();
      await assertClear(page, 'catalog-sold-desktop');
      await page.getByRole('button', { name: 'Edit Picture' }).click();
      const column = page.getByRole('dialog');
      await column.getByRole('textbox', { name: 'an image' }).fill('0.08');
      await column.getByRole('button', { name: 'Save price' }).click();
      await column.getByText('Price: the file’s → $0.08').waitFor();
      assert.equal(await priceOf('t/picture'), 0.08);
      await column.getByRole('button', { name: 'Move other up' }).click();
      const shares = column.getByRole('textbox', { name: /^Share of/ });
      await shares.nth(0).fill('70');
      await shares.nth(1).fill('20');
      await column.getByText('The shares add up to 90, not to 100.').waitFor();
      assert.equal(await column.getByRole('button', { name: 'Save upstreams' }).isDisabled(), true);
      await shares.nth(1).fill('30');
      await column.getByRole('button', { name: 'Save upstreams' }).click();
      await column.getByText(/Upstreams: the file’s → other 70 %, fake 30 %/).waitFor();
      await assertClear(page, 'catalog-edit-desktop');
      const undo = column.getByRole('listitem').filter({ hasText: 'Price: the file’s → $0.08' });
      await undo.getByRole('button', { name: 'Undo' }).click();
      await column.getByText('Price: $0.08 → the file’s').waitFor();
      assert.equal(await priceOf('t/picture'), 0.06);
    });
  });

  test('a stop says whom it touches, and customers read the note everywhere', async () => {
    await customer.post('/v1/queue/t/picture', { prompt: 'waits' });
    await at('/operator/catalog/row/t/picture', { viewport: desktop }, async (page) => {
      await page.getByRole('button', { name: 'Stop selling' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('1 waiting request waits until it is sold again.').waitFor();
      await dialog.getByText('0 running jobs go on to their end.').waitFor();
      await dialog.getByLabel('Words to customers').fill('back on Monday');
      await dialog.getByLabel('Reason, for the log').fill('too dear');
      await assertClear(page, 'catalog-pause-desktop');
      await dialog.getByRole('button', { name: 'Stop selling' }).click();
      await page.getByText('To customers: back on Monday').first().waitFor();
      await assertClear(page, 'catalog-row-desktop');
    });
    const words = 'Stopped by the operator: back on Monday';
    const studio = async (page: Page) => {
      await page.getByText(words).first().waitFor();
      assert.equal(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled(), true);
      await assertClear(page, 'model-paused-desktop');
    };
    await at('/studio/t/picture', { viewport: desktop }, studio, owner);
    await at('/studio', { viewport: desktop }, (page) => page.getByText(words).waitFor(), owner);
    for (const path of ['/models', '/models/t/picture']) {
      const reply = await fetch(`${originOf(service)}${path}`);
      assert.ok((await reply.text()).includes(words), path);
    }
    await operator.call('PATCH', '/api/operator/models/t/chat', { status: 'stopped' });
    await at(
      '/studio/chat?model=t/chat',
      { viewport: desktop },
      async (page) => {
        await page.getByText('Stopped by the operator', { exact: true }).waitFor();
        await assertClear(page, 'chat-paused-desktop');
      },
      owner,
    );
    for (const id of ['t/chat', 't/picture'])
      await operator.call('PATCH', `/api/operator/models/${id}`, { status: 'live' });
    await service.work();
  });

  const views: [string, VisitOptions][] = [
    ['desktop', { viewport: { width: 1440, height: 900 } }],
    ['tablet', { viewport: tablet, language: 'ru' }],
    ['phone', { viewport: phone, scheme: 'dark' }],
  ];
  for (const [name, options] of views.slice(0, sizes.length + 1))
    test(`an upstream shows its day, drains and is switched on, ${name}`, async () => {
      const say = (en: string, ru: string) => (options.language === 'ru' ? ru : en);
      await at('/operator/upstreams', options, async (page) => {
        await page.getByRole('link', { name: 'other', exact: true }).click();
        await page.waitForURL(/upstreams\/other/);
        await page.getByText(say('Run time', 'Выполнение')).first().waitFor();
        // At most this hour has a time: a dot, not a line that comes from 0.
        await page.locator('[data-chart=lines]').waitFor();
        for (const line of await page.locator('[data-chart=lines] polyline').all())
          assert.equal(new Set((await line.getAttribute('points'))!.split(' ')).size, 1);
        await assertClear(page, `upstream-${name}`);
        await page.getByRole('button', { name: say('Drain', 'Доработать и закрыть') }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel(say('Reason, for the log', 'Причина, для журнала')).fill('moving');
        await assertClear(page, `upstream-drain-${name}`);
        await dialog.getByRole('button', { name: say('Drain', 'Доработать и закрыть') }).click();
        await page.getByText(say('Draining', 'Дорабатывает'), { exact: true }).first().waitFor();
        await assertClear(page, `upstream-draining-${name}`);
        await page.getByRole('button', { name: say('Switch on', 'Включить') }).click();
        await page.getByText(say('On', 'Включён'), { exact: true }).waitFor();
      });
      await at('/operator/catalog', options, async (page) => {
        await page.getByRole('link', { name: 'Sized' }).waitFor();
        await page.getByText('$0.02 – $0.04').first().waitFor();
        assert.equal(await page.getByText(/^(up to|до)$/).count(), 0, 'not only the highest');
        if (name !== 'tablet') await assertClear(page, `catalog-${name}`);
        await page.goto(`${originOf(service)}/operator/catalog/row/t/sized`);
        await page.getByRole('button', { name: say('Save price', 'Сохранить цену') }).waitFor();
        await assertClear(page, `catalog-row-${name}`);
      });
    });

  test('a key is set and removed, and never shown', async () => {
    await at('/operator/upstreams/unset', { viewport: desktop }, async (page) => {
      await page.getByRole('button', { name: 'Set key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.locator('input').fill('sk-0123456789wxyz');
      await assertClear(page, 'upstream-key-desktop');
      await dialog.getByRole('button', { name: 'Set key' }).click();
      await page.getByText('Key set here: …wxyz').waitFor();
      assert.equal((await page.content()).includes('0123456789'), false);
      await page.getByRole('button', { name: 'Set key' }).click();
      await page.getByRole('button', { name: 'Use the variable again' }).click();
      await page.getByText('Key set here: …wxyz').waitFor({ state: 'detached' });
    });
  });
});
