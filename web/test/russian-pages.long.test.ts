/** Refusals of the service on Russian pages, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { limitKey } from '../../server/test/kit/keys.ts';
import { enter, openBrowser, withoutBrowser } from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../server/test/kit/web.ts';

describe('a Russian page says in Russian', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
  });
  after(async () => {
    await service.stop();
  });

  const open = async (who: Person, path: string) => {
    const entered = await enter(browser, originOf(service), who, { language: 'ru' });
    await entered.page.goto(`${originOf(service)}${path}`);
    return entered;
  };

  test('which limit of a key the operator has set, by the name of the field', async () => {
    const { account_id, key_id } = await service.account();
    const owner = await person(service, { [account_id]: 'owner' });
    await limitKey(service.db, key_id, { monthly_limit_usd_micro: 2_500_000n });
    const { page, context } = await open(owner, '/dashboard/keys');
    await page.getByRole('button', { name: 'Создать ключ' }).click();
    await page.getByLabel('Название').fill('Магазин');
    await page.getByLabel('Лимит на месяц').fill('3');
    await page.getByRole('dialog').getByRole('button', { name: 'Создать' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('значением 2.5 USD: его можно снизить').waitFor();
    assert.match(await alert.innerText(), /Оператор ограничил “Лимит на месяц/);
    await context.close();
  });

  test('who is in an account already, and whose address is taken', async () => {
    const { account_id, email } = await service.account();
    const operator = await operatorOf(service);
    const owner = await person(service, { [account_id]: 'owner' });
    const other = await person(service, { [account_id]: 'billing' });
    const team = await open(owner, '/dashboard/team');
    await team.page.getByRole('button', { name: 'Пригласить' }).first().click();
    await team.page.getByRole('dialog').getByLabel('Эл. почта').fill(other.email);
    await team.page.getByRole('dialog').getByRole('button', { name: 'Пригласить' }).click();
    await team.page.getByText(`${other.email} уже в этом аккаунте.`).waitFor();
    await team.context.close();
    const console = await open(operator, '/operator/accounts');
    await console.page.getByRole('button', { name: 'Новый аккаунт' }).click();
    await console.page.getByRole('dialog').getByLabel('Эл. почта').fill(email);
    await console.page.getByRole('dialog').getByRole('button', { name: 'Создать' }).click();
    await console.page.getByText(`Адрес ${email} уже занят.`).waitFor();
    await console.context.close();
  });
});
