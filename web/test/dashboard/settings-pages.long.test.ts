/** Profile and security, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  barriers,
  enter,
  openBrowser,
  overflowOf,
  phone,
  picture,
  signIn,
  visitor,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { totp } from '../../../server/test/kit/totp.ts';
import {
  originOf,
  password,
  person,
  startWebService,
  visitorOf,
} from '../../../server/test/kit/web.ts';

describe('profile and security', { skip: withoutBrowser() ?? false }, () => {
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

  /** A browser, signed in as the owner of a new account. */
  async function owner(options: VisitOptions = {}) {
    const { account_id } = await service.account();
    const someone = await person(service, { [account_id]: 'owner' });
    const visit = await enter(browser, base, someone, options);
    return { ...visit, account_id, someone };
  }

  const dialog = (page: Page) => page.getByRole('dialog');
  const go = async (page: Page, path: string, heading: string) => {
    await page.goto(`${base}${path}`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  };

  test('an authenticator app is set up, asked for at the next sign-in, and turned off', async () => {
    const { page, context, faults, someone } = await owner();
    await go(page, '/dashboard/settings', 'Profile and security');
    await page.getByRole('button', { name: 'Turn on' }).click();
    await dialog(page).getByLabel('Current password').fill(password);
    await dialog(page).getByRole('button', { name: 'Next' }).click();
    const secret = await dialog(page).locator('code').first().innerText();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'app-scan');
    await dialog(page).getByLabel('Six-digit code').fill('000000');
    await dialog(page).getByRole('button', { name: 'Confirm' }).click();
    await dialog(page).getByRole('alert').getByText('wrong or expired').waitFor();
    await dialog(page).getByLabel('Six-digit code').fill(totp(secret));
    await dialog(page).getByRole('button', { name: 'Confirm' }).click();
    await dialog(page).getByText('Each code signs you in once').waitFor();
    const codes = await dialog(page).locator('li').allInnerTexts();
    assert.equal(codes.length, 10);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'app-codes');
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Turn off' }).waitFor();

    const again = await visitor(browser, { viewport: phone });
    await signIn(again.page, base, someone.email, password);
    await again.page.waitForURL('**/two-factor*');
    assert.equal((await someone.signIn()).body.twoFactorRedirect, true);
    assert.deepEqual(await barriers(again.page), []);
    await picture(again.page, 'two-factor-phone');
    await again.page.locator('input:focus').waitFor();
    // The current code was already used.
    await again.page.keyboard.type(totp(secret, Date.now() + 30_000));
    await again.page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.deepEqual([...faults, ...again.faults], []);
    await again.context.close();

    await page.getByRole('button', { name: 'Turn off' }).click();
    await dialog(page).getByLabel('Current password').fill(password);
    await dialog(page).getByRole('button', { name: 'Turn off' }).click();
    await page.getByRole('button', { name: 'Turn on' }).waitFor();
    assert.equal((await someone.signIn()).body.twoFactorRedirect, undefined);
    await context.close();
  });

  test('a passkey is added, named anew, signs in by itself, and is removed', async () => {
    const { page, context, faults } = await owner();
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await go(page, '/dashboard/settings', 'Profile and security');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await dialog(page).getByLabel('Name').fill('My laptop');
    await dialog(page).getByRole('button', { name: 'Next' }).click();
    await page.getByText('My laptop').waitFor();
    await page.getByRole('button', { name: 'Rename: My laptop' }).click();
    await dialog(page).getByLabel('Name').fill('My old laptop');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('My old laptop').waitFor();
    await picture(page, 'settings-passkey');

    await page.getByRole('button', { name: 'Somebody' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    await go(page, '/dashboard/settings', 'Profile and security');
    await page.getByRole('button', { name: 'Remove: My old laptop' }).click();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('My old laptop').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Somebody' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').getByText('not registered here').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('a new password and a click sign other browsers out, not this one', async () => {
    const { page, context, faults, someone } = await owner({ viewport: phone, scheme: 'dark' });
    const elsewhere = visitorOf(service, someone.id, someone.email);
    await elsewhere.signIn();
    await go(page, '/dashboard/settings', 'Profile and security');
    await page.getByText('This browser').waitFor();
    assert.deepEqual(await barriers(page), []);
    assert.equal(await overflowOf(page), 0);
    await picture(page, 'settings-phone-dark');
    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await dialog(page).getByRole('button', { name: 'Sign out all others' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Sign out all others' }).waitFor({ state: 'detached' });
    assert.equal((await elsewhere.call('GET', '/api/me')).status, 401);

    await elsewhere.signIn();
    await page.getByLabel('Current password').fill('not my password');
    await page.getByRole('textbox', { name: 'New password' }).fill('a whole new password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('alert').getByText('The password is wrong').waitFor();
    assert.equal((await elsewhere.call('GET', '/api/me')).status, 200);
    await page.getByLabel('Current password').fill(password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Password changed').waitFor();
    assert.equal((await elsewhere.call('GET', '/api/me')).status, 401);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Ada Lovelace' }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});
