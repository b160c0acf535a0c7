/** One request of any account on the operator's pages, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  barriers,
  openBrowser,
  overflowOf,
  picture,
  signIn,
  sizes,
  visitor,
  withoutBrowser,
} from '../browser.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { createFake } from '../../../server/test/kit/fake.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { operatorOf, originOf, password, startWebService } from '../../../server/test/kit/web.ts';

describe('a request', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: string;
  let account: TestAccount;
  before(async () => {
    const fake = createFake({ class: 'C' });
    service = await startWebService({ fake });
    browser = await openBrowser();
    base = originOf(service);
    operator = (await operatorOf(service)).email;
    account = await service.account({ usd: 5 });
    const submit = async (prompt: string) => {
      const call = { key: account.key, body: { prompt } };
      const sent = await service.call('POST', '/v1/queue/fake/image', call);
      assert.equal(sent.status, 202, sent.text);
      await service.work();
    };
    await submit('a lighthouse in the evening');
    fake.behave.start = () => ({ outcome: 'rejected', message: 'no' });
    await submit('a thing that nobody wants to see');
    await service.db.run(
      rawSql(`with r as (select id from requests order by id desc limit 1),
        s as (update request_results s set error_message = 'The model failed.', cost_usd_micro = 4000,
          error_cause = 'safety filter 17 of model 3 has struck' from r where s.request_id = r.id)
        update attempts a set outcome = 'not_accepted', message = '503: come back later' from r
        where a.request_id = r.id`),
    );
  });
  after(async () => {
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    test(`is found in its account by its status, with its cause, at ${size} width`, async () => {
      const isPhone = size === 'phone';
      const { page, context, faults } = await visitor(browser, {
        viewport,
        scheme: isPhone ? 'dark' : 'light',
      });
      await signIn(page, base, operator, password);
      await page.goto(`${base}/operator/accounts/${account.account_id}?tab=requests`);
      await page.getByRole('link', { name: 'Fake image' }).nth(1).waitFor();
      await page.getByRole('combobox', { name: 'Search requests' }).fill('fail');
      await page.getByRole('option', { name: 'Failed', exact: true }).click();
      await page.waitForURL(/status=FAILED/);
      await page.getByRole('link', { name: 'Fake image' }).nth(1).waitFor({ state: 'detached' });
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-requests-filter-${size}`);
      await page.getByRole('link', { name: 'Fake image' }).click();
      await page.getByText('safety filter 17').first().waitFor();
      assert.equal(await page.getByText('nobody wants to see').count(), 0);
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-request-failed-${size}`);
      await page.getByRole('button', { name: 'Show input' }).click();
      await page.getByText('nobody wants to see').waitFor();
      assert.deepEqual(await barriers(page), []);
      assert.equal(await overflowOf(page), 0);
      await page.getByRole('link', { name: account.email }).first().click();
      await page.waitForURL(/tab=requests/);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('that went well shows its margin, in Russian', async () => {
    const { page, context, faults } = await visitor(browser, { language: 'ru' });
    await signIn(page, base, operator, password);
    await page.goto(
      `${base}/operator/accounts/${account.account_id}?tab=requests&status=COMPLETED`,
    );
    await page.getByRole('link', { name: 'Fake image' }).click();
    await page.waitForURL(/\/operator\/requests\//);
    // The list of requests also shows its id and its margin.
    await page.getByRole('heading', { level: 1, name: 'Fake image' }).waitFor();
    await page.getByText('$0.006', { exact: true }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'operator-request-ru');
    await page.goto(`${base}/operator/requests/${account.account_id}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });
});
