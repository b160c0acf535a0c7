/** The operator's console in a real browser: finding accounts, and actions on them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import {
  barriers,
  chooseWithKeys,
  enter,
  isFocused,
  openBrowser,
  overflowOf,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import {
  operatorOf,
  originOf,
  person,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';

describe('the console’s accounts', { skip: withoutBrowser() ?? false }, () => {
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

  for (const [size, viewport] of sizes) {
    test(`find one, credit it and suspend it, at ${size} width`, async () => {
      const customer = await service.account({ usd: 5 });
      const owner = await person(service, { [customer.account_id]: 'owner' });
      let lastRequest = '';
      for (let i = 0; i < 3; i++) {
        const body = { prompt: 'a cat', num_images: i + 1 };
        const sent = await service.call('POST', '/v1/queue/fake/image', {
          key: customer.key,
          body,
        });
        assert.equal(sent.status, 202, sent.text);
        lastRequest = sent.body.request_id;
      }
      await service.work();
      const { page, context, faults } = await enter(browser, base, operator, { viewport });
      await page.goto(`${base}/operator/accounts`);
      await page.getByLabel('Find an account').fill(customer.key);
      await page.getByText(/^Key: /).waitFor();
      assert.ok(!page.url().includes(customer.key.slice(6, 12)), page.url());
      await picture(page, `operator-accounts-key-${size}`);
      // A part of a key or code must not get into an address either.
      for (const begun of [customer.key.slice(0, 12), 'FB-W07P-TJ90-2VW0-KDW7']) {
        const asked = page.waitForRequest((request) => request.url().includes(begun.slice(0, 4)));
        await page.getByLabel('Find an account').fill(begun);
        await asked;
        await page.waitForURL((url) => !url.searchParams.has('q'));
      }
      await page.getByLabel('Find an account').fill(lastRequest);
      await page.getByRole('link', { name: 'Request', exact: true }).waitFor();
      assert.deepEqual(await barriers(page), []);
      await page.getByRole('link', { name: 'Request', exact: true }).click();
      await page.waitForURL(`${base}/operator/requests/${lastRequest}`);
      await page.getByRole('heading', { name: 'Fake image' }).waitFor();
      await page.goBack();
      await page.getByLabel('Find an account').fill(customer.email.split('@')[0]!);
      await page.waitForURL(/q=a\d+/);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-accounts-${size}`);
      await page.getByRole('link', { name: customer.email }).click();
      await page.getByRole('heading', { name: customer.email }).waitFor();
      await page.getByRole('heading', { name: 'API keys' }).waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-account-${size}`);

      const reference = `tx ${size}`;
      await credit(page, '20.5', reference, 'This reference is new.');
      await picture(page, `operator-credit-${size}`);
      assert.deepEqual(await barriers(page), []);
      await page.getByRole('dialog').getByRole('button', { name: 'Credit' }).click();
      await page.getByText('Booked. Available now: $25.47').waitFor();
      const balance = await owner.of(customer.account_id).call('GET', '/balance');
      assert.equal(balance.body.available_usd_micro, '25470000');

      await credit(page, '20.5', reference, /This credit was already booked/);
      await page.getByRole('dialog').getByRole('button', { name: 'Credit' }).click();
      await page.getByText('This was already booked.').waitFor();
      assert.equal((await service.balance(customer)).available, 25_470_000n);

      for (const tab of ['Requests', 'Statement', 'Log']) {
        await page.getByRole('tab', { name: tab }).click();
        await page
          .getByText(tab === 'Requests' ? 'Fake image' : reference)
          .first()
          .waitFor();
        assert.deepEqual(await barriers(page), [], tab);
        await picture(page, `operator-account-${tab.toLowerCase()}-${size}`);
      }

      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Suspend' }).click();
      assert.equal((await use(service, customer.key)).status, 200);
      await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
      await page.getByText('Its keys are now refused.').waitFor();
      assert.equal((await use(service, customer.key)).status, 401);
      assert.deepEqual(faults, []);
      assert.equal(await overflowOf(page), 0);
      await context.close();
    });
  }

  for (const [size, viewport] of sizes) {
    test(`shows one with a long address and a large balance whole, at ${size} width`, async () => {
      const email = `alexandra.konstantinopoulou.${size}@engineering.example-company.com`;
      const body = {
        email,
        invite: false,
        credit_usd_micro: '1234567891234',
        reference: `long ${size}`,
      };
      const made = await operator.call('POST', '/api/operator/accounts', body);
      assert.equal(made.status, 201, made.text);
      const { page, context } = await enter(browser, base, operator, { viewport });
      await page.goto(`${base}/operator/accounts/${made.body.account_id}`);
      await page.getByRole('heading', { name: email }).waitFor();
      await page.getByText('$1,234,567.89').first().waitFor();
      await picture(page, `operator-account-long-${size}`);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await page.evaluate(cutNumbers), []);
      await context.close();
    });
  }

  test('focus goes back to the button that opened a dialog', async () => {
    const { account_id } = await service.account();
    const { page, context } = await enter(browser, base, operator);
    await page.goto(`${base}/operator/accounts/${account_id}`);
    const dialog = page.getByRole('dialog');
    const escapesTo = async (button: Locator) => {
      await dialog.waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await until('the button has the focus again', () => isFocused(button));
    };
    const credits = page.getByRole('button', { name: 'Credit' });
    await credits.press('Enter');
    await escapesTo(credits);
    const more = page.getByRole('button', { name: 'More actions' });
    for (const name of ['Change prices', 'Suspend']) {
      await chooseWithKeys(more, name);
      await escapesTo(more);
    }
    await context.close();
  });

  test('makes an account with a first credit, and its owner signs up by the link', async () => {
    const { page, context, faults } = await enter(browser, base, operator, { scheme: 'dark' });
    await page.goto(`${base}/operator/accounts`);
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('E-mail address').fill('fresh@example.com');
    await page.getByLabel('First credit').fill('12');
    await page.getByLabel('Reference').fill('first of fresh');
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-new-account-dark');
    await page.getByRole('button', { name: 'Create account' }).click();
    const link = await page.locator('pre', { hasText: '/invitation?token=' }).innerText();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-new-account-link-dark');
    await page.getByRole('link', { name: 'Open the account' }).click();
    await page.getByText('No people in this account.').waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Change prices' }).click();
    await page.getByLabel(/Multiplier/).fill('0.8');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert.deepEqual(await barriers(page), []);
    await page.getByRole('button', { name: 'Change prices' }).click();
    await page.getByText('Prices × 0.8').waitFor();
    await picture(page, 'operator-account-dark');
    assert.deepEqual(await barriers(page), []);
    assert.deepEqual(faults, []);
    await context.close();
    assert.ok(link.startsWith(base));
    const body = { token: new URL(link).searchParams.get('token') };
    const found = await fetch(`${base}/api/invitation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: base },
      body: JSON.stringify(body),
    });
    assert.equal(((await found.json()) as { email: string }).email, 'fresh@example.com');
  });

  test('do not exist for a customer, and are not in their menu', async () => {
    const { account_id } = await service.account();
    const who = await person(service, { [account_id]: 'owner' });
    const { page, context } = await enter(browser, base, who);
    await page.goto(`${base}/operator/accounts`);
    await page.getByText('Page not found').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Operator' }).count(), 0);
    assert.deepEqual(await barriers(page), []);
    await context.close();
  });
});

async function credit(page: Page, amount: string, reference: string, says: string | RegExp) {
  await page.getByRole('button', { name: 'Credit' }).first().click();
  await page.getByLabel('Amount in USD').fill(amount);
  await page.getByLabel('Reference').fill(reference);
  await page.getByText(says).waitFor();
}

/** Numbers that are wider than the inside of their card. */
const cutNumbers = `[...document.querySelectorAll('main .mantine-Card-root .number')]
  .filter((number) => {
    const { right } = number.getBoundingClientRect();
    const card = number.closest('.mantine-Card-root');
    const inside = card.getBoundingClientRect().right - parseFloat(getComputedStyle(card).paddingRight);
    return right > inside;
  })
  .map((number) => number.textContent)`;

function use(service: Service, key: string) {
  return service.call('GET', '/v1/requests', { key });
}
