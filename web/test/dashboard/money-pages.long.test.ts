/** Money in a real browser. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Route } from 'playwright-core';
import { adjust, createVouchers } from '../../../server/test/kit/by-command-line.ts';
import { parseUsd } from '../../../server/src/core/price/money.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
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
} from '../browser.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { spendForMonths } from '../../../server/test/kit/spent.ts';
import {
  operatorOf,
  originOf,
  password,
  person,
  startWebService,
} from '../../../server/test/kit/web.ts';

const text = `Send USDT (TRC-20) to

  TXyz8qA1fakeAddressForTheTest

and write {account_id} into the memo. Within an hour it is here.
Questions: https://help.example/paying.`;

describe('the pages of money', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let busy: TestAccount;
  let forget: () => Promise<unknown>;
  before(async () => {
    service = await startWebService({ env: { FAREBOX_TOP_UP_TEXT: text } });
    browser = await openBrowser();
    base = originOf(service);
    busy = await service.account({ usd: 5, monthly_limit_usd_micro: 40_000n });
    forget = await spendForMonths(service, busy);
  });
  after(async () => {
    await forget();
    await service.stop();
  });

  test('say what is owed and what is held, on the overview and beside the statement', async () => {
    const owes = await service.account({ usd: 5 });
    const body = { prompt: 'a cat', num_images: 2 };
    const sent = await service.call('POST', '/v1/queue/fake/image', { key: owes.key, body });
    assert.equal(sent.status, 202, sent.text);
    const { account_id } = owes;
    const wanted = { account_id, amount: -6_000_000n, reference: 'chargeback 1', reason: 'taken' };
    await adjust(service.db, { ...wanted, allows_debt: true });
    const { reserved } = await service.balance(owes);
    const held = `$${Number(reserved) / 1e6}`;
    const owed = `$${(1 + Number(reserved) / 1e6).toFixed(2)}`;
    const who = await person(service, { [account_id]: 'owner' });
    const { page, context, faults } = await enter(browser, base, who, { viewport: phone });
    await page.goto(`${base}/dashboard`);
    await page.getByText(`You owe ${owed}.`).waitFor();
    await page.getByText(`${held} of your money is held for running requests`).waitFor();
    await page.goto(`${base}/dashboard/money`);
    await page.getByText('Debt', { exact: true }).first().waitFor();
    await page.getByText(owed, { exact: true }).first().waitFor();
    await page.getByText(held, { exact: true }).first().waitFor();
    assert.deepEqual(await barriers(page), []);
    assert.deepEqual(faults, []);
    await context.close();
    await service.call('POST', `/v1/requests/${sent.body.request_id}/cancel`, { key: owes.key });
  });

  for (const [size, viewport] of sizes) {
    test(`leads from signing up to money in the account, at ${size} width`, async () => {
      const { page, context, faults } = await visitor(browser, { viewport });
      const email = `first-${size}@example.com`;
      await page.goto(`${base}/sign-up`);
      await page.getByLabel('Your name').fill('Ada');
      await page.getByLabel('E-mail address').fill(email);
      await page.locator('input[autocomplete=new-password]').fill(password);
      await page.getByRole('button', { name: 'Create an account' }).click();
      await page.getByRole('heading', { name: 'Three steps to the first result' }).waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `overview-first-${size}`);
      await page.getByRole('listitem').getByRole('link', { name: 'Top up' }).click();

      await page.getByText('TXyz8qA1fakeAddressForTheTest').waitFor();
      const made = { amount: 25_500_000n, count: 1, expires_at: null, note: null };
      const [voucher] = await createVouchers(service.db, { ...made });
      await page.getByLabel('Voucher code').fill('FB-0000-0000-0000-0000-0001');
      await page.getByRole('button', { name: 'Redeem' }).click();
      await page.getByText('This voucher code is mistyped').waitFor();
      assert.deepEqual(await barriers(page), []);
      await page.getByLabel('Voucher code').fill(voucher!.code.toLowerCase());
      await page.getByRole('button', { name: 'Redeem' }).click();
      await page.getByText('$25.50 credited. Available now: $25.50.').waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `top-up-${size}`);
      await page.getByRole('link', { name: 'See the statement' }).click();
      await page.getByText('Top-up by voucher').waitFor();
      await page.getByText('+$25.50').waitFor();
      await page.goto(`${base}/dashboard`);
      await page.getByRole('main').getByText('$25.50').waitFor();
      assert.equal(await page.getByText(/redeem a voucher/i).count(), 0, 'step is not done');
      assert.deepEqual(faults, []);
      await context.close();
    });

    test(`filters the statement and exports what adds up, at ${size} width`, async () => {
      const who = await person(service, { [busy.account_id]: 'read_only' });
      const { page, context, faults } = await enter(browser, base, who, { viewport });
      await page.goto(`${base}/dashboard/money`);
      const line = (kind: string) => page.locator(`[data-line=${kind}]`);
      await line('charge').getByText('Fake image, 1 image').waitFor();
      assert.match(await line('charge').innerText(), /−\$0\.01\s+Balance \$4\.99$/);
      assert.match(
        await line('adjustment').innerText(),
        /wrong account.*−\$1\.25\s+Balance \$3\.74$/s,
      );
      assert.match(await line('reserve').innerText(), /held \$0\.02/);
      assert.doesNotMatch(await line('reserve').innerText(), /Balance/);
      await page.locator('[data-day]').getByText('Out $1.26 · In $5.00').waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `statement-lines-${size}`);
      await page.getByText('Ledger', { exact: true }).click();
      await page.waitForURL(/view=ledger/);
      await page.getByText('credited to the wrong account').waitFor();
      await page.getByText('$0.01 charged, $0.01 released').waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `statement-${size}`);

      await page.getByRole('button', { name: 'Export' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: 'CSV, for spreadsheets' }).click(),
      ]);
      assert.match(download.suggestedFilename(), /^farebox-statement.*\.csv$/);
      const [head, ...lines] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
      const place = head!.replaceAll('"', '').split(',').indexOf('change_usd');
      const sum = lines.reduce((all, line) => {
        const amount = line.split(',')[place]!;
        return all + (amount.startsWith('-') ? -parseUsd(amount.slice(1)) : parseUsd(amount));
      }, 0n);
      assert.equal(sum, (await service.balance(busy)).available);

      await page.getByText('Corrections', { exact: true }).click();
      await page.waitForURL(/kind=adjustment/);
      await page.getByText('$0.01 charged, $0.01 released').first().waitFor({ state: 'detached' });
      await page.getByText('ticket 881').waitFor();
      const sums = page.getByRole('group', { name: 'Total' });
      await sums.getByText('−$1.25').first().waitFor();
      assert.equal(await sums.getByText('−$1.25').count(), 2);
      await picture(page, `statement-filtered-${size}`);
      await page.reload();
      await page.getByText('ticket 881').waitFor();
      await page.getByRole('combobox', { name: 'Period' }).click();
      await page.getByRole('option', { name: 'Last month' }).click();
      await page.getByText('Nothing matches this filter').waitFor();
      assert.deepEqual(await barriers(page), []);
      await page.getByRole('button', { name: 'Clear the filter' }).click();
      await page.getByText('$0.01 charged, $0.01 released').waitFor();
      assert.equal(new URL(page.url()).search, '?view=ledger');
      assert.deepEqual(faults, []);
      await context.close();
    });

    test(`shows whole amounts, so that lines add up, at ${size} width`, async () => {
      const account = await service.account({ usd: 1 });
      const told = { reference: `ticket 7 ${size}`, reason: 'one token too many' };
      await adjust(service.db, { account_id: account.account_id, amount: -22n, ...told });
      const who = await person(service, { [account.account_id]: 'owner' });
      const { page, context, faults } = await enter(browser, base, who, { viewport });
      await page.goto(`${base}/dashboard/money`);
      const line = (kind: string) => page.locator(`[data-line=${kind}]`);
      await line('deposit').getByText('Balance $1.00', { exact: true }).waitFor();
      assert.match(await line('adjustment').innerText(), /−\$0\.000022\s+Balance \$0\.999978$/);
      await page.locator('[data-day]').getByText('Out $0.000022 · In $1.00').waitFor();
      await page.getByText('Ledger', { exact: true }).click();
      await page.getByText('$0.999978').waitFor();
      assert.equal(await page.getByText('$0.99', { exact: true }).count(), 0);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(faults, []);
      await context.close();
    });

    test(`sets an alert, at ${size} width`, async () => {
      const account = await service.account({ usd: 1 });
      const who = await person(service, { [account.account_id]: 'billing' });
      const { page, context, faults } = await enter(browser, base, who, { viewport });
      await page.goto(`${base}/dashboard/money/alerts`);
      const isOn = page.getByLabel('Alert me when the balance is low');
      const others = ['A key reaches its limit', 'Webhooks fail', 'Most jobs fail'];
      const areOn = () =>
        Promise.all(
          [isOn, ...others.map((name) => page.getByLabel(name))].map((it) => it.isChecked()),
        );
      await page.getByText('Off, because nobody would be told.').waitFor();
      assert.deepEqual(await areOn(), [false, false, false, false], 'without mail');
      assert.equal(await page.getByLabel('Webhooks fail').isDisabled(), true);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved. The balance is checked every minute.').waitFor();
      const withMail = async (route: Route) => {
        const reply = await route.fetch();
        const json = { ...(await reply.json()), has_mail: true, recipients: [who.email] };
        await route.fulfill({ response: reply, json });
      };
      await page.route('**/api/**/alerts', withMail);
      await page.reload();
      await page.getByText('No alert is open.').waitFor();
      assert.deepEqual(await areOn(), [true, true, true, true], 'kept, without any choice');
      await page.getByLabel('Webhooks fail').uncheck();
      const threshold = page.getByLabel('When available falls below');
      await threshold.fill('nothing');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Enter an amount above 0').waitFor();
      await threshold.fill('7.5');
      await page.getByLabel('By webhook').fill('http://10.0.0.1/hook');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('must lead to a public address').waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `alerts-${size}`);
      await page.getByText('Saved. The').waitFor({ state: 'detached' });
      await page.getByLabel('By webhook').fill('');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved. The balance is checked every minute.').waitFor();
      const [kept] = await service.db.run(
        rawSql(
          `select low_balance_usd_micro, webhook_url, key_limits, failing_webhooks, failing_jobs
             from alerts where account_id = $1`,
          [account.account_id],
        ),
      );
      assert.deepEqual(kept, {
        low_balance_usd_micro: 7_500_000n,
        webhook_url: null,
        key_limits: true,
        failing_webhooks: false,
        failing_jobs: true,
      });
      await page.reload();
      await page.getByLabel('Most jobs fail').waitFor();
      assert.equal(await page.getByLabel('Webhooks fail').isChecked(), false);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('says in Russian that the service cannot be reached', async () => {
    const { account_id } = await service.account();
    const owner = await person(service, { [account_id]: 'owner' });
    const { page, context } = await enter(browser, base, owner, { language: 'ru' });
    await page.goto(`${base}/dashboard/money/top-up`);
    await page.getByLabel('Код ваучера').fill('FB-XXXX');
    await page.route('**/vouchers', (route) => route.abort());
    await page.getByRole('button', { name: 'Активировать' }).click();
    await page.getByText('Сервис недоступен. Проверьте соединение и повторите.').waitFor();
    assert.equal(await page.getByText('fetch').count(), 0);
    await context.close();
  });

  test('does not blame the role in a suspended account', async () => {
    const { account_id } = await service.account();
    const owner = await person(service, { [account_id]: 'owner' });
    const operator = await operatorOf(service);
    const done = await operator.call('POST', `/api/operator/accounts/${account_id}/suspend`);
    assert.equal(done.status, 200, done.text);
    const { page, context } = await enter(browser, base, owner);
    for (const [path, title] of [
      ['money/top-up', 'Pay the operator'],
      ['money/alerts', 'Low balance'],
      ['webhooks', 'Signing secret'],
    ]) {
      await page.goto(`${base}/dashboard/${path}`);
      await page.getByRole('heading', { name: title! }).waitFor();
      await page.getByText('This account is suspended').waitFor();
      await picture(page, `suspended-${path!.replace('/', '-')}`);
      assert.equal(await page.getByText(/your role/i).count(), 0, path);
      assert.equal(await page.locator('main [type=submit]').count(), 0, path);
    }
    await page.goto(`${base}/dashboard/money/top-up`);
    await page.getByText('Ask the operator before you pay').waitFor();
    assert.equal(await page.getByText('how to pay').count(), 0, 'nobody is told to pay');
    await context.close();
  });

  test('shows read-only people no way to pay, in Russian', async () => {
    const { email } = await person(service, { [busy.account_id]: 'read_only' });
    const { page, context, faults } = await visitor(browser, {
      viewport: phone,
      scheme: 'dark',
      language: 'ru',
    });
    await page.goto(`${base}/sign-in?to=/dashboard/money/top-up`);
    await page.locator('input[type=email]').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.keyboard.press('Enter');
    await page.getByText('С вашей ролью деньги можно только смотреть').waitFor();
    assert.equal(await page.getByLabel('Код ваучера').count(), 0);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'top-up-ru-dark');
    await page.goto(`${base}/dashboard/money/alerts`);
    await page.getByText('Выключено: узнать об этом некому.').waitFor();
    assert.equal(await page.getByLabel('Вебхуки не доходят').isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: 'Сохранить' }).count(), 0);
    assert.deepEqual(await barriers(page), []);
    for (const path of ['/dashboard/money', '/dashboard']) {
      await page.goto(`${base}${path}`);
      await page.getByText(path === '/dashboard' ? 'Выполняется сейчас' : 'ticket 881').waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `${path.split('/').at(-1)}-ru-dark`);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
});
