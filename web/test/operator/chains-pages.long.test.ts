/** The console's chains and deposits in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { newId } from '../../../server/src/lib/id.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { numbered, playWorld } from '../../../server/test/chains/play-kit.ts';
import { liveChain } from '../../../server/test/chains/scene.ts';
import { assertClear, enter, openBrowser, sizes, withoutBrowser } from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';
import { chain, hashOf, usdt } from '../../../server/test/operations/deposits-kit.ts';

const explorer = { tx: 'https://play.example/tx/', address: 'https://play.example/address/' };
const tokens = chain.tokens.map((token) => ({ ...token, decimals: 6 }));
const file = { ...chain, start_height: null, explorer, tokens };
const world = playWorld(45_000_100, file);
const lonely = { ...file, name: 'lonely', title: 'Lonely chain', chain_id: file.chain_id + 1 };
const live = [
  liveChain({ ...file, title: 'Play chain' }, [world.play.rpc, world.play.rpc]),
  liveChain(lonely, [numbered(world.play.rpc, lonely.chain_id)]),
];

describe('the console’s chains', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: Person;
  before(async () => {
    service = await startWebService({ chains: { live, play: null, hangUp: () => {} } });
    browser = await openBrowser();
    base = originOf(service);
    operator = await operatorOf(service);
    await read();
  });
  after(async () => {
    await service.stop();
  });

  const change = (text: string, values: unknown[] = []) => service.db.run(rawSql(text, values));

  async function read(): Promise<void> {
    await change('update chains set wake_at = now()');
    await service.app.chains!.runOnce();
    await change('update chains set scanned_block_at = now()');
  }

  let hashes = 0;
  /** A deposit that waits for an operator. */
  async function hold(why: string, account_id: string | null): Promise<string> {
    const tx_hash = hashOf((hashes += 1) + 0xabcdef);
    await change(
      `insert into chain_deposits (id, chain, tx_hash, log_position, block_height, block_hash,
        block_at, token, from_address, to_address, amount_units, amount_usd_micro, account_id,
        state, why)
      values ($1, 'play', $2, 0, 45000099, $2, now(), $3, $4, $5, 250500000, 250500000, $6, 'held',
        $7)`,
      [newId(), tx_hash, usdt, `0x${'f0'.repeat(20)}`, `0x${'b0'.repeat(20)}`, account_id, why],
    );
    return tx_hash;
  }

  for (const [size, viewport] of sizes) {
    test(`show how far each is read and what is wrong, at ${size} width`, async () => {
      await change(`update chains set failures = 3, wake_at = now() + interval '2 min',
        last_error = 'eth_getLogs: 429 too many requests' where name = 'play'`);
      await change(`update chains set stopped_why = 'block 45000090 was 0x1f… and is 0x2e… now'
        where name = 'lonely'`);
      const { page, context, faults } = await enter(browser, base, operator, { viewport });
      await page.goto(`${base}/operator`);
      await page.getByRole('link', { name: 'The reading of a chain has stopped' }).click();
      const lonely = page.getByRole('article', { name: 'Lonely chain' });
      await lonely.getByText('Stopped', { exact: true }).waitFor();
      const play = page.getByRole('article', { name: 'Play chain' });
      await play.getByText('Retrying').waitFor();
      await play.getByText('3 reads in a row failed: eth_getLogs: 429').waitFor();
      await assertClear(page, `chains-${size}`);
      await lonely.getByRole('button', { name: 'Resume' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('From block').fill('45,000,090');
      await assertClear(page, `chains-resume-${size}`);
      await dialog.getByRole('button', { name: 'Resume' }).click();
      await lonely.getByText('Up to date').waitFor();
      await lonely.getByText('45,000,089').waitFor();
      await play.getByRole('button', { name: 'Read again' }).click();
      await dialog.getByLabel('From block').fill('45000080');
      await assertClear(page, `chains-rescan-${size}`);
      await dialog.getByRole('button', { name: 'Read again' }).click();
      await play.getByText('Still to be read again: blocks 45,000,080 to').waitFor();
      assert.deepEqual(faults, []);
      await context.close();
      await read();
    });

    test(`list deposits, held ones first, at ${size} width`, async () => {
      const customer = await service.account({ usd: 0 });
      await hold('review', customer.account_id);
      await hold('unmatched', null);
      const { page, context, faults } = await enter(browser, base, operator, { viewport });
      await page.goto(`${base}/operator/deposits`);
      await page.getByText('No account has this address').first().waitFor();
      await assertClear(page, `deposits-${size}`);
      const row = page.getByRole(size === 'phone' ? 'listitem' : 'row');
      const unmatched = row.filter({ hasText: 'No account has this address' });
      await unmatched.getByRole('button', { name: 'Credit' }).click();
      const dialog = page.getByRole('dialog');
      const credit = dialog.getByRole('button', { name: 'Credit' });
      assert.ok(await credit.isDisabled(), 'nobody is named');
      await dialog.getByLabel('E-mail address or id').fill(customer.email);
      await assertClear(page, `deposits-credit-${size}`);
      await credit.click();
      await page.getByText('The deposit is credited.').waitFor();
      assert.equal((await service.balance(customer)).available, 250_500_000n);

      const review = row.filter({ hasText: 'Large, or perhaps credited by hand' });
      await review.getByRole('button', { name: 'Ignore' }).click();
      await dialog.getByLabel('Reason').fill('booked by hand last week');
      await assertClear(page, `deposits-ignore-${size}`);
      await dialog.getByRole('button', { name: 'Ignore' }).click();
      await page.getByText('No deposit is held').waitFor();
      assert.equal((await service.balance(customer)).available, 250_500_000n);

      await page.getByText('All', { exact: true }).click();
      await page.getByText('An operator ignored it').first().waitFor();
      await assertClear(page, `deposits-all-${size}`);
      await page.goto(`${base}/operator/chains`);
      await page.getByText('Equal').waitFor();
      await assertClear(page, `chains-sums-${size}`);
      await page.goto(`${base}/operator/log`);
      await page.getByText('Ignored a deposit from a blockchain').first().waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('credit what a booking by hand names only if told so', async () => {
    const customer = await service.account({ usd: 0 });
    const tx_hash = await hold('review', customer.account_id);
    const reference = `paid on chain ${tx_hash}`;
    const booked = { amount_usd_micro: '1000000', reference, source: 'paid' };
    const path = `/api/operator/accounts/${customer.account_id}/credits`;
    assert.equal((await operator.call('POST', path, booked)).status, 201);
    const { page, context } = await enter(browser, base, operator);
    await page.goto(`${base}/operator/deposits`);
    await page.getByRole('button', { name: 'Credit', exact: true }).click();
    const credit = page.getByRole('dialog').getByRole('button', { name: 'Credit' });
    await credit.click();
    await page.getByText('A booking by hand already names this transaction').waitFor();
    assert.equal((await service.balance(customer)).available, 1_000_000n);
    await page.getByLabel('That booking was another payment').check();
    await assertClear(page, 'deposits-booked');
    await credit.click();
    await page.getByText('The deposit is credited.').waitFor();
    assert.equal((await service.balance(customer)).available, 251_500_000n);
    await context.close();
  });

  test('speak Russian', async () => {
    const { page, context, faults } = await enter(browser, base, operator, { language: 'ru' });
    await page.goto(`${base}/operator/chains`);
    await page.getByText('Прочитан', { exact: true }).first().waitFor();
    await assertClear(page, 'chains-ru');
    await page.goto(`${base}/operator/deposits`);
    await page.getByText('Задержаны').first().waitFor();
    await assertClear(page, 'deposits-ru');
    assert.deepEqual(faults, []);
    await context.close();
  });
});
