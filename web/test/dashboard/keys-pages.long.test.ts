/** The page of keys, in a real browser: changes apply to the API at once. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import * as keys from '../../../server/src/db/accounts/keys.ts';
import { limitKey } from '../../../server/test/kit/keys.ts';
import {
  barriers,
  enter,
  isFocused,
  openBrowser,
  picture,
  sizes,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';

describe('the page of keys', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    service = await startWebService({ env: { FAREBOX_RPM: '600' } });
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
  });

  const open = async (account: TestAccount, options: VisitOptions = {}) => {
    const who = await person(service, { [account.account_id]: 'owner' });
    const made = await enter(browser, base, who, options);
    await made.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await made.page.goto(`${base}/dashboard/keys`);
    return made;
  };
  const statusOf = async (key: string) =>
    (await service.call('GET', '/v1/requests', { key })).status;
  const menu = async (page: Page, name: string, item: string) => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  /** Whether the page is no wider than its window. */
  const fits = (page: Page) =>
    page.evaluate(() => {
      const { scrollWidth, clientWidth } = (globalThis as any).document.documentElement;
      return scrollWidth <= clientWidth;
    });

  test('makes a key within what the operator has set on another', async () => {
    const account = await service.account();
    const set = { monthly_limit_usd_micro: 2_000_000n, rpm: 30 };
    await limitKey(service.db, account.key_id, set);
    const { page, context, faults } = await open(account, {});
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByText('The operator set a maximum of $2.00').waitFor();
    await form.getByText('The operator set a maximum of 30').waitFor();
    assert.equal(await form.getByLabel('Calls a minute').inputValue(), '30');
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'keys-create-within');
    await form.getByLabel('Name').fill('Within');
    await form.getByLabel('Monthly limit').fill('3');
    await form.getByRole('button', { name: 'Create a key' }).click();
    // The message names the field as the form does.
    await form.getByText('The operator has set “Monthly limit” to at most 2 USD').waitFor();
    await form.getByLabel('Monthly limit').fill('2');
    await form.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: /Within/ }).waitFor();
    const rows = await keys.list(service.db, { account_id: account.account_id, limit: 100 });
    const made = rows.find(({ name }) => name === 'Within')!;
    assert.deepEqual([made.rpm, made.monthly_limit_usd_micro], [30, 2_000_000n]);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('makes a key that ends with a day chosen in the calendar, and offers no past one', async () => {
    const account = await service.account();
    const { page, context, faults } = await open(account, {});
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    const form = page.getByRole('dialog', { name: 'Create a key' });
    await form.getByLabel('Name').fill('Trial');
    await form.getByRole('combobox', { name: 'Expires' }).click();
    await page.getByRole('option', { name: 'On a date' }).click();
    const field = form.getByRole('button', { name: 'Last day' });
    await field.click();
    const calendar = page.getByRole('dialog', { name: 'Last day' });
    // A month from now is chosen at first.
    await calendar.getByRole('button', { name: 'Month before' }).click();
    const days = calendar.locator('button[aria-label]');
    assert.equal(await calendar.locator('[aria-current=date]').isEnabled(), true);
    const shown = await days.evaluateAll((all: any[]) =>
      all.map(({ disabled, ariaCurrent }) => [disabled, ariaCurrent]),
    );
    const today = shown.findIndex(([, current]) => current === 'date');
    if (today > 2) assert.equal(shown[today - 1]![0], true, 'yesterday');
    await calendar.locator('[aria-current=date]').click();
    assert.deepEqual(await barriers(page), []);
    await form.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: /Trial/ }).waitFor();
    const rows = await keys.list(service.db, { account_id: account.account_id, limit: 100 });
    const { expires_at } = rows.find(({ name }) => name === 'Trial')!;
    const end = new Date();
    end.setHours(23, 59, 59, 999);
    assert.ok(Math.abs(expires_at!.getTime() - end.getTime()) < 86_400_000);
    assert.equal(await page.locator('input[type=date], input[type=datetime-local]').count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  for (const [size, viewport] of sizes) {
    test(`makes a key that works, and revokes it at once, at ${size} width`, async () => {
      const account = await service.account();
      await keys.revoke(service.db, account.key_id);
      const scheme = size === 'phone' ? 'dark' : 'light';
      const { page, context, faults } = await open(account, { viewport, scheme });
      await page.getByRole('heading', { name: 'No active key' }).waitFor();
      await picture(page, `keys-empty-${size}`);
      assert.deepEqual(await barriers(page), []);

      await page.getByRole('button', { name: 'Create a key' }).first().click();
      const form = page.getByRole('dialog');
      await until('one can type at once', () => isFocused(form.getByLabel('Name')));
      await form.getByLabel('Name').fill('Web shop');
      await form.getByLabel('Monthly limit').fill('0.015');
      await form.getByRole('combobox', { name: 'Expires' }).click();
      // Repeats lost clicks, as below. The open list would cover the next field.
      const option = page.getByRole('option', { name: 'In 30 days' });
      await option.waitFor();
      await until('the expiry is chosen', async () => {
        if (await option.isVisible()) await option.click({ timeout: 1_000 }).catch(() => {});
        return option.isHidden();
      });
      // If the target moves between press and release, the click is lost.
      await until('a model is chosen', async () => {
        await form.getByRole('combobox', { name: 'Models' }).click();
        await page.getByRole('option', { name: 'fake/image' }).click();
        const chosen = form.getByText('fake/image').waitFor({ timeout: 1_000 });
        return chosen.then(
          () => true,
          () => false,
        );
      });
      await form.getByLabel('Calls a minute').fill('40');
      await picture(page, `keys-create-${size}`);
      assert.deepEqual(await barriers(page), []);
      await form.getByRole('button', { name: 'Create a key' }).click();

      const shown = page.getByRole('dialog', { name: /Web shop/ });
      await shown.getByRole('button', { name: 'Copy key' }).click();
      await shown.getByText('$0.01').waitFor();
      await picture(page, `keys-shown-${size}`);
      assert.deepEqual(await barriers(page), []);
      const key = await page.evaluate(() => (globalThis as any).navigator.clipboard.readText());
      assert.match(key, /^fbx_[0-9A-Za-z]{38}$/);
      await page.keyboard.press('Escape');
      assert.ok(await shown.isVisible(), 'it goes away only when somebody says so');
      const line = await shown.getByRole('region', { name: 'curl' }).innerText();
      const [, url, body] = /^curl -s (\S+) [^]*-d '([^']*)'/.exec(line)!;
      assert.equal(url, `${service.app.baseUrl}/queue/fake/image`);
      assert.ok(line.includes(`Authorization: Key ${key}`));
      const path = new URL(url!).pathname;
      const submitted = await service.call('POST', path, { key, body: JSON.parse(body!) });
      assert.equal(submitted.status, 202, submitted.text);
      await shown.getByRole('button', { name: "I've saved it" }).click();
      await shown.waitFor({ state: 'hidden' });
      assert.equal((await page.content()).includes(key), false);

      await page.reload();
      const row = page.getByRole('listitem').filter({ hasText: 'Web shop' });
      await row.getByText('$0.01 of $0.015').waitFor();
      assert.equal(await row.getByRole('progressbar').getAttribute('aria-valuenow'), '66.66');
      assert.match(
        await row.innerText(),
        /fake\/image[^]*Expires on[^]*40 calls a minute\s+1 of 50/,
      );
      await picture(page, `keys-one-${size}`);
      assert.ok(await fits(page));

      await menu(page, 'Web shop', 'Revoke');
      const asked = page.getByRole('dialog');
      const revoke = asked.getByRole('button', { name: 'Revoke' });
      await asked.getByText('refused from the next call').waitFor();
      assert.match(await asked.innerText(), new RegExp(`Web shop[^]*${key.slice(-4)}`));
      const keep = asked.getByRole('button', { name: 'Cancel' });
      await until('what has the focus takes nothing away', () => isFocused(keep));
      await page.keyboard.press('Enter');
      await asked.waitFor({ state: 'hidden' });
      assert.equal(await statusOf(key), 200);
      await menu(page, 'Web shop', 'Revoke');
      await picture(page, `keys-revoke-${size}`);
      assert.deepEqual(await barriers(page), []);
      await revoke.click();
      await page.getByRole('heading', { name: 'No active key' }).waitFor();
      // The row is gone, with the button that opened the dialog.
      await until('the keyboard goes on in the content', () => isFocused(page.locator('#content')));
      assert.equal(await statusOf(key), 401);
      await page.getByText('All', { exact: true }).click();
      await page.getByRole('listitem').filter({ hasText: 'Web shop' }).waitFor();
      assert.match(page.url(), /\?show=all$/);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }
});
