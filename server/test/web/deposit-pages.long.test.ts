/** Deposits from a chain in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { showAddress } from '../../src/core/deposit/address.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { endpointOf, playWorld } from '../chains/play-kit.ts';
import { assertClear, enter, openBrowser, sizes, withoutBrowser } from '../kit/browser.ts';
import type { Service } from '../kit/service.ts';
import { originOf, person, startWebService } from '../kit/web.ts';
import { chain, keyOf, usdt } from '../operations/deposits-kit.ts';

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
    service = await startWebService({ chains: { live, play: world.play, hangUp: () => {} } });
    await read();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.audit();
    await service.stop();
  });

  /** Reads the chain as if the time of its next read had come. */
  async function read(): Promise<void> {
    await service.db.run(rawSql('update chains set wake_at = now()'));
    await service.app.chains!.runOnce();
  }

  for (const [size, viewport] of sizes)
    test(`shows the way of a payment to the balance, at ${size} width`, async () => {
      const account = await service.account({ usd: 0 });
      const who = await person(service, { [account.account_id]: 'billing' });
      const { page, context, faults } = await enter(browser, base, who, { viewport });
      await page.goto(`${base}/dashboard/money/top-up`);
      await page.getByText('No deposit yet').waitFor();
      const address = await page.locator('[data-address]').innerText();
      const asked = await service.call('GET', '/v1/deposit-addresses', { key: account.key });
      assert.equal(address, asked.body.data[0].address);
      await page.getByText('Send only USDT on Play chain.').waitFor();
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
      await page.goto(`${base}/dashboard/money`);
      await page.getByText('On-chain top-up').waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });

  test('says in Russian what it says in English', async () => {
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
