/** The part "Needs attention" of the operator's overview, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
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
import type { Service } from '../../../server/test/kit/service.ts';
import { operatorOf, originOf, password, startWebService } from '../../../server/test/kit/web.ts';

describe('the overview', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
    operator = (await operatorOf(service)).email;
    await service.db.run(
      rawSql(
        `insert into upstreams (name, last_error, last_why) values ('fake', 'no', 'credential')`,
      ),
    );
    await service.db.run(
      rawSql(`insert into audit_results (ok, checked, violations, took_ms)
        values (false, '{}', '[{"law":"sums are zero","says":"They are not.","found":[]}]', 5)`),
    );
  });
  after(async () => {
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    test(`names what needs attention, and leads there, at ${size} width`, async () => {
      const scheme = size === 'phone' ? 'dark' : 'light';
      const language = size === 'phone' ? 'ru' : 'en';
      const { page, context, faults } = await visitor(browser, { viewport, scheme, language });
      await signIn(page, base, operator, password);
      await page.waitForURL(`${base}/operator`);
      const list = page.getByRole('region', {
        name: language === 'ru' ? 'Требует внимания' : 'Needs attention',
      });
      await list.getByText('sums are zero').waitFor();
      assert.deepEqual(await barriers(page), []);
      await picture(page, `operator-attention-${size}`);
      assert.equal(await overflowOf(page), 0);
      await list.getByRole('link').first().click();
      await page.waitForURL(/#books$/);
      await list.getByRole('link').nth(1).click();
      await page.waitForURL(`${base}/operator/upstreams`);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }
});
