/** The console in bad hours: a lost right, two operators at once, two tabs that both save. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { until } from '../../../server/test/kit/until.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';
import { enter, openBrowser, withoutBrowser } from '../browser.ts';

describe('the console in bad hours', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let owner: Person;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
    owner = await operatorOf(service);
  });
  after(async () => {
    await service.stop();
  });

  const logged = async () =>
    (await service.db.run<{ n: number }>(rawSql('select count(*)::int as n from operator_log')))[0]!
      .n;

  const byHand: [method: string, path: string, body: object][] = [
    ['PATCH', '/upstreams/fake', { state: 'off' }],
    ['PATCH', '/models/fake/image', { price: { usd: '9' } }],
    ['PUT', '/banner', { en: 'hello', ru: '' }],
    ['POST', '/vouchers', { amount_usd_micro: '1000000', count: 1 }],
  ];
  test('an act that is called by hand without its right is refused, and changes nothing', async () => {
    const reader = await operatorOf(service, 'read_only');
    const { page, context } = await enter(browser, base, reader);
    await page.goto(`${base}/operator`);
    const rows = await logged();
    for (const [method, path, body] of byHand) {
      const said = await page.evaluate<{ status: number; message: string }, unknown[]>(
        async ([how, where, what]) => {
          const reply = await fetch(`/api/operator${where}`, {
            method: how as string,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(what),
          });
          return { status: reply.status, message: ((await reply.json()) as any).error.message };
        },
        [method, path, body],
      );
      assert.equal(said.status, 403, path);
      assert.match(said.message, /role/i, path);
    }
    assert.equal(await logged(), rows);
    await context.close();
  });

  test('a right that is lost while a dialog is open is told there, with what was typed', async () => {
    const helper = await operatorOf(service);
    const { page, context } = await enter(browser, base, helper);
    await page.goto(`${base}/operator/upstreams/fake`);
    await page.getByRole('button', { name: 'Switch off' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('they bill twice');
    await service.db.run(
      rawSql(
        `with o as (
          insert into members (account_id, person_id, role)
          select m.account_id, $2, 'owner' from members m where m.person_id = $1
        ) select 1`,
        [helper.id, owner.id],
      ),
    );
    await service.db.run(
      rawSql(
        `update members set role = 'read_only', operator_role = 'read_only' where person_id = $1`,
        [helper.id],
      ),
    );
    await dialog.getByRole('button', { name: 'Switch off' }).click();
    await dialog.getByRole('alert').getByText(/role/i).first().waitFor();
    assert.equal(await dialog.getByRole('textbox').inputValue(), 'they bill twice');
    const { body } = await owner.call('GET', '/api/operator/upstreams/fake');
    assert.equal(body.state, 'on');
    await context.close();
  });

  const priceField = (page: Page) =>
    page.getByRole('region', { name: 'List price' }).getByRole('textbox').first();
  const setPrice = (usd: string) =>
    owner.call('PATCH', '/api/operator/models/fake/image', { price: { usd } });
  const price = async () =>
    (await owner.call('GET', '/api/operator/models/fake/image')).body.sold.price;

  test('a price that somebody sets while another is typed is shown before it is replaced', async () => {
    const { page, context, faults } = await enter(browser, base, owner);
    await page.goto(`${base}/operator/catalog/row/fake/image`);
    await priceField(page).fill('0.07');
    await setPrice('0.05');
    const save = page.getByRole('button', { name: 'Save price' });
    await save.click();
    await page.getByText(/Somebody has changed this meanwhile. Now it is: \$0.05/).waitFor();
    assert.equal(await priceField(page).inputValue(), '0.07');
    assert.equal(await price(), 0.05);
    await save.click();
    await page.getByText('has a new list price').first().waitFor();
    assert.equal(await price(), 0.07);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('theirs can be taken; an untouched form follows by itself', async () => {
    const { page, context } = await enter(browser, base, owner);
    await page.goto(`${base}/operator/catalog/row/fake/image`);
    await priceField(page).fill('0.11');
    await setPrice('0.08');
    await page.getByRole('button', { name: 'Save price' }).click();
    await page.getByRole('button', { name: 'Take theirs' }).click();
    assert.equal(await priceField(page).inputValue(), '0.08');
    assert.equal(await page.getByText('Somebody has changed').count(), 0);
    assert.equal(await page.getByRole('button', { name: 'Save price' }).isDisabled(), true);
    assert.equal(await price(), 0.08);
    await context.close();
  });

  test('of two tabs that both save a banner, the second is told of the first', async () => {
    const { page, context } = await enter(browser, base, owner);
    const other = await context.newPage();
    for (const tab of [page, other]) {
      await tab.goto(`${base}/operator/settings`);
      await tab.getByLabel('In English').waitFor();
    }
    await page.getByLabel('In English').fill('Maintenance at nine');
    await other.getByLabel('In English').fill('Maintenance at ten');
    await page.getByRole('button', { name: 'Show banner' }).click();
    const shown = async () => (await owner.call('GET', '/api/operator/banner')).body.banner?.en;
    await until('the banner is stored', async () => (await shown()) === 'Maintenance at nine');
    const save = other.getByRole('button', { name: 'Show banner' });
    await save.click();
    await other.getByText(/Now it is: Maintenance at nine/).waitFor();
    assert.equal(await other.getByLabel('In English').inputValue(), 'Maintenance at ten');
    assert.equal(await shown(), 'Maintenance at nine');
    await save.click();
    await other.getByText('Somebody has changed').waitFor({ state: 'detached' });
    assert.equal(await shown(), 'Maintenance at ten');
    await context.close();
  });
});
