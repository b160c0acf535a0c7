/** The part "Needs attention" of the operator's overview, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import {
  barriers,
  enter,
  openBrowser,
  overflowOf,
  picture,
  signIn,
  sizes,
  visitor,
  withoutBrowser,
} from '../browser.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import {
  operatorOf,
  originOf,
  password,
  startWebService,
  type Person,
} from '../../../server/test/kit/web.ts';

describe('the overview', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  let operator: string;
  let person: Person;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
    person = await operatorOf(service);
    operator = person.email;
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
      await page.waitForURL(`${base}/operator/upstreams/fake`);
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  const acts: [what: string, make: string, press: RegExp, left: string, is: unknown][] = [
    [
      'an upstream that is paused is resumed',
      `update upstreams set last_why = null, paused_until = now() + interval '1 hour'`,
      /^Resume: fake$/,
      'select coalesce(paused_until > now(), false) as it from upstreams',
      false,
    ],
    [
      'a model that is paused at an upstream is resumed',
      `insert into upstreams (name, model, paused_until)
        values ('fake', 'big', now() + interval '1 hour')`,
      /^Resume: fake big$/,
      `select coalesce(paused_until > now(), false) as it from upstreams where model = 'big'`,
      false,
    ],
    [
      'a model that was stopped is sold again',
      `insert into stopped_models (model_id, stopped_by) values ('fake/image', 'me')`,
      /^Sell again: fake\/image$/,
      'select count(*)::int as it from stopped_models',
      0,
    ],
  ];
  for (const [what, make, press, left, is] of acts)
    test(`beside its line, ${what} by one press`, async () => {
      await service.db.run(rawSql(make));
      const { page, context } = await enter(browser, base, person);
      await page.goto(`${base}/operator`);
      const button = page.getByRole('button', { name: press });
      await button.click();
      await button.waitFor({ state: 'detached' });
      const [row] = await service.db.run<{ it: unknown }>(rawSql(left));
      assert.deepEqual(row?.it, is);
      await context.close();
    });

  test('asks in a dialog how an unknown outcome ended, and books its cost', async () => {
    const { key } = await service.account({ usd: 1 });
    service.fake.behave.start = () => ({ outcome: 'unknown', message: 'cut off' });
    await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a' } });
    await service.work();
    await service.db.run(
      rawSql(`update requests set deadline_at = now(), wake_at = now() where completed_at is null`),
    );
    await service.work();
    const { page, context, faults } = await enter(browser, base, person);
    await page.goto(`${base}/operator`);
    await page.getByRole('button', { name: 'Resolve: fake 1' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('fake/image · fake').waitFor();
    await dialog.getByLabel('Your cost').fill('0.003');
    assert.deepEqual(await barriers(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('1 unknown outcome').waitFor({ state: 'detached' });
    const [row] = await service.db.run<{ cost: bigint }>(
      rawSql(`select cost_usd_micro as cost from request_results where doubt_upstream is not null`),
    );
    assert.equal(row!.cost, 3_000n);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('lets nobody press without the right, and says why', async () => {
    await service.db.run(
      rawSql(`update upstreams set paused_until = now() + interval '1 hour' where model = ''`),
    );
    const reader = await operatorOf(service, 'read_only');
    const { page, context } = await enter(browser, base, reader);
    await page.goto(`${base}/operator`);
    const button = page.getByRole('button', { name: /^Resume: fake$/ });
    await button.waitFor();
    assert.equal(await button.isDisabled(), true);
    assert.match((await button.getAttribute('title'))!, /^Your role, Read only, does not include/);
    await context.close();
  });
});
