/** Deposits from a chain in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { showAddress } from '../../../server/src/core/deposit/address.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { endpointOf, playWorld } from '../../../server/test/chains/play-kit.ts';
import {
  assertClear,
  barriers,
  enter,
  openBrowser,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { operatorOf, originOf, person, startWebService } from '../../../server/test/kit/web.ts';
import { chain, keyOf, usdt } from '../../../server/test/operations/deposits-kit.ts';

const explorer = { tx: 'https://play.example/tx/', address: 'https://play.example/address/' };
const tokens = [{ symbol: 'USDT', address: usdt, decimals: 6, credit: true }];
const file = { ...chain, title: 'Play chain', start_height: null, explorer, tokens };
const world = playWorld(100, file);
const show = (address: string) => showAddress(address, 'evm');

describe('the page for deposits', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    const endpoints = [endpointOf(world.play.rpc)] as const;
    const live = [{ chain: file, endpoints, key: keyOf('evm'), show }];
    service = await startWebService({
      chains: { live, play: world.play, hangUp: () => {} },
      env: { FAREBOX_LEGAL_NAME: 'Harbour Media Ltd' },
    });
    await read();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.audit();
    await service.stop();
  });

  /** Makes the chain due and reads it. */
  async function read(): Promise<void> {
    await service.db.run(rawSql('update chains set wake_at = now()'));
    await service.app.chains!.runOnce();
  }

  for (const [size, viewport] of sizes)
    test(`shows a payment until it is on the balance, at ${size} width`, async () => {
      const account = await service.account({ usd: 0 });
      const who = await person(service, { [account.account_id]: 'billing' });
      const { page, context, faults } = await enter(browser, base, who, { viewport });
      await page.goto(`${base}/dashboard/money/top-up`);
      await page.getByText('No deposit yet').waitFor();
      const address = await page.locator('[data-address]').innerText();
      const asked = await service.call('GET', '/v1/deposit-addresses', { key: account.key });
      assert.equal(address, asked.body.data[0].address);
      await page.getByText('Send only USDT, and only on Play chain.').waitFor();
      await assertClear(page, `deposit-${size}`);

      const paid = page.waitForResponse(/play-deposits$/);
      await page.getByRole('button', { name: 'Send me 25 test USDT' }).click();
      assert.equal((await paid).status(), 200);
      const state = (name: string) => page.locator(`[data-deposit=${name}]`);
      world.mine(2);
      await read();
      await state('seen').getByText('Seen, 1 of 3').waitFor();
      assert.equal((await service.balance(account)).available, 0n);
      await assertClear(page, `deposit-seen-${size}`);
      world.mine(2);
      await read();
      await state('credited').waitFor();
      assert.equal(await state('seen').count(), 0);
      await page.getByText('$25.00').nth(1).waitFor();
      await assertClear(page, `deposit-credited-${size}`);
      world.play.pay({ token: usdt, to: address.toLowerCase(), units: 500_000n });
      world.mine(4);
      await read();
      await state('ignored').waitFor();
      await page.getByText('Less than the minimum').waitFor();
      await assertClear(page, `deposit-ignored-${size}`);
      await page.goto(`${base}/dashboard/money`);
      await page.getByText('On-chain top-up').waitFor();
      await page.getByText('Play chain, USDT').waitFor();
      await assertClear(page, `deposit-line-${size}`);
      await page.getByRole('link', { name: 'Receipt' }).click();
      const sheet = page.locator('[data-receipt]');
      await sheet.getByText('Harbour Media Ltd').waitFor();
      const number = await sheet.getAttribute('data-receipt');
      await page.getByRole('heading', { name: `Receipt ${number}` }).waitFor();
      const { data } = (await who.of(account.account_id).call('GET', '/statement')).body;
      const link = sheet.getByRole('link', { name: data[0].transaction.tx_hash });
      assert.equal(await link.getAttribute('href'), data[0].transaction.explorer_url);
      await assertClear(page, `receipt-${size}`);
      await assertPrints(page, `receipt-${size}`);
      assert.deepEqual(faults, []);
      await context.close();
    });

  test('prints a receipt in dark as in light, and shows it to operators', async () => {
    const { account_id } = await service.account({ usd: 3 });
    const owner = await person(service, { [account_id]: 'owner' });
    const { data } = (await owner.of(account_id).call('GET', '/statement')).body;
    const path = `receipts/${data[0].transfer_id}`;
    for (const [who, to] of [
      [owner, `${base}/dashboard/money/${path}`],
      [await operatorOf(service), `${base}/operator/accounts/${account_id}/${path}`],
    ] as const) {
      const { page, context, faults } = await enter(browser, base, who, {
        scheme: 'dark',
        language: 'ru',
      });
      await page.goto(to);
      await page.getByRole('heading', { name: /Квитанция R-/ }).waitFor();
      await page.getByText('$3.00 USD', { exact: true }).waitFor();
      await assertPrints(page, `receipt-dark-${who.email}`);
      assert.deepEqual(faults, []);
      await context.close();
    }
  });

  test('shows a new address only after a question, and the receipt lines of the account', async () => {
    const account = await service.account({ usd: 1 });
    const who = await person(service, { [account.account_id]: 'owner' });
    const { page, context, faults } = await enter(browser, base, who);
    await page.goto(`${base}/dashboard/money/top-up`);
    const address = page.locator('[data-address]');
    const before = await address.innerText();
    await page.getByRole('button', { name: 'New address' }).click();
    await page.getByText('deposits to it are still credited').waitFor();
    await assertClear(page, 'deposit-renew');
    await page.getByRole('dialog').getByRole('button', { name: 'New address' }).click();
    await page.locator(`[data-address]:not([data-address="${before}"])`).waitFor();
    await page.goto(`${base}/dashboard/team`);
    await page.getByLabel('Company, address and tax id').fill('Acme GmbH\nVAT 99');
    const section = page.locator('section', { hasText: 'On receipts' });
    await section.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved for new receipts.').waitFor();
    const { data } = (await who.of(account.account_id).call('GET', '/statement')).body;
    await page.goto(`${base}/dashboard/money/receipts/${data[0].transfer_id}`);
    await page.getByText('VAT 99').waitFor();
    await page.goto(`${base}/dashboard/money/receipts/${account.account_id}`);
    await page.getByText('Page not found').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('says the same in Russian', async () => {
    const account = await service.account({ usd: 0 });
    const who = await person(service, { [account.account_id]: 'owner' });
    const { page, context, faults } = await enter(browser, base, who, { language: 'ru' });
    await page.goto(`${base}/dashboard/money/top-up`);
    await page.getByText('Ваш адрес в сети Play chain').waitFor();
    await assertClear(page, 'deposit-ru');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('shows no address to a role that cannot pay, and pays nothing for it', async () => {
    const account = await service.account({ usd: 0 });
    const who = await person(service, { [account.account_id]: 'read_only' });
    const { page, context } = await enter(browser, base, who);
    await page.goto(`${base}/dashboard/money/top-up`);
    await page.getByText('Your role cannot top up').waitFor();
    assert.equal(await page.locator('[data-address]').count(), 0);
    await context.close();
  });
});

/** Asserts that the receipt prints on one page, black on white, without the page's frame. */
async function assertPrints(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ media: 'print' });
  for (const each of ['header', 'nav', 'main button'])
    for (const hidden of await page.locator(each).all())
      assert.ok(!(await hidden.isVisible()), each);
  assert.deepEqual(await barriers(page), [], name);
  const pdf = await page.pdf({ format: 'A4' });
  assert.equal(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length, 1, 'one page');
  await picture(page, `${name}-print`);
  await page.emulateMedia({ media: null });
}
