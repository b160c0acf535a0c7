/** Requests of all accounts, acts on people, roles, banner and settings, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  barriers,
  desktop,
  enter,
  openBrowser,
  overflowOf,
  phone,
  picture,
  visitor,
  withoutBrowser,
} from '../browser.ts';
import { sql } from '../../../server/src/lib/sql/sql.ts';
import { createFake } from '../../../server/test/kit/fake.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';

const widths = { desktop, tablet: { width: 820, height: 1100 }, phone };

describe('the console', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: Person;
  let account: TestAccount;
  let failed: string;
  before(async () => {
    const fake = createFake({ class: 'C' });
    service = await startWebService({ fake });
    browser = await openBrowser();
    base = originOf(service);
    operator = await operatorOf(service);
    account = await service.account({ usd: 5 });
    await person(service, { [account.account_id]: 'owner' });
    const submit = async () => {
      const call = { key: account.key, body: { prompt: 'a lighthouse' } };
      const sent = await service.call('POST', '/v1/queue/fake/image', call);
      await service.work();
      return sent.body.request_id as string;
    };
    await submit();
    await submit();
    fake.behave.start = () => ({ outcome: 'rejected', message: 'no' });
    failed = await submit();
  });
  after(async () => {
    await service.stop();
  });

  const lines = (page: Page) => page.locator('main a[href^="/operator/requests/0"]');

  for (const [size, viewport] of Object.entries(widths)) {
    test(`lists requests of all accounts, and what filters find, at ${size} width`, async () => {
      const scheme = size === 'phone' ? 'dark' : 'light';
      const { page, context, faults } = await enter(browser, base, operator, { viewport, scheme });
      await page.goto(`${base}/operator/requests`);
      await lines(page).nth(2).waitFor();
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      await picture(page, `operator-requests-${size}`);
      await page.getByRole('combobox', { name: 'Search requests' }).fill('refused');
      await page.getByRole('option', { name: 'The upstream refused' }).click();
      await page.waitForURL(/error=upstream_rejected/);
      await lines(page).nth(1).waitFor({ state: 'detached' });
      assert.match((await lines(page).first().getAttribute('href'))!, new RegExp(failed));
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-requests-filtered-${size}`);
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Export CSV' }).click(),
      ]);
      assert.equal(saved.suggestedFilename(), 'farebox-requests.csv');
      await page.reload();
      await lines(page).first().waitFor();
      assert.equal(await lines(page).count(), 1);
      await page.getByRole('button', { name: 'Remove the filter Problem' }).click();
      await lines(page).nth(2).waitFor();
      const box = page.getByRole('combobox', { name: 'Search requests' });
      for (const [typed, option, address] of [
        [account.email, account.email, `account=${account.account_id}`],
        ['today', 'Today', /from=\d{4}-\d\d-\d\d/],
        [failed, failed, `call_id=${failed}`],
      ] as const) {
        await box.fill(typed);
        await page.getByRole('option', { name: option, exact: true }).first().click();
        await page.waitForURL((url) => url.search.match(address) !== null);
      }
      await lines(page).nth(1).waitFor({ state: 'detached' });
      await lines(page).first().waitFor();
      assert.equal(await lines(page).count(), 1);
      assert.equal(await overflowOf(page), 0);
      await picture(page, `operator-requests-chips-${size}`);
      await page.reload();
      await page.getByText(`Account: ${account.email}`).waitFor();
      await box.press('Backspace');
      await page.waitForURL((url) => !url.search.includes('from='));
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('leads from the figures of the overview into the requests that they count', async () => {
    const { page, context, faults } = await enter(browser, base, operator);
    await page.goto(`${base}/operator`);
    const failed = page.getByText('Failed', { exact: true }).first().locator('..');
    await failed.getByRole('link', { name: '1', exact: true }).click();
    await page.waitForURL(/\/operator\/requests\?.*status=FAILED/);
    // The overview, which stands until the list is there, links to failed requests, too.
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
    await lines(page).first().waitFor();
    assert.equal(await lines(page).count(), 1);
    await page.goBack();
    await page.getByRole('link', { name: 'Fake image' }).first().click();
    await page.waitForURL(/model=fake/);
    await lines(page).nth(2).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  for (const [size, viewport] of Object.entries(widths)) {
    test(`acts on a person of an account, at ${size} width`, async () => {
      const { account_id } = await service.account();
      const ada = await person(service, { [account_id]: 'owner' });
      const ben = await person(service, { [account_id]: 'billing' });
      const { page, context, faults } = await enter(browser, base, operator, { viewport });
      await page.goto(`${base}/operator/accounts/${account_id}`);
      const choose = async (who: Person, item: string) => {
        await page.getByRole('button', { name: `Actions on ${who.email}` }).click();
        await page.getByRole('menuitem', { name: item }).click();
        return page.getByRole('dialog');
      };
      const menu = page.getByRole('button', { name: `Actions on ${ben.email}` });
      await menu.waitFor();
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      await menu.click();
      await page.getByRole('menuitem', { name: 'Change role' }).waitFor();
      await picture(page, `operator-people-${size}`);
      await page.keyboard.press('Escape');
      const role = await choose(ben, 'Change role');
      await role.getByRole('combobox', { name: 'Role' }).click();
      await page.getByRole('option', { name: 'Developer' }).click();
      await role.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Role saved.').waitFor();
      const out = await choose(ben, 'Sign out everywhere');
      assert.deepEqual(await barriers(page), []);
      await out.getByRole('button', { name: 'Sign out everywhere' }).click();
      await page.getByText('Signed out everywhere.').waitFor();
      assert.equal((await ben.call('GET', '/api/me')).status, 401);
      const last = await choose(ada, 'Remove person');
      await last.getByRole('button', { name: 'Remove person' }).click();
      await last.getByText('Make somebody else an owner first').waitFor();
      await page.keyboard.press('Escape');
      const gone = await choose(ben, 'Remove person');
      await picture(page, `operator-person-remove-${size}`);
      await gone.getByRole('button', { name: 'Remove person' }).click();
      await menu.waitFor({ state: 'detached' });
      assert.equal((await ada.call('GET', '/api/me')).status, 200);
      const erased = await choose(ada, 'Erase person');
      await picture(page, `operator-person-erase-${size}`);
      assert.deepEqual(await barriers(page), []);
      await erased.getByRole('button', { name: 'Erase person' }).click();
      await erased.getByText('the only person of the account').waitFor();
      await erased.getByRole('radio', { name: 'Close' }).check();
      await erased.getByRole('button', { name: 'Erase person' }).click();
      await page.getByText('The person is erased.').waitFor();
      assert.equal((await ada.call('GET', '/api/me')).status, 401);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('revokes a key of an account', async () => {
    const other = await service.account();
    const { page, context, faults } = await enter(browser, base, operator);
    await page.goto(`${base}/operator/accounts/${other.account_id}`);
    await page.getByRole('button', { name: /^Revoke: / }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('The key is revoked.').waitFor();
    assert.equal((await other.get('/v1/balance')).status, 401);
    assert.deepEqual(faults, []);
    await context.close();
  });

  for (const role of ['support', 'read_only'] as const) {
    test(`switches off what the role ${role} does not include, with the reason`, async () => {
      const helper = await operatorOf(service, role);
      const { page, context, faults } = await enter(browser, base, helper);
      await page.goto(`${base}/operator/accounts/${account.account_id}`);
      const credit = page.getByRole('button', { name: 'Credit' });
      await credit.waitFor();
      assert.equal(await credit.isDisabled(), true);
      assert.match((await credit.getAttribute('title'))!, /does not include this: money/);
      const revoke = page.getByRole('button', { name: /^Revoke: / });
      assert.equal(await revoke.isDisabled(), role === 'read_only');
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-role-${role}`);
      await page.goto(`${base}/operator/vouchers`);
      assert.equal(await page.getByRole('button', { name: 'New vouchers' }).isDisabled(), true);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('shows a banner above all pages until it is closed, and settings without secrets', async () => {
    const { page, context, faults } = await enter(browser, base, operator);
    await page.goto(`${base}/operator/settings`);
    await page.getByRole('textbox', { name: 'In English' }).fill('Films are <b>slow</b> today.');
    await page.getByRole('textbox', { name: 'In Russian' }).fill('Видео сегодня медленны.');
    await page.getByRole('button', { name: 'Show banner' }).click();
    await page.getByText('The banner is shown.').waitFor();
    const tops = ['Remove banner', 'Show banner'].map(async (name) => {
      const box = await page.getByRole('button', { name }).boundingBox();
      return box?.y;
    });
    assert.equal(await tops[0], await tops[1]);
    await page.getByText('FAREBOX_SIGN_UP').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-settings');
    await page.getByRole('button', { name: /^Show all/ }).click();
    await page.getByText('FAREBOX_SMTP_URL').waitFor();
    await page.setViewportSize(phone);
    assert.equal(await overflowOf(page), 0);
    await picture(page, 'operator-settings-phone');

    const customer = await person(service, { [account.account_id]: 'owner' });
    const ours = await enter(browser, base, customer, { language: 'ru' });
    for (const path of ['/dashboard', '/studio']) {
      await ours.page.goto(`${base}${path}`);
      await ours.page.getByRole('note').getByText('Видео сегодня медленны.').waitFor();
    }
    assert.deepEqual(await barriers(ours.page), []);
    await picture(ours.page, 'banner-studio');
    await ours.page.getByRole('note').getByRole('button').click();
    await ours.page.reload();
    await ours.page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await ours.page.getByRole('note').count(), 0);
    const open = await visitor(browser);
    await open.page.goto(`${base}/models`);
    await open.page.getByRole('complementary').getByText('Films are <b>slow</b> today.').waitFor();
    assert.deepEqual(await barriers(open.page), []);
    await picture(open.page, 'banner-models');
    await open.page.getByRole('checkbox', { name: 'Hide this message' }).check({ force: true });
    await open.page.getByText('Films are').waitFor({ state: 'hidden' });

    await page.getByRole('button', { name: 'Remove banner' }).click();
    await page.getByText('The banner is removed.').waitFor();
    const left = await service.db.run(sql`select from banner`);
    assert.equal(left.length, 0);
    for (const each of [open, ours]) assert.deepEqual(each.faults, []);
    assert.deepEqual(faults, []);
    for (const each of [open, ours]) await each.context.close();
    await context.close();
  });
});
