/** Signing up and in, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { barriers, openBrowser, picture, sizes, visitor, withoutBrowser } from '../browser.ts';
import { inShort } from '../../../server/test/kit/long.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { originOf, password, person, startWebService } from '../../../server/test/kit/web.ts';

describe('signing up and in', { skip: withoutBrowser() ?? false }, () => {
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

  for (const [size, viewport] of sizes) {
    test(`a person signs up, in and out, at ${size} width`, async () => {
      const { page, context, faults } = await visitor(browser, { viewport });
      const email = `ada-${size}@example.com`;
      await page.goto(`${base}/dashboard/requests`);
      await page.waitForURL(/\/sign-in\?to=/);
      await picture(page, `sign-in-${size}`);
      await page.getByRole('link', { name: 'Create an account' }).click();
      await page.getByLabel('Your name').fill('Ada');
      await page.getByLabel('E-mail address').fill(email);
      await page.locator('input[autocomplete=new-password]').fill(password);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `sign-up-${size}`);
      await page.getByRole('button', { name: 'Create an account' }).click();
      // Both links of the sign-up kept the page that the visitor wanted.
      await page.waitForURL('**/dashboard/requests');
      await page.getByRole('button', { name: 'Ada' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.waitForURL('**/sign-in');
      await page.goto(`${base}/dashboard`);
      await page.waitForURL(/\/sign-in\?to=/);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('says the same of a wrong password and of an unknown address', async () => {
    const { email } = await person(service);
    const { page, context } = await visitor(browser);
    const told = [];
    for (const address of [email, 'nobody@example.com']) {
      await page.goto(`${base}/sign-in`);
      await page.getByLabel('E-mail address').fill(address);
      await page.locator('input[autocomplete=current-password]').fill('wrong password');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      told.push(await page.getByRole('alert').innerText());
    }
    assert.deepEqual(told, Array(2).fill('E-mail address or password is wrong.'));
    await context.close();
  });

  test('says that an address is confirmed, and what is wrong with a link that does not', async () => {
    const { page, context, faults } = await visitor(browser);
    await page.goto(`${base}/sign-in?confirmed=yes`);
    assert.match(await page.getByRole('status').innerText(), /is confirmed. Sign in/);
    await page.goto(`${base}/sign-in?confirmed=yes&error=INVALID_TOKEN`);
    assert.match(
      await page.getByRole('alert').innerText(),
      /^This link has been used or has expired/,
    );
    assert.equal(await page.getByRole('status').count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('is in Russian for browsers that prefer it, also in dark', async () => {
    const { page, context, faults } = await visitor(browser, { language: 'ru', scheme: 'dark' });
    await page.goto(`${base}/sign-in`);
    await page.getByRole('heading', { name: 'Войти' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'ru');
    assert.deepEqual(await barriers(page), []);
    await context.close();
    assert.deepEqual(faults, []);
  });

  test('leads back to the requested page, and to no other site', async () => {
    const { account_id } = await service.account();
    const { email } = await person(service, { [account_id]: 'owner' });
    const { page, context, faults } = await visitor(browser);
    await page.goto(`${base}/sign-in?to=${encodeURIComponent('//evil.example/x')}`);
    await page.getByLabel('E-mail address').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(page.url(), `${base}/dashboard`);
    for (const to of inShort(1, [
      '/\\evil.example',
      'https://evil.example',
      'javascript:alert(1)',
      '/\t/evil.example',
      '/a/..//evil.example',
      '/.//evil.example',
    ])) {
      await page.goto(`${base}/sign-in?to=${encodeURIComponent(to)}`);
      await page.waitForURL(`${base}/dashboard`);
    }
    for (const to of inShort(1, ['/cabinet/team', '/dashboard/team'])) {
      await page.goto(`${base}/sign-in?to=${encodeURIComponent(to)}`);
      await page.waitForURL(`${base}/dashboard/team`);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
});
