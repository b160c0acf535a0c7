/** Profile, security and team, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { rawSql } from '../../src/lib/sql.ts';
import {
  barriers,
  openBrowser,
  phone,
  picture,
  signIn,
  visitor,
  withoutBrowser,
  type VisitOptions,
} from '../kit/browser.ts';
import type { Service } from '../kit/service.ts';
import { totp } from '../kit/totp.ts';
import { originOf, password, person, startWebService } from '../kit/web.ts';

describe('people', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await browser.close();
    await service.stop();
  });

  /** Somebody's browser, signed in as the owner of an account of their own. */
  async function owner(options: VisitOptions = {}) {
    const { account_id } = await service.account();
    const someone = await person(service, { [account_id]: 'owner' });
    const visit = await visitor(browser, options);
    await signIn(visit.page, base, someone.email, password);
    return { ...visit, account_id, someone };
  }

  const dialog = (page: Page) => page.getByRole('dialog');
  const go = async (page: Page, path: string, heading: string) => {
    await page.goto(`${base}${path}`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  };
  const overflow = (page: Page) =>
    page.evaluate(() => {
      const { scrollWidth, clientWidth } = (globalThis as any).document.documentElement;
      return scrollWidth - clientWidth;
    });

  test('an authenticator app is set up, asked for at the next sign-in, and turned off', async () => {
    const { page, context, faults, someone } = await owner();
    await go(page, '/cabinet/settings', 'Profile and security');
    await page.getByRole('button', { name: 'Turn on' }).click();
    await dialog(page).getByLabel('Current password').fill(password);
    await dialog(page).getByRole('button', { name: 'Next' }).click();
    const secret = await dialog(page).locator('code').first().innerText();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'app-scan');
    await dialog(page).getByLabel('Six-digit code').fill('000000');
    await dialog(page).getByRole('button', { name: 'Confirm' }).click();
    await dialog(page).getByRole('alert').getByText('wrong or over').waitFor();
    await dialog(page).getByLabel('Six-digit code').fill(totp(secret));
    await dialog(page).getByRole('button', { name: 'Confirm' }).click();
    await dialog(page).getByText('Each of these codes').waitFor();
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
    await again.page.keyboard.type(totp(secret));
    await again.page.getByRole('button', { name: 'Continue' }).click();
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
    await go(page, '/cabinet/settings', 'Profile and security');
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

    await go(page, '/cabinet/settings', 'Profile and security');
    await page.getByRole('button', { name: 'Remove: My old laptop' }).click();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('My old laptop').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Somebody' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').getByText('not known here').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('a new password and a click sign other browsers out, not this one', async () => {
    const { page, context, faults, someone } = await owner({ viewport: phone, scheme: 'dark' });
    await someone.signIn();
    await go(page, '/cabinet/settings', 'Profile and security');
    await page.getByText('This browser').waitFor();
    assert.deepEqual(await barriers(page), []);
    assert.equal(await overflow(page), 0);
    await picture(page, 'settings-phone-dark');
    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await dialog(page).getByRole('button', { name: 'Sign out all others' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('button', { name: 'Sign out all others' }).count(), 0);
    assert.equal((await someone.call('GET', '/api/me')).status, 401);

    await someone.signIn();
    await page.getByLabel('Current password').fill('not my password');
    await page.getByRole('textbox', { name: 'New password' }).fill('a whole new password');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByRole('alert').getByText('The password is wrong').waitFor();
    assert.equal((await someone.call('GET', '/api/me')).status, 200);
    await page.getByLabel('Current password').fill(password);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('The password is changed').waitFor();
    assert.equal((await someone.call('GET', '/api/me')).status, 401);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Ada Lovelace' }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('who is invited joins in a browser of their own, and their role limits what they see', async () => {
    const { page, context, faults, account_id } = await owner();
    await go(page, '/cabinet/team', 'Team');
    await page.getByLabel('Name of the account').fill('Analytical Engines');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The name is saved').waitFor();
    await page.getByRole('button', { name: 'Invite' }).click();
    await dialog(page).getByLabel('E-mail address').fill('charles@example.com');
    await dialog(page).getByRole('radio', { name: 'Read only' }).check();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'team-invite');
    await dialog(page).getByRole('button', { name: 'Invite' }).click();
    const link = await dialog(page).getByLabel('Invitation link', { exact: true }).inputValue();
    await picture(page, 'team-link');
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Withdraw: charles@example.com' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'team');

    const other = await visitor(browser, { viewport: phone });
    await other.page.goto(link);
    await other.page.getByText('invited to Analytical Engines as Read only').waitFor();
    assert.deepEqual(await barriers(other.page), []);
    await picture(other.page, 'invitation-phone');
    await other.page.getByLabel('Your name').fill('Charles');
    await other.page.locator('input[autocomplete=new-password]').fill(password);
    await other.page.getByRole('button', { name: 'Create an account' }).click();
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
    await go(other.page, '/cabinet/team', 'Team');
    await other.page.getByText('charles@example.com').waitFor();
    assert.equal(await other.page.getByRole('button', { name: 'Invite' }).count(), 0);
    assert.equal(await other.page.getByLabel('Name of the account').count(), 0);
    assert.equal(await other.page.getByRole('button', { name: /^Remove/ }).count(), 0);
    assert.deepEqual(await barriers(other.page), []);
    assert.equal(await overflow(other.page), 0);
    await picture(other.page, 'team-phone');

    await other.page.getByRole('button', { name: 'Leave' }).click();
    await dialog(other.page).getByRole('button', { name: 'Leave' }).click();
    await other.page.getByText('You belong to no account').waitFor();
    assert.deepEqual(await barriers(other.page), []);
    await picture(other.page, 'no-account-phone');
    await other.page.getByRole('button', { name: 'Open an account' }).click();
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const left = await service.db.run(
      rawSql('select role from members where account_id = $1', [account_id]),
    );
    assert.deepEqual(left, [{ role: 'owner' }]);
    assert.deepEqual([...faults, ...other.faults], []);
    await other.context.close();
    await context.close();
  });

  test('who belongs to several accounts changes between them, and nothing of one stays', async () => {
    const [first, second] = [await service.account({ usd: 1 }), await service.account({ usd: 2 })];
    const { email } = await person(service, {
      [first.account_id]: 'owner',
      [second.account_id]: 'read_only',
    });
    const { page, context, faults } = await visitor(browser);
    await signIn(page, base, email, password);
    await page.getByText('$1.00').waitFor();
    const choice = page.getByRole('combobox', { name: 'Account' });
    await choice.click();
    await page.getByRole('option', { name: second.email }).click();
    await page.getByText('$2.00').waitFor();
    assert.equal(await page.getByText('$1.00').count(), 0);
    await page.reload();
    await page.getByText('$2.00').waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.goto(`${base}/cabinet/team`);
    await page.getByText(email).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Invite' }).count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('speaks Russian, with the role of the last owner kept', async () => {
    const { page, context, faults, account_id } = await owner({ language: 'ru', scheme: 'dark' });
    await go(page, '/cabinet/settings', 'Профиль и безопасность');
    await page.getByText('Этот браузер').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'settings-ru-dark');
    await go(page, '/cabinet/team', 'Команда');
    await page.getByRole('combobox', { name: 'Роль: Somebody' }).click();
    await page.getByRole('option', { name: 'Разработчик' }).click();
    await dialog(page).getByRole('button', { name: 'Сменить мою роль' }).click();
    await page.getByText('keeps at least one owner').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'team-ru-dark');
    const rows = await service.db.run(
      rawSql('select role from members where account_id = $1', [account_id]),
    );
    assert.deepEqual(rows, [{ role: 'owner' }]);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
