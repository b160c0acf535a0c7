/** The palette in a real browser: searches and actions, by keyboard only. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Role } from '../../server/src/core/account/role.ts';
import { rawSql } from '../../server/src/lib/sql/sql.ts';
import {
  barriers,
  enter,
  openBrowser,
  overflowOf,
  phone,
  picture,
  withoutBrowser,
  type VisitOptions,
} from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import { until } from '../../server/test/kit/until.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../server/test/kit/web.ts';

describe('the palette', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.audit();
    await service.stop();
  });

  async function open(who: Person, options: VisitOptions = {}) {
    const visit = await enter(browser, base, who, options);
    const asked: string[] = [];
    visit.page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    await visit.page.goto(`${base}/dashboard`);
    await visit.page.getByRole('heading', { level: 1 }).waitFor();
    return { ...visit, asked };
  }

  /** A person with a new account. */
  async function someone(role: Role = 'owner') {
    const account = await service.account();
    return { account, who: await person(service, { [account.account_id]: role }) };
  }

  const field = (page: Page) => page.getByRole('combobox', { name: 'Search and commands' });
  const offer = (page: Page, name: string | RegExp) => page.getByRole('option', { name });
  const groups = (page: Page) =>
    page
      .getByRole('listbox')
      .getByRole('group')
      .evaluateAll((all) => all.map((each) => (each as any).ariaLabel));

  async function ask(page: Page, text: string) {
    await page.keyboard.press('Control+k');
    // Keys that are typed before the field has the focus are lost.
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type(text);
  }

  test('finds a page, a model and an action by the keyboard, and names what is chosen', async () => {
    const { who } = await someone();
    const { page, context, faults, asked } = await open(who);
    const search = page.getByRole('button', { name: 'Search' });
    await search.focus();
    await ask(page, '');
    assert.deepEqual(await groups(page), ['Dashboard', 'Studio', 'Actions']);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'palette-open');
    // The arrow up leads from the first option to the last, and the field names the option.
    await page.keyboard.press('ArrowUp');
    const last = offer(page, 'Sign out');
    assert.equal(await last.getAttribute('aria-selected'), 'true');
    assert.equal(
      await field(page).getAttribute('aria-activedescendant'),
      await last.getAttribute('id'),
    );
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await page.locator('button:focus', { hasText: 'Search' }).waitFor();

    await ask(page, 'webho');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/dashboard/webhooks`);
    // A page of the dashboard that reads the catalog, then one of the studio.
    await ask(page, 'docs');
    await page.keyboard.press('Enter');
    await page.getByRole('combobox', { name: 'Model' }).waitFor();
    await ask(page, 'chat');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/studio\/chat/);
    await ask(page, 'fake/image');
    await offer(page, /fake\/image/)
      .first()
      .waitFor();
    await picture(page, 'palette-model');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/studio\/fake\/image/);
    await ask(page, 'create');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor();
    assert.match(page.url(), /\/dashboard\/keys\?create=true$/);
    await page.keyboard.press('Escape');
    await page.waitForURL(`${base}/dashboard/keys`);

    // The last choice comes first.
    await ask(page, '');
    assert.deepEqual((await groups(page))[0], 'Recent');
    const recent = page.getByRole('group', { name: 'Recent' }).getByRole('option');
    assert.match((await recent.first().textContent()) ?? '', /Create a key/);
    assert.match((await recent.nth(1).textContent()) ?? '', /fake\/image/);
    await page.keyboard.type('nothing is called so');
    await page.getByRole('dialog').getByText('Nothing found').first().waitFor();
    await page.keyboard.press('Enter');
    assert.equal(page.url(), `${base}/dashboard/keys`);
    assert.ok(!asked.some((path) => path.startsWith('/api/operator')), 'no look at all accounts');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('keeps the focus when a dialog below it closes', async () => {
    const { who } = await someone();
    const { page, context, faults } = await open(who);
    await page.goto(`${base}/dashboard/keys`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await ask(page, 'create');
    await page.keyboard.press('Enter');
    const create = page.getByRole('dialog', { name: 'Create a key' });
    await create.waitFor();
    await ask(page, '');
    await page.evaluate('history.back()');
    await create.waitFor({ state: 'detached' });
    await page.keyboard.type('nothing is called so');
    assert.equal(await field(page).inputValue(), 'nothing is called so');
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await page.locator('#content :focus, #content:focus').waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('opens a request of the account by its id or the beginning of the id', async () => {
    const { account, who } = await someone();
    const other = await someone();
    const submit = async (key: string) => {
      const reply = await service.call('POST', '/v1/queue/fake/image', {
        key,
        body: { prompt: 'a cat' },
      });
      return reply.body.request_id as string;
    };
    const id = await submit(account.key);
    const foreign = await submit(other.account.key);
    const { page, context, faults } = await open(who);
    await ask(page, foreign);
    await page.getByRole('dialog').getByText('Nothing found').first().waitFor();
    assert.equal(await page.getByRole('option').count(), 0);
    await field(page).fill(id.slice(0, 13));
    await offer(page, `Open request ${id}`).waitFor();
    assert.equal(await offer(page, foreign).count(), 0);
    await picture(page, 'palette-request');
    assert.deepEqual(await barriers(page), []);
    await field(page).fill(`see ${base}/dashboard/requests/${id}`);
    await offer(page, `Open request ${id}`).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/dashboard/requests/${id}`);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('offers an operator the console and the accounts of everybody', async () => {
    const { account } = await someone();
    const who = await operatorOf(service);
    const { page, context, faults } = await open(who, { scheme: 'dark' });
    const { email } = account;
    await ask(page, email.toUpperCase());
    await offer(page, email).waitFor();
    await picture(page, 'palette-operator');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/operator/accounts/${account.account_id}`);
    await ask(page, 'unknown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/operator/unknown`);
    const body = { prompt: 'a cat' };
    const sent = await service.call('POST', '/v1/queue/fake/image', { key: account.key, body });
    const id = sent.body.request_id;
    await ask(page, account.account_id);
    await offer(page, email).waitFor();
    assert.equal(await offer(page, /^Open request/).count(), 0);
    await field(page).fill(`what became of ${id}?`);
    await offer(page, `Open request ${id}`).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/operator/requests/${id}`);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('switches theme, language and account on a phone, and signs out', async () => {
    const { account, who } = await someone('read_only');
    const second = await service.account();
    await service.db.run(
      rawSql(`insert into members (account_id, person_id, role) values ($1, $2, 'owner')`, [
        second.account_id,
        who.id,
      ]),
    );
    const { page, context, faults } = await open(who, { viewport: phone });
    await page.evaluate(`localStorage.setItem('farebox-account', '${account.account_id}')`);
    await page.reload();
    const any = page.getByRole('dialog').locator('[role=combobox]');
    const touch = async (text: string, name: RegExp) => {
      await page.getByRole('button', { name: /Search|Найти/ }).tap();
      await any.fill(text);
      await offer(page, name).tap();
      await any.waitFor({ state: 'detached' });
    };
    await page.getByRole('button', { name: 'Search' }).tap();
    await field(page).waitFor();
    assert.equal(await overflowOf(page), 0);
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'palette-phone');
    // A person who may only read cannot make a key.
    await offer(page, 'Top up the balance').waitFor();
    assert.equal(await offer(page, 'Create a key').count(), 0);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).tap();

    await touch('dark', /Theme: Dark/);
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
    await touch('switch', /Switch to/);
    const chosen = () => page.evaluate(() => localStorage.getItem('farebox-account'));
    await until('the other account', async () => (await chosen()) === second.account_id);
    await touch('язык', /Русский/);
    await page.locator('html[lang="ru"]').waitFor();
    // Texts that were loaded before change their language at once too.
    await touch('создать', /Создать ключ/);
    const form = page.getByRole('dialog', { name: 'Создать ключ' });
    await form.getByRole('button', { name: 'Закрыть' }).tap();
    await form.waitFor({ state: 'hidden' });
    await touch('выйти', /Выйти/);
    await page.waitForURL(/\/sign-in/);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
