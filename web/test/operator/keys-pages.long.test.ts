/** Operator keys in a real browser: made with scopes, shown once, revoked. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  barriers,
  enter,
  openBrowser,
  overflowOf,
  picture,
  sizes,
  withoutBrowser,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';

describe('the console’s operator keys', { skip: withoutBrowser() ?? false }, () => {
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
    for (const scheme of ['light', 'dark'] as const) {
      test(`one is made, shown once and revoked, at ${size} width, ${scheme}`, async () => {
        const name = `billing ${size} ${scheme}`;
        const shot = (what: string) => picture(page, `operator-keys-${what}-${size}-${scheme}`);
        const { page, context, faults } = await enter(browser, base, operator, {
          viewport,
          scheme,
        });
        await page.goto(`${base}/operator/keys`);
        await page.getByRole('button', { name: 'New operator key' }).click();
        const create = page.getByRole('button', { name: 'Create operator key' });
        await page.getByLabel('Name').fill(name);
        assert.ok(await create.isDisabled(), 'a key without scopes');
        await page.getByLabel('Money').check();
        await page.getByLabel('Read').check();
        assert.deepEqual(await barriers(page), []);
        assert.equal(await overflowOf(page), 0);
        await shot('new');
        await create.click();
        const key = (await page.locator('pre').innerText()).trim();
        assert.match(key, /^fbo_[0-9A-Za-z]{38}$/);
        assert.deepEqual(await barriers(page), []);
        assert.equal(await overflowOf(page), 0);
        await shot('shown');
        await page.getByRole('button', { name: "I've saved it" }).click();
        const call = (path: string, method = 'GET') =>
          service.call(method, `/v1/operator${path}`, { key });
        assert.equal((await call('/accounts')).status, 200);
        assert.equal((await call('/accounts', 'POST')).status, 403);
        await page.reload();
        await page.getByText(name).first().waitFor();
        await page.getByText('Read, Money').first().waitFor();
        assert.equal(await page.getByText(key).count(), 0);
        assert.deepEqual(await barriers(page), []);
        assert.equal(await overflowOf(page), 0);
        await shot('list');
        await page.getByRole('button', { name: `Revoke: ${name}` }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
        await page.getByText('Operator key revoked.').waitFor();
        assert.equal((await call('/accounts')).status, 401);
        await page.goto(`${base}/operator/log`);
        await page.getByText('Revoked an operator key').first().waitFor();
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }

  test('it speaks Russian', async () => {
    const { page, context, faults } = await enter(browser, base, operator, { language: 'ru' });
    await page.goto(`${base}/operator/keys`);
    await page.getByRole('button', { name: 'Новый ключ оператора' }).click();
    await page.getByLabel('Деньги').check();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-keys-ru');
    assert.deepEqual(faults, []);
    await context.close();
  });
});
