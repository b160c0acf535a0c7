/** The pages of requests in a real browser: live changes, filters, single requests. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  barriers,
  enter,
  openBrowser,
  overflowOf,
  phone,
  picture,
  sizes,
  visitor,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { requestIn } from '../../../server/test/kit/states.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, password, person, startWebService } from '../../../server/test/kit/web.ts';

describe('the pages of requests', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
  });

  /** The browser of a person with a new account, signed in. */
  async function comes(options: VisitOptions = {}, role: 'owner' | 'read_only' = 'owner') {
    const account = await service.account();
    const who = await person(service, { [account.account_id]: role });
    const come = await enter(browser, base, who, options);
    return { ...come, account };
  }

  async function submit({ key }: TestAccount, body: object = { prompt: 'a cat' }) {
    const reply = await service.call('POST', '/v1/queue/fake/image', { key, body });
    return reply.body.request_id as string;
  }

  const search = (page: Page) => page.getByRole('combobox', { name: 'Search requests' });

  const lineOf = (page: Page, id: string) =>
    page.locator('tr, li').filter({ has: page.locator(`a[href="/dashboard/requests/${id}"]`) });

  for (const [size, viewport] of sizes) {
    test(`show a request as it comes and completes, and its picture, at ${size} width`, async () => {
      const scheme = size === 'phone' ? 'dark' : 'light';
      const { page, context, faults, account } = await comes({ viewport, scheme });
      await page.goto(`${base}/dashboard/requests`);
      await page.getByRole('heading', { name: 'No requests yet' }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      assert.deepEqual(await barriers(page), []);
      let loads = 0;
      page.on('load', () => loads++);

      const id = await submit(account);
      await lineOf(page, id).getByText('In the queue').waitFor();
      await service.work();
      await lineOf(page, id).getByText('Completed').waitFor();
      await lineOf(page, id).getByText('$0.01', { exact: true }).waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `requests-${size}`);

      await page.locator(`a[href="/dashboard/requests/${id}"]`).click();
      const image = page.getByRole('img', { name: 'Output 1 of fake/image' });
      await image.waitFor();
      await until('the picture is there', () =>
        image.evaluate((node) => (node as unknown as { naturalWidth: number }).naturalWidth === 1),
      );
      await page.getByText(`${base}/v1/queue/fake/image`).waitFor();
      await page.getByRole('tab', { name: 'JavaScript' }).click();
      await page.getByText(`new Farebox({ baseUrl: '${base}/v1' })`).waitFor();
      await page.getByRole('tab', { name: 'fare' }).click();
      await page.getByText("fare run fake/image --yes --input - <<'END'").waitFor();
      await page.getByRole('tab', { name: 'Python' }).click();
      await page.getByText('"prompt": "a cat",').waitFor();
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      await picture(page, `request-${size}`);
      assert.equal(loads, 0, 'the page was not loaded again');
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('show metadata, and lead to all requests that have it', async () => {
    const { page, context, faults, account } = await comes({ viewport: phone });
    const headers = { 'x-metadata': JSON.stringify({ customer: 'Zoe & co' }) };
    const call = { key: account.key, body: { prompt: 'a cat' }, headers };
    const id = (await service.call('POST', '/v1/queue/fake/image', call)).body.request_id;
    const other = await submit(account);
    await page.goto(`${base}/dashboard/requests/${id}`);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'request-metadata');
    await page.getByRole('link', { name: 'All requests with customer=Zoe & co' }).click();
    await lineOf(page, id).waitFor();
    assert.equal(await lineOf(page, other).count(), 0);
    await page.getByRole('button', { name: 'Remove the filter Metadata: customer=Zoe' }).waitFor();
    const same = (await service.call('POST', '/v1/queue/fake/image', call)).body.request_id;
    await lineOf(page, same).waitFor();
    await service.work();
    await lineOf(page, id).getByText('Completed').waitFor();
    assert.equal(await lineOf(page, other).count(), 0);
    await search(page).fill('customer=42');
    await search(page).press('Enter');
    await page.getByRole('heading', { name: 'No matches' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    assert.equal(await overflowOf(page), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('are found by the number of a call, and stay while they change', async () => {
    const { page, context, faults, account } = await comes();
    const headers = { 'x-request-id': 'order-7', 'idempotency-key': 'order-7' };
    const call = { key: account.key, body: { prompt: 'a cat' }, headers };
    const sent = await service.call('POST', '/v1/queue/fake/image', call);
    const id = sent.body.request_id;
    const repeat = await service.call('POST', '/v1/queue/fake/image', call);
    const other = await submit(account);
    for (const headed of [sent, repeat]) {
      await page.goto(`${base}/dashboard/requests`);
      await lineOf(page, other).waitFor();
      await search(page).fill(headed.headers.get('x-request-id')!);
      await search(page).press('Enter');
      await lineOf(page, other).waitFor({ state: 'detached' });
      await lineOf(page, id).waitFor();
      await page.reload();
      await lineOf(page, id).waitFor();
      assert.equal(await lineOf(page, other).count(), 0);
    }
    await page.getByText('Live', { exact: true }).waitFor();
    await service.work();
    await lineOf(page, id).getByText('Completed').waitFor();
    await search(page).fill('order-7');
    await page.getByRole('option', { name: 'order-7' }).click();
    await page.waitForURL(/id=order-7/);
    await lineOf(page, id).waitFor();
    assert.equal(await lineOf(page, other).count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('keep their filters through a reload and the way back', async () => {
    const { page, context, faults, account } = await comes();
    const failed = await requestIn(service, account, 'FAILED');
    const cancelled = await requestIn(service, account, 'CANCELLED');
    await page.goto(`${base}/dashboard/requests`);
    await lineOf(page, cancelled).waitFor();
    await search(page).click();
    await page.getByRole('option', { name: 'Failed' }).click();
    await lineOf(page, cancelled).waitFor({ state: 'detached' });
    await lineOf(page, failed).waitFor();
    assert.match(page.url(), /status=FAILED/);

    await page.reload();
    await lineOf(page, failed).waitFor();
    assert.equal(await lineOf(page, cancelled).count(), 0);
    const chip = page.getByRole('button', { name: 'Remove the filter Status: Failed' });
    await chip.waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'requests-narrowed');

    await page.locator(`a[href="/dashboard/requests/${failed}"]`).click();
    await page.getByText('out of paint').waitFor();
    await page.getByText('Nothing was charged.').waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.goBack();
    await chip.click();
    await lineOf(page, cancelled).waitFor();
    assert.doesNotMatch(page.url(), /status=/);
    await page.goBack();
    await lineOf(page, cancelled).waitFor({ state: 'detached' });

    await page.goto(`${base}/dashboard/requests?id=${cancelled.slice(0, 13)}&status=COMPLETED`);
    await page.getByRole('heading', { name: 'No matches' }).waitFor();
    await page.getByRole('button', { name: 'Clear all' }).first().click();
    await lineOf(page, failed).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('are filtered by days of a calendar, in both languages and by keyboard alone', async () => {
    for (const [language, choose, from, today] of [
      ['en', 'Choose days…', 'From', 'Today'],
      ['ru', 'Выбрать дни…', 'С', 'Сегодня'],
    ] as const) {
      const { page, context, faults, account } = await comes({ language, viewport: phone });
      const id = await submit(account);
      await page.goto(`${base}/dashboard/requests`);
      await lineOf(page, id).waitFor();
      const field = page.locator('input[placeholder]').first();
      await field.click();
      await page.getByRole('option', { name: choose }).click();
      await page.getByRole('button', { name: from, exact: true }).click();
      const days = page.locator('[aria-current=date]');
      await days.waitFor();
      assert.deepEqual(await barriers(page), []);
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      await page.waitForURL(/from=\d{4}-\d\d-\d\d/);
      await lineOf(page, id).waitFor({ state: 'detached' });
      await page.goto(`${base}/dashboard/requests`);
      await field.click();
      await page.getByRole('option', { name: today }).click();
      await lineOf(page, id).waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    }
  });

  test('show all of each row on a tablet, and scroll nothing sideways', async () => {
    const viewport = { width: 820, height: 1180 };
    const { page, context, faults, account } = await comes({ viewport });
    const id = await submit(account, { prompt: 'a harbour in fog', num_images: 2 });
    await service.work();
    await page.goto(`${base}/dashboard/requests`);
    await lineOf(page, id).getByText('$0.01', { exact: true }).waitFor();
    assert.equal(await page.getByRole('table').count(), 0);
    assert.deepEqual(await barriers(page), []);
    assert.equal(await overflowOf(page), 0);
    await picture(page, 'requests-tablet');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('turn to older requests and back, and show new ones only at the top', async () => {
    const { page, context, account } = await comes();
    const ids = [];
    for (let i = 0; i < 27; i++) ids.push(await submit(account));
    await page.goto(`${base}/dashboard/requests`);
    await lineOf(page, ids.at(-1)!).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Older' }).click();
    await lineOf(page, ids[0]!).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 2);
    const { key } = account;
    await service.call('POST', `/v1/requests/${ids[0]}/cancel`, { key });
    const latest = await submit(account);
    await lineOf(page, ids[0]!).getByText('Cancelled').waitFor();
    assert.equal(await lineOf(page, latest).count(), 0);
    await page.getByRole('button', { name: 'Newest' }).click();
    await lineOf(page, latest).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 25);
    for (const id of [...ids, latest])
      await service.call('POST', `/v1/requests/${id}/cancel`, { key });
    await context.close();
  });

  test('cancel what waits, once that is confirmed, and say so', async () => {
    const { page, context, faults, account } = await comes({ viewport: phone });
    const id = await submit(account);
    await page.goto(`${base}/dashboard/requests/${id}`);
    await page.getByText('It is next.').waitFor();
    await page.getByRole('button', { name: 'Cancel request' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Keep request' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal((await service.balance(account)).reserved, 10_000n);
    await page.getByRole('button', { name: 'Cancel request' }).click();
    await dialog.getByText('All $0.01 reserved').waitFor();
    assert.deepEqual(await barriers(page), []);
    await dialog.getByRole('button', { name: 'Cancel request' }).click();
    await page.getByText('Cancelled', { exact: true }).first().waitFor();
    assert.equal((await service.balance(account)).reserved, 0n);
    assert.equal(await page.getByRole('button', { name: 'Cancel request' }).count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('offer nothing that changes to who only looks, in Russian too', async () => {
    const options = { language: 'ru', scheme: 'dark' } as const;
    const account = await service.account();
    const { email } = await person(service, { [account.account_id]: 'read_only' });
    const { page, context, faults } = await visitor(browser, options);
    const id = await submit(account);
    await page.goto(`${base}/sign-in?to=/dashboard/requests/${id}`);
    await page.getByLabel('Эл. почта').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.getByRole('button', { name: 'Войти', exact: true }).click();
    await page.getByRole('heading', { name: 'Ждёт в очереди' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Отменить запрос' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Повторить' }).count(), 0);
    assert.deepEqual(await barriers(page), []);
    await page.goto(`${base}/dashboard/requests/${id.replace(/^../, 'ff')}`);
    await page.getByRole('heading', { name: 'Такой страницы нет' }).waitFor();
    await service.call('POST', `/v1/requests/${id}/cancel`, { key: account.key });
    assert.deepEqual(faults, []);
    await context.close();
  });
});
