/** Signing in at an identity provider, and by e-mail, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { barriers, openBrowser, phone, picture, visitor, withoutBrowser } from '../browser.ts';
import { openPost, type Post } from '../../../server/test/kit/post.ts';
import { openProvider, type IdentityProvider } from '../../../server/test/kit/provider.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { originOf, password, person, startWebService } from '../../../server/test/kit/web.ts';

describe('signing in by a provider or e-mail', { skip: withoutBrowser() ?? false }, () => {
  let provider: IdentityProvider;
  let post: Post;
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    [provider, post, browser] = await Promise.all([openProvider(), openPost(), openBrowser()]);
    service = await startWebService({
      env: {
        ...provider.env,
        FAREBOX_OIDC_NAME: 'Sign in with Acme',
        FAREBOX_SMTP_URL: post.url,
      },
    });
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
    await Promise.all([provider.close(), post.close()]);
  });

  test('the provider leads back to the requested page, or an error says why not', async () => {
    const { page, context, faults } = await visitor(browser, { viewport: phone });
    provider.claims = { sub: 'a', email: 'sso@example.com', email_verified: true, name: 'Ada' };
    await page.goto(`${base}/dashboard/settings`);
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    await page.waitForURL(`${base}/dashboard/settings`);
    await page.getByText('have no password here').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Turn on' }).count(), 0);
    assert.deepEqual(await barriers(page), []);
    await context.clearCookies();
    const { email } = await person(service);
    provider.claims = { sub: 'b', email, email_verified: false, name: 'Eve' };
    await page.goto(`${base}/sign-in`);
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    await page.getByRole('alert').getByText('already uses another sign-in method').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'oidc-refused-phone');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('links in e-mails work: to prove an address, and for a new password', async () => {
    const { page, context, faults } = await visitor(browser);
    const email = 'letters@example.com';
    await page.goto(`${base}/sign-up`);
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('E-mail address').fill(email);
    await page.locator('input[autocomplete=new-password]').fill(password);
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
    await page.goto(`${base}/sign-in`);
    await page.getByLabel('E-mail address').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Send the link again' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.goto((await post.letterTo(email)).links[0]!);
    await page.getByRole('heading', { name: 'Confirm your address' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.waitForURL(`${base}/sign-in?confirmed=yes`);
    await page.getByRole('status').getByText('is confirmed').waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByLabel('E-mail address').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    await context.clearCookies();
    await page.goto(`${base}/forgot`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByRole('status').waitFor();
    const letter = await until('the letter', () =>
      post.letters.find(({ to, subject }) => to === email && subject.startsWith('Reset')),
    );
    await page.goto(letter.links[0]!);
    await page.waitForURL(/\/reset\?token=/);
    assert.deepEqual(await barriers(page), []);
    await page.locator('input[autocomplete=new-password]').fill('a whole new password');
    await page.getByRole('button', { name: 'Set a new password' }).click();
    await page.getByText('Your new password is set').waitFor();
    await page.goto(letter.links[0]!);
    await page.getByRole('alert').getByText('has been used or has expired').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});
