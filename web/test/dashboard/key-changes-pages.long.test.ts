/** Changing keys on their page in a real browser, and the page for people who may only read. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { rotateKey } from '../../../server/src/operations/accounts/key-rotation.ts';
import { createKey } from '../../../server/test/kit/keys.ts';
import {
  assertClear,
  barriers,
  chooseWithKeys,
  desktop,
  enter,
  isFocused,
  openBrowser,
  phone,
  picture,
  sizes,
  visitor,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, password, person, startWebService } from '../../../server/test/kit/web.ts';

describe('keys on their page', { skip: withoutBrowser() ?? false }, () => {
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

  for (const [size, viewport] of sizes) {
    test(`edits and rotates a key, and ends the overlap, at ${size} width`, async () => {
      const account = await service.account();
      const { page, context, faults } = await open(account, {
        viewport,
        scheme: size === 'phone' ? 'light' : 'dark',
      });
      await menu(page, 'test', 'Edit');
      const form = page.getByRole('dialog');
      await form.getByLabel('Name').fill('Render farm');
      await form.getByLabel('Monthly limit').fill('-1');
      await form.getByRole('button', { name: 'Save' }).click();
      await form.getByText('An amount in USD from 0').waitFor();
      await form.getByLabel('Monthly limit').fill('1250.5');
      await form.getByRole('button', { name: 'Save' }).click();
      await page.getByText('of $1,250.50').waitFor();

      await menu(page, 'Render farm', 'Rotate');
      const asked = page.getByRole('dialog');
      await asked.getByText('Both secrets work until then').waitFor();
      await picture(page, `keys-rotate-${size}`);
      assert.deepEqual(await barriers(page), []);
      await asked.getByRole('button', { name: 'Rotate' }).click();
      const next = await page.getByTestId('key').innerText();
      await page.getByRole('button', { name: "I've saved it" }).click();
      assert.notEqual(next, account.key);
      for (const key of [account.key, next]) assert.equal(await statusOf(key), 200);
      await page.reload();
      await page.getByText(/The old secret works until/).waitFor();
      await page.getByText(/Last used/).waitFor();
      await picture(page, `keys-overlap-${size}`);
      assert.deepEqual(await barriers(page), []);
      assert.ok(await fits(page));
      await page.getByRole('button', { name: 'End now' }).click();
      await page.getByText(/The old secret works until/).waitFor({ state: 'hidden' });
      assert.deepEqual([await statusOf(account.key), await statusOf(next)], [401, 200]);

      await menu(page, 'Studio key', 'Edit');
      const studio = page.getByRole('dialog');
      await studio.getByText('0 stops the studio').waitFor();
      assert.equal(await studio.getByLabel('Name').count(), 0);
      await studio.getByLabel('Monthly limit').fill('3');
      await studio.getByRole('button', { name: 'Save' }).click();
      await page.getByText('of $3.00').waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('focus goes back to the button that opened a dialog', async () => {
    const { page, context, faults } = await open(await service.account());
    const dialog = page.getByRole('dialog');
    const escapesTo = async (button: Locator, name: string) => {
      await dialog.waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await until(`${name} gives the focus back`, () => isFocused(button));
    };
    const more = page.getByRole('button', { name: 'Actions for test' });
    for (const name of ['Edit', 'Rotate', 'Revoke']) {
      await chooseWithKeys(more, name);
      await escapesTo(more, name);
    }
    const create = page.getByRole('button', { name: 'Create a key' });
    await create.press('Enter');
    await escapesTo(create, 'Create a key');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('shows read-only people everything, in Russian, and no buttons', async () => {
    const account = await service.account({ monthly_limit_usd_micro: 10_000n });
    const { account_id } = account;
    await service.call('POST', '/v1/queue/fake/image', {
      key: account.key,
      body: { prompt: 'a cat' },
    });
    const none = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
    const over = await createKey(service.db, { account_id, name: 'Old laptop', ...none });
    const two = ['fake/image', 'fake/chat'];
    const turned = await createKey(service.db, { account_id, name: 'CI', ...none, models: two });
    const { key_id } = turned;
    await rotateKey(service.db, { key_id, last4: turned.key.slice(-4), overlap_hours: 24 });
    await service.db.run(rawSql('update keys set expires_at = now() where id = $1', [over.key_id]));
    const options = { viewport: phone, language: 'ru' } as const;
    const { email } = await person(service, { [account_id]: 'read_only' });
    const { page, context, faults } = await visitor(browser, options);
    await page.goto(`${base}/sign-in`);
    await page.locator('input[autocomplete^=username]').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.locator('button[type=submit]').click();
    await page.waitForURL(/dashboard/);
    await page.goto(`${base}/dashboard/keys?show=all`);
    await page.getByRole('heading', { name: 'Ключи' }).waitFor();
    await page.getByText('Истёк', { exact: true }).waitFor();
    await page.getByText('2 модели').waitFor();
    assert.equal(await page.getByRole('button', { name: /Действия|Создать|Отключить/ }).count(), 0);
    await picture(page, 'keys-russian-phone');
    assert.deepEqual(await barriers(page), []);
    assert.ok(await fits(page));
    await page.setViewportSize(desktop);
    await picture(page, 'keys-russian-desktop');
    assert.ok(await fits(page));
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('shows further pages', async () => {
    const account = await service.account();
    await service.db.run(
      rawSql(
        `with k as (insert into keys (id, account_id, name, hash, prefix, last4)
           select uuidv7(), $1::uuid, 'k' || n, sha256(('x' || n)::bytea), 'fbx_ab', 'last'
           from generate_series(1, 60) n returning id, account_id)
         insert into key_usage (key_id, account_id, month) select id, account_id, '2026-01-01' from k`,
        [account.account_id],
      ),
    );
    const { page, context } = await open(account);
    const list = page.getByRole('list', { name: 'Keys' }).getByRole('listitem');
    await page.getByRole('button', { name: 'Show more' }).waitFor();
    assert.equal(await list.count(), 50);
    await page.getByRole('button', { name: 'Show more' }).click();
    await list.nth(60).waitFor();
    assert.equal(await list.count(), 61);
    await context.close();
  });

  for (const [size, viewport] of sizes) {
    test(`makes a key that only manages keys, at ${size} width`, async () => {
      const account = await service.account();
      const { page, context, faults } = await open(account, { viewport });
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      const form = page.getByRole('dialog');
      await form.getByLabel('Name').fill('Platform');
      await form.getByRole('combobox', { name: 'Scope' }).click();
      await page.getByRole('option', { name: 'Only manage keys' }).click();
      await form.getByText('spend the whole balance').waitFor();
      assert.equal(await form.getByLabel('Monthly limit').count(), 0);
      assert.equal(await form.getByLabel('Open jobs').count(), 0);
      await assertClear(page, `keys-manager-create-${size}`);
      await form.getByRole('button', { name: 'Create a key' }).click();
      const shown = page.getByRole('dialog', { name: /Platform/ });
      const line = await shown.getByRole('region', { name: 'curl' }).innerText();
      const [, url, key] = /^curl (\S+) [^]*Key (fbx_\w+)'$/.exec(line)!;
      assert.equal(url, `${service.app.baseUrl}/keys`);
      await assertClear(page, `keys-manager-shown-${size}`);
      const body = { name: 'Customer 42', monthly_limit_usd_micro: '5000000' };
      const made = await service.call('POST', '/v1/keys', { key: key!, body });
      assert.equal(made.status, 201, made.text);
      await shown.getByRole('button', { name: "I've saved it" }).click();
      await page.reload();
      const row = (name: string) =>
        page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) });
      await row('Customer 42').getByText('Created by “Platform”').waitFor();
      await row('Platform').getByText('spends nothing itself').waitFor();
      await assertClear(page, `keys-manager-list-${size}`);
      assert.ok(await fits(page));

      await menu(page, 'Platform', 'Edit');
      await form.getByLabel('Calls a minute').fill('30');
      await assertClear(page, `keys-manager-edit-${size}`);
      await form.getByRole('button', { name: 'Save' }).click();
      await row('Platform').getByText('30 calls a minute').waitFor();
      await menu(page, 'Platform', 'Revoke');
      await form.getByText('The keys it created keep working').waitFor();
      await form.getByRole('button', { name: 'Revoke' }).click();
      await row('Platform').waitFor({ state: 'detached' });
      assert.equal(await statusOf(key!), 401);
      assert.equal(await statusOf(made.body.key), 200);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }
});
