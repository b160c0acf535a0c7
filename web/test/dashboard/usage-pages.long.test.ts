/** The page of usage in a real browser: sums beside the days before, and their file. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import type { Service } from '../../../server/test/kit/service.ts';
import { originOf, person, startWebService } from '../../../server/test/kit/web.ts';
import { csvOf, daysOf, dollars, sumsOf } from '../../src/dashboard/usage/usage-lines.ts';
import { assertClear, enter, openBrowser, sizes, withoutBrowser } from '../browser.ts';

test('days are those of UTC with today, and as many before', () => {
  const now = Date.parse('2026-03-01T23:59:59Z');
  assert.deepEqual(daysOf(7, now), { from: '2026-02-23', to: '2026-03-02', before: '2026-02-16' });
});

test('lines stand beside those of the days before, also if one of both has none', () => {
  const line = (model_id: string, charged_usd_micro: string) =>
    ({
      model_id,
      charged_usd_micro,
      metadata: {},
      requests: 1,
      failed: 0,
      input_tokens: 2,
      output_tokens: 3,
    }) as never;
  const sums = sumsOf(
    [line('a', '5'), line('b', '9')],
    [line('a', '7'), line('c', '3')],
    'model',
    '',
  );
  assert.deepEqual(
    sums.map(({ value, charged, before, tokens }) => [value, charged, before, tokens]),
    [
      ['b', 9n, 0n, 5],
      ['a', 5n, 7n, 5],
      ['c', 0n, 3n, 0],
    ],
  );
});

test('a file has its commas and quotes quoted, and no formulas', () => {
  const rows = [
    ['a,b', 'say "x"'],
    ['=1+1', '@cmd'],
    ['two\nlines', '0.5'],
    [' =1', '-0.02'],
    ['＝1', '|calc'],
  ];
  assert.equal(
    csvOf(['name', 'usd'], rows),
    'name,usd\r\n"a,b","say ""x"""\r\n\'=1+1,\'@cmd\r\n"two\nlines",0.5\r\n' +
      "' =1,-0.02\r\n'＝1,'|calc\r\n",
  );
});

test('amounts in a file are exact decimals', () => {
  for (const [micro, text] of [
    [0n, '0.00'],
    [-20_000n, '-0.02'],
    [1_234_567_000_001n, '1234567.000001'],
  ] as const)
    assert.equal(dollars(micro), text);
});

describe('the page of usage', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
  });
  after(async () => {
    await service.stop();
  });

  for (const [size, viewport] of sizes) {
    test(`sums up by model, key and metadata, and saves a file, at ${size} width`, async () => {
      const account = await service.account();
      const submit = async (headers: Record<string, string> = {}) => {
        const call = { key: account.key, body: { prompt: 'a cat' }, headers };
        assert.equal((await service.call('POST', '/v1/queue/fake/image', call)).status, 202);
        await service.work();
      };
      await submit();
      await service.db.run(
        rawSql(
          `update request_results set created_at = created_at - interval '40 days'
          where request_id in (select id from requests where account_id = $1)`,
          [account.account_id],
        ),
      );
      for (const customer of ['Zoe', 'Zoe', '42'])
        await submit({ 'x-metadata': JSON.stringify({ customer }) });
      const who = await person(service, { [account.account_id]: 'read_only' });
      const base = originOf(service);
      const { page, context, faults } = await enter(browser, base, who, { viewport });
      await page.goto(`${base}/dashboard/usage`);
      await page.getByRole('link', { name: 'Fake image' }).waitFor();
      await page.getByText('$0.03').first().waitFor();
      await page.getByText('30 days before').first().waitFor();
      await assertClear(page, `usage-${size}`);
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV' }).click(),
      ]);
      assert.match(file.suggestedFilename(), /^usage-model-\d{4}-\d\d-\d\d\.csv$/);
      const [head, first] = (await readFile(await file.path(), 'utf8')).split('\r\n');
      assert.equal(
        head,
        'model,name,requests,failed,tokens,charged_usd,charged_usd_30_days_before',
      );
      assert.match(first!, /^fake\/image,Fake image,3,0,0,0\.03,/);
      await page.getByText('Key', { exact: true }).click();
      await page.getByRole('link', { name: 'test' }).waitFor();
      await page.getByText('Metadata', { exact: true }).click();
      await page.getByText('Type a name that your programs send').waitFor();
      await page.getByLabel('Name in the metadata').fill('customer');
      await page.getByRole('link', { name: 'Zoe' }).click();
      await page.waitForURL(/metadata=customer/);
      await page
        .getByRole('button', { name: 'Remove the filter Metadata: customer=Zoe' })
        .waitFor();
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  test('sums up by person, and leads to what a person made', async () => {
    const account = await service.account();
    const { account_id } = account;
    const people = [
      await person(service, { [account_id]: 'owner' }),
      await person(service, { [account_id]: 'developer' }),
    ] as const;
    for (const one of [...people, people[1]])
      await one.of(account_id).call('POST', '/v1/queue/fake/image', { prompt: 'a cat' });
    await service.call('POST', '/v1/queue/fake/image', { ...account, body: { prompt: 'a cat' } });
    await service.work();
    const base = originOf(service);
    const { page, context, faults } = await enter(browser, base, people[0]);
    await page.goto(`${base}/dashboard/usage?by=person`);
    await page.getByText('Programs with keys').waitFor();
    const name = (await people[0].of(account_id).call('GET', '/requests/choices')).body.people.find(
      ({ person_id }: { person_id: string }) => person_id === people[1].id,
    ).name as string;
    await assertClear(page, 'usage-person');
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    const lines = (await readFile(await file.path(), 'utf8')).split('\r\n');
    assert.ok(lines[1]!.startsWith(`${people[1].id},${name},2,0,0,0.02,`), lines[1]);
    assert.ok(lines.includes(',Programs with keys,1,0,0,0.01,0.00'), lines.join('\n'));
    await page.getByRole('link', { name }).first().click();
    await page.waitForURL(new RegExp(`requests.*person=${people[1].id}`));
    await page.getByRole('button', { name: `Remove the filter Person: ${name}` }).waitFor();
    await page.locator('main [aria-label="Requests"]').getByText('a cat').nth(1).waitFor();
    assert.equal(await page.locator('main [aria-label="Requests"]').getByText('a cat').count(), 2);
    await page.goto(`${base}/dashboard`);
    const shares = page.getByRole('heading', { name: 'Spent this month by person' });
    await shares.waitFor();
    await page.locator(`main a[href*="person=${people[1].id}"]`).waitFor();
    await assertClear(page, 'overview-people');
    assert.deepEqual(faults, []);
    await context.close();
  });

  test('more lines than are read get no sum, no comparison and no claim of all', async () => {
    const account = await service.account();
    const who = await person(service, { [account.account_id]: 'read_only' });
    const base = originOf(service);
    const { page, context } = await enter(browser, base, who);
    await page.route('**/v1/usage?*', (route) => {
      const data = Array.from({ length: 1_000 }, () => ({
        model_id: `m/${randomUUID()}`,
        charged_usd_micro: '1000',
        metadata: {},
        requests: 1,
        failed: 0,
        input_tokens: 0,
        output_tokens: 0,
      }));
      return route.fulfill({ json: { data, next_cursor: 'next' } });
    });
    await page.goto(`${base}/dashboard/usage`);
    await page.getByText('have more than 5,000 lines').waitFor();
    const text = await page.locator('main').innerText();
    for (const claim of [/30 days before/, /\bnew\b/, /most expensive/, /\$5\.00/, /has all/])
      assert.doesNotMatch(text, claim);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    const [head] = (await readFile(await file.path(), 'utf8')).split('\r\n');
    assert.equal(head, 'model,name,requests,failed,tokens,charged_usd');
    await context.close();
  });
});
