/** Changing the e-mail address in a real browser, with the link in the e-mail. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  phone,
  assertClear,
  enter,
  openBrowser,
  sizes,
  visitor,
  withoutBrowser,
} from '../browser.ts';
import { openPost, type Post } from '../../../server/test/kit/post.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  password,
  person,
  startWebService,
} from '../../../server/test/kit/web.ts';

describe('another e-mail address', { skip: withoutBrowser() ?? false }, () => {
  let post: Post;
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    post = await openPost();
    service = await startWebService({ env: { FAREBOX_SMTP_URL: post.url } });
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
    await post.close();
  });

  for (const [size, viewport] of sizes) {
    test(`is asked for, and counts once its link is opened, at ${size} width`, async () => {
      const { account_id } = await service.account();
      const ada = await person(service, { [account_id]: 'owner' });
      const email = `new-${size}@example.com`;
      const { page, context, faults } = await enter(browser, base, ada, { viewport });
      await page.goto(`${base}/dashboard/settings`);
      await page.getByLabel('New e-mail address').fill(email);
      await page.getByLabel('Your password').fill('not my password');
      await page.getByRole('button', { name: 'Change e-mail' }).click();
      await page.getByRole('alert').getByText('The password is wrong').waitFor();
      await page.getByLabel('Your password').fill(password);
      await page.getByRole('button', { name: 'Change e-mail' }).click();
      await page.getByText(`If ${email} can be used here`).waitFor();
      await assertClear(page, `email-asked-${size}`);

      // The e-mail is read on another device.
      const reader = await visitor(browser, { viewport, language: 'ru', scheme: 'dark' });
      const { links } = await post.letterTo(email);
      await reader.page.goto(links[0]!);
      await reader.page.getByRole('heading', { name: 'Новый адрес почты' }).waitFor();
      await assertClear(reader.page, `email-link-${size}`);
      assert.equal((await ada.call('GET', '/api/me')).body.email, ada.email);
      await reader.page.getByRole('button', { name: 'Входить с этим адресом' }).click();
      // It is not signed in there, so the page asks for the password.
      await reader.page.getByRole('status').getByText('открыта в другом браузере').waitFor();
      await assertClear(reader.page, `email-holder-${size}`);
      await reader.page.locator('input[autocomplete=current-password]').fill(password);
      await reader.page.getByRole('button', { name: 'Входить с этим адресом' }).click();
      await reader.page.getByText(`Теперь вы входите с адресом ${email}`).waitFor();
      // The service's refusal is shown in Russian too.
      await reader.page.goto(`${links[0]!}x`);
      await reader.page.getByRole('button', { name: 'Входить с этим адресом' }).click();
      await reader.page.getByRole('alert').getByText('Ссылка использована').waitFor();

      await page.reload();
      await page.getByText(email, { exact: true }).first().waitFor();
      assert.deepEqual([...faults, ...reader.faults], []);
      await context.close();
      await reader.context.close();
    });
  }

  test('is given by an operator on the account’s page', async () => {
    const { account_id } = await service.account();
    const ada = await person(service, { [account_id]: 'owner' });
    const operator = await operatorOf(service);
    const { page, context, faults } = await enter(browser, base, operator, { viewport: phone });
    await page.goto(`${base}/operator/accounts/${account_id}`);
    await page.getByRole('button', { name: `Actions on ${ada.email}` }).click();
    await page.getByRole('menuitem', { name: 'Change e-mail' }).click();
    await page.getByLabel('New e-mail address').fill('given@example.com');
    await assertClear(page, 'email-given');
    await page.getByRole('button', { name: 'Save e-mail' }).click();
    await page.getByText('They now sign in with given@example.com').waitFor();
    assert.equal((await ada.call('GET', '/api/me')).status, 401);
    await page.goto(`${base}/operator/log`);
    const row = page.getByRole('listitem').filter({ hasText: 'Changed a person' });
    await row.getByText('new address given@example.com').waitFor();
    const said = await row.innerText();
    // The former address names the person, and stands in the details.
    for (const [email, times] of Object.entries({ 'given@example.com': 1, [ada.email]: 2 }))
      assert.equal(said.split(email).length, times + 1, said);
    await assertClear(page, 'email-log');
    assert.deepEqual(faults, []);
    await context.close();
  });
});
