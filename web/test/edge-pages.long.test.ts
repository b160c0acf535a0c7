/** Unusual cases of the pages: a suspended account, an odd browser, a wrong address. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import * as accounts from '../../server/src/db/accounts/accounts.ts';
import { rawSql } from '../../server/src/lib/sql/sql.ts';
import {
  barriers,
  desktop,
  enter,
  openBrowser,
  withoutBrowser,
  type VisitOptions,
} from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../server/test/kit/web.ts';

describe('the pages', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: Person;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
    operator = await operatorOf(service);
  });
  after(async () => {
    await service.stop();
  });

  /** Opens a browser of this person; default: the owner of a new account. */
  async function open(who?: Person, options: VisitOptions = {}) {
    const account = await service.account({ usd: 5 });
    const visit = await enter(
      browser,
      base,
      who ?? (await person(service, { [account.account_id]: 'owner' })),
      options,
    );
    return { ...visit, account };
  }

  async function named({ email }: Person, name: string): Promise<void> {
    await service.db.run(rawSql('update people set name = $1 where email = $2', [name, email]));
  }

  for (const [language, title] of [
    ['en', 'This account is suspended'],
    ['ru', 'Аккаунт приостановлен'],
  ] as const) {
    test(`say that an account is suspended, and let people look, in ${language}`, async () => {
      const { page, context, faults, account } = await open(undefined, { language });
      await accounts.setStatus(service.db, account.account_id, 'suspended');
      for (const path of ['/dashboard', '/studio/fake/image']) {
        await page.goto(`${base}${path}`);
        await page.getByRole('alert').filter({ hasText: title }).waitFor();
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
        assert.equal(await page.getByRole('alert').count(), 1, path);
        assert.deepEqual(await barriers(page), [], path);
      }
      await page.locator('[data-reason=suspended]').waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('work in a browser with an invalid language', async () => {
    const { page, context, faults } = await open();
    await page.addInitScript(
      `Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix', 'en'] })`,
    );
    for (const path of [
      '/dashboard',
      '/dashboard/money',
      '/dashboard/requests',
      '/dashboard/team',
    ]) {
      await page.goto(`${base}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      assert.equal(await page.getByText('Invalid language tag').count(), 0, path);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('work at an unknown address, and with any name of a person', async () => {
    const { page, context, account } = await open();
    for (const name of ['Zoe Yellow', 'Bob Lime', 'Ada Cyan', 'Quentin Orange'])
      await named(await person(service, { [account.account_id]: 'developer' }), name);
    for (const path of [
      '/dashboard/team',
      '/dashboard/requests/01900000-0000-7000-8000-000000000000',
      '/studio/no/such/model',
      '/dashboard/no/such',
    ]) {
      await page.goto(`${base}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      assert.deepEqual(await barriers(page), [], path);
    }
    await context.close();
  });

  test('tell an operator that an amount is too large', async () => {
    const { page, context, account } = await open(operator);
    await page.goto(`${base}/operator/accounts/${account.account_id}`);
    await page.getByRole('button', { name: 'Credit' }).click();
    const field = page.getByRole('dialog').getByLabel('Amount in USD');
    await field.fill('1000000000');
    await page.getByText('Too large. The maximum is 999,999,999.999999 USD').waitFor();
    await field.fill('abc');
    await page.getByText('An amount in USD above 0').waitFor();
    await context.close();
  });

  test('keep the actions on a key visible, also with a long name', async () => {
    const { page, context, account } = await open(operator, { viewport: desktop });
    const name = 'production_'.repeat(9);
    await service.db.run(rawSql('update keys set name = $1 where id = $2', [name, account.key_id]));
    await page.goto(`${base}/operator/accounts/${account.account_id}`);
    const button = page.getByRole('button', { name: `Limits: ${name}` });
    await button.waitFor();
    const { x, width } = (await button.boundingBox())!;
    const list = (await page.getByRole('region', { name: 'API keys' }).boundingBox())!;
    assert.ok(x + width <= list.x + list.width, `${x + width} > ${list.x + list.width}`);
    await context.close();
  });
});
