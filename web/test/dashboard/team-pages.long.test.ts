/** The people of an account, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import {
  barriers,
  enter,
  openBrowser,
  phone,
  picture,
  visitor,
  withoutBrowser,
  type VisitOptions,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { originOf, password, person, startWebService } from '../../../server/test/kit/web.ts';

describe('the team', { skip: withoutBrowser() ?? false }, () => {
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
  const overflow = (page: Page) =>
    page.evaluate(() => {
      const { scrollWidth, clientWidth } = (globalThis as any).document.documentElement;
      return scrollWidth - clientWidth;
    });

  test('an invited person joins in their own browser, and sees what their role allows', async () => {
    const { page, context, faults, account_id } = await owner();
    await go(page, '/dashboard/team', 'Team');
    await page.getByLabel('Account name').fill('Analytical Engines');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Account name saved').waitFor();
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
    await go(other.page, '/dashboard/team', 'Team');
    await other.page.getByText('charles@example.com').waitFor();
    assert.equal(await other.page.getByRole('button', { name: 'Invite' }).count(), 0);
    assert.equal(await other.page.getByLabel('Account name').count(), 0);
    assert.equal(await other.page.getByRole('button', { name: /^Remove/ }).count(), 0);
    assert.deepEqual(await barriers(other.page), []);
    assert.equal(await overflow(other.page), 0);
    await picture(other.page, 'team-phone');

    await other.page.getByRole('button', { name: 'Leave' }).click();
    await dialog(other.page).getByRole('button', { name: 'Leave' }).click();
    await other.page.getByText('You are not in any account').waitFor();
    assert.deepEqual(await barriers(other.page), []);
    await picture(other.page, 'no-account-phone');
    await other.page.getByRole('button', { name: 'Create an account' }).click();
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const left = await service.db.run(
      rawSql('select role from members where account_id = $1', [account_id]),
    );
    assert.deepEqual(left, [{ role: 'owner' }]);
    assert.deepEqual([...faults, ...other.faults], []);
    await other.context.close();
    await context.close();
  });

  test('a person with several accounts switches between them, and sees no data of the other', async () => {
    const [first, second] = [await service.account({ usd: 1 }), await service.account({ usd: 2 })];
    const who = await person(service, {
      [first.account_id]: 'owner',
      [second.account_id]: 'read_only',
    });
    const { page, context, faults } = await enter(browser, base, who);
    await page.goto(`${base}/dashboard`);
    await page.getByRole('main').getByText('$1.00').waitFor();
    const choice = page.getByRole('combobox', { name: 'Account' });
    await choice.selectOption({ label: second.email });
    await page.getByRole('main').getByText('$2.00').waitFor();
    assert.equal(await page.getByRole('main').getByText('$1.00').count(), 0);
    await page.reload();
    await page.getByRole('main').getByText('$2.00').waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.goto(`${base}/dashboard/team`);
    await page.getByText(who.email).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Invite' }).count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('an owner changes roles and removes people; the last owner stays, in Russian', async () => {
    const { page, context, faults, account_id } = await owner({ language: 'ru', scheme: 'dark' });
    const other = await person(service, { [account_id]: 'billing' });
    await service.db.run(rawSql(`update people set name = 'Ada' where id = $1`, [other.id]));
    const rolesNow = async () =>
      (
        await service.db.run<{ role: string }>(
          rawSql('select role from members where account_id = $1 order by role', [account_id]),
        )
      ).map(({ role }) => role);
    await go(page, '/dashboard/settings', 'Профиль и безопасность');
    await page.getByText('Этот браузер').waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'settings-ru-dark');
    await go(page, '/dashboard/team', 'Команда');
    await page.getByText('хотя бы один владелец').waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Роль: Somebody' }).count(), 0);
    assert.equal(await page.getByRole('button', { name: 'Выйти' }).count(), 0);
    const choose = async (role: string) => {
      await page.getByRole('combobox', { name: 'Роль: Ada' }).click();
      const saved = page.waitForResponse((reply) => reply.url().includes('/members/'));
      await page.getByRole('option', { name: role }).click();
      assert.equal((await saved).status(), 200);
    };
    await choose('Владелец');
    await page.getByRole('combobox', { name: 'Роль: Somebody' }).waitFor();
    assert.deepEqual(await rolesNow(), ['owner', 'owner']);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'team-ru-dark');
    await choose('Разработчик');
    await page.getByText('хотя бы один владелец').waitFor();
    assert.deepEqual(await rolesNow(), ['developer', 'owner']);
    await page.getByRole('button', { name: 'Удалить: Ada' }).click();
    await dialog(page).getByRole('button', { name: 'Удалить' }).click();
    await page.getByText(other.email).waitFor({ state: 'detached' });
    assert.deepEqual(await rolesNow(), ['owner']);
    assert.equal((await other.of(account_id).call('GET', '/balance')).status, 404);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
