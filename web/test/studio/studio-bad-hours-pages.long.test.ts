/**
 * Bad hours of the studio in a real browser: each says what happened, keeps what was typed, and
 * charges nothing twice.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { setPrice } from '../../../server/src/operations/accounts/account.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { until } from '../../../server/test/kit/until.ts';
import { operatorOf, password } from '../../../server/test/kit/web.ts';
import { barriers, overflowOf, withoutBrowser } from '../browser.ts';
import {
  canvas,
  completed,
  counted,
  openStudio,
  price,
  run,
  shownPrompt,
  tiles,
  type Studio,
} from './studio-kit.ts';

let studio: Studio;

async function fill(page: Page, prompt: string): Promise<void> {
  await studio.openModel(page, canvas);
  await page.getByLabel('Prompt').fill(prompt);
  await price(page, '60000');
}

const typed = (page: Page) => page.getByLabel('Prompt').inputValue();

describe('a bad hour', { skip: withoutBrowser() ?? false }, () => {
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio?.close());

  test('the line is lost in the middle of a run: its result comes when the line is back', async () => {
    const { page, context, account } = await studio.visit();
    await fill(page, 'hills by night');
    await page.route('**/v1/queue/**', async (route) => {
      await route.fulfill({ response: await route.fetch() });
      await context.setOffline(true);
    });
    await run(page).click();
    await until('the run has ended', async () => {
      const { requests, transfers } = await counted(studio.service, account);
      return requests === 1 && transfers === 3;
    });
    assert.equal(await typed(page), 'hills by night');
    await context.setOffline(false);
    await completed(page).waitFor();
    await shownPrompt(page, 'hills by night').waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
    await context.close();
  });

  for (const status of [502, 504]) {
    test(`a proxy answers ${status} for an accepted run: it is open, not refused`, async () => {
      const { page, context, account } = await studio.visit();
      await fill(page, 'hills by day');
      await page.route('**/v1/queue/**', async (route) => {
        await route.fetch();
        await route.fulfill({ status, body: '<h1>Bad gateway</h1>' });
      });
      await run(page).click();
      const alert = page.getByRole('alert');
      await alert.getByText('The answer was lost').waitFor();
      assert.equal(await alert.getByText('Nothing was charged').count(), 0);
      await page.unroute('**/v1/queue/**');
      await page.reload();
      await alert.getByRole('button', { name: 'Try again' }).click();
      await alert.waitFor({ state: 'detached' });
      await completed(page).waitFor();
      assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
      await context.close();
    });
  }

  test('two tabs: a run of one is in the strip of the other, and each keeps its words', async () => {
    const { page, context, account } = await studio.visit();
    await fill(page, 'one');
    const other = await context.newPage();
    await fill(other, 'two');
    await run(page).click();
    await completed(page).waitFor();
    await tiles(other).waitFor();
    assert.equal(await typed(other), 'two');
    await run(other).click();
    await shownPrompt(other, 'two').waitFor();
    await tiles(page).nth(1).waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 2, transfers: 5 });
    await context.close();
  });

  test('the session ends: after sign-in the form is as it was, and nothing ran', async () => {
    const { page, context, account, who } = await studio.visit();
    await fill(page, 'a hill for later');
    await studio.service.db.run(rawSql('delete from sessions where person_id = $1', [who.id]));
    await run(page).click();
    await page.waitForURL(/sign-in/);
    assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
    await page.locator('input[type=email]').fill(who.email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.locator('button[type=submit]').click();
    await page.waitForURL(/studio\/sandbox/);
    await price(page, '60000');
    assert.equal(await typed(page), 'a hill for later');
    await run(page).click();
    await completed(page).waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
    await context.close();
  });

  test('the price has changed since it was shown: the run says so, and costs it once', async () => {
    const { page, context, account } = await studio.visit();
    await fill(page, 'dear hills');
    await setPrice(studio.service.db, account.account_id, 1_500_000);
    await run(page).dblclick();
    await page
      .getByText(/\$0\.09/)
      .first()
      .waitFor();
    await completed(page).waitFor();
    assert.equal((await studio.service.balance(account)).available, 9_910_000n);
    assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
    assert.equal(await typed(page), 'dear hills');
    await context.close();
  });

  test('the model is stopped while its form is open: the run is refused, and the words stay', async () => {
    const { page, context, account } = await studio.visit();
    await fill(page, 'hills of yesterday');
    const operator = await operatorOf(studio.service);
    const path = `/api/operator/models/${canvas}`;
    const set = (change: object) =>
      operator.call('PATCH', path, { ...change, reason: 'a test of the studio' });
    assert.equal((await set({ status: 'stopped', status_note: 'moving house' })).status, 200);
    await run(page).dblclick();
    const alert = page.getByRole('alert');
    await alert.getByText('The service refused the run').waitFor();
    await alert.getByText('Nothing was charged', { exact: true }).waitFor();
    assert.equal(await typed(page), 'hills of yesterday');
    await page.reload();
    await page
      .locator('[data-reason=stopped]')
      .getByText(/moving house/)
      .waitFor();
    assert.equal(await run(page).isDisabled(), true);
    assert.equal(await typed(page), 'hills of yesterday');
    assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
    assert.equal((await set({ status: 'live' })).status, 200);
    await context.close();
  });

  test('another tab has spent the balance: the run is refused, and the words stay', async () => {
    const { page, context, account } = await studio.visit({ usd: 0.07 });
    await fill(page, 'cheap hills');
    // The page does not hear of it.
    await page.route('**/studio/allowance', (route) => route.abort());
    await page.route('**/events', (route) => route.abort());
    const { key } = account;
    const spent = await studio.service.call('POST', `/v1/queue/${canvas}`, {
      key,
      body: { prompt: 'elsewhere', resolution: '1k' },
    });
    assert.equal(spent.status, 202);
    await run(page).click();
    const alert = page.getByRole('alert');
    await alert.getByText('The service refused the run').waitFor();
    await alert.getByText('Nothing was charged', { exact: true }).waitFor();
    assert.match(await alert.innerText(), /balance/i);
    assert.equal(await typed(page), 'cheap hills');
    assert.equal((await counted(studio.service, account)).requests, 1);
    await context.close();
  });

  const words = {
    'a prompt in Arabic': 'قطة تنام على سطح البيت',
    'a prompt of emoji': '👩‍👩‍👧‍👦 🏴‍☠️ 🌊'.repeat(4),
    'a prompt of one long word': 'lighthouse'.repeat(60),
    'a prompt that looks like markup': '<img src=x onerror=alert(1)> & "quotes"',
  };
  for (const [what, prompt] of Object.entries(words))
    test(`${what} is shown whole, and fills the form again`, async () => {
      const { page, context, account, faults } = await studio.visit();
      await fill(page, prompt);
      await run(page).click();
      await completed(page).waitFor();
      await shownPrompt(page, prompt).waitFor();
      await page.getByLabel('Prompt').fill('something else');
      await page.getByRole('button', { name: 'Run actions' }).click();
      await page.getByRole('menuitem', { name: 'Reuse settings' }).click();
      await until('the form is filled', async () => (await typed(page)) === prompt);
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await barriers(page), []);
      await page.goto(`${studio.base}/studio/library`);
      await page.locator('[data-tile]').waitFor();
      assert.equal(await overflowOf(page), 0);
      assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
      assert.deepEqual(faults, []);
      await context.close();
    });

  test('a prompt of 30,000 characters: the field says how many it takes, and keeps them', async () => {
    const { page, context, account } = await studio.visit();
    const prompt = 'a pier at dawn. '.repeat(1_875);
    await studio.openModel(page, canvas);
    await page.getByLabel('Prompt').fill(prompt);
    await price(page, '60000');
    if (await run(page).isEnabled()) await run(page).click();
    await page
      .getByText(/at most|too long|characters/i)
      .first()
      .waitFor();
    assert.equal((await typed(page)).length, 30_000);
    assert.deepEqual(await counted(studio.service, account), { requests: 0, transfers: 1 });
    assert.equal(await overflowOf(page), 0);
    await page.getByLabel('Prompt').fill('a pier');
    await run(page).click();
    await completed(page).waitFor();
    assert.deepEqual(await counted(studio.service, account), { requests: 1, transfers: 3 });
    await context.close();
  });

  const acts: [method: string, path: string, body?: object][] = [
    ['POST', `/v1/queue/${canvas}`, { prompt: 'by hand', resolution: '1k' }],
    ['POST', '/v1/chat/completions', { model: 'sandbox/chat', messages: [] }],
    ['POST', '/v1/files'],
    ['PUT', '/requests/ID/favorite'],
    ['DELETE', '/requests/ID/favorite'],
    ['DELETE', '/v1/requests/ID/output'],
    ['POST', '/v1/requests/ID/cancel'],
  ];
  test('a person who may only read makes the calls by hand: each is refused, nothing changes', async () => {
    const { page, context, account } = await studio.visit({ role: 'read_only' });
    const body = { prompt: 'kept', resolution: '1k' };
    const { request_id } = (await account.post(`/v1/queue/${canvas}`, body)).body;
    await account.get(`/v1/requests/${request_id}/status?until=final`);
    const before = await counted(studio.service, account);
    await page.goto(`${studio.base}/studio/library`);
    await page.locator('[data-tile]').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add to favorites' }).count(), 0);
    for (const [method, path, sent] of acts) {
      const url = `/api/accounts/${account.account_id}${path.replace('ID', request_id)}`;
      const options = { method, ...(sent && { body: JSON.stringify(sent) }) };
      const headers = { 'content-type': 'application/json' };
      const asked = `fetch(${JSON.stringify(url)}, ${JSON.stringify({ ...options, headers })})`;
      const answer = await page.evaluate<[number, string]>(
        `${asked}.then(async (reply) => [reply.status, (await reply.json()).error?.code])`,
      );
      assert.equal(answer[0], 403, `${method} ${path}: ${answer.join(' ')}`);
    }
    assert.deepEqual(await counted(studio.service, account), before);
    assert.equal((await account.get(`/v1/requests/${request_id}/response`)).status, 200);
    await context.close();
  });

  test('5,000 runs: the strip, the library and the list are bounded, and scroll to the end of a page', async () => {
    const { page, context, account, faults } = await studio.visit();
    const { request_id } = (
      await account.post(`/v1/queue/${canvas}`, { prompt: 'one of many', resolution: '1k' })
    ).body;
    await account.get(`/v1/requests/${request_id}/status?until=final`);
    await copied(request_id, 5_000);
    const calls: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/')) calls.push(request.url());
    });
    const seconds = async (address: string, sign: string) => {
      calls.length = 0;
      const since = performance.now();
      await page.goto(`${studio.base}${address}`);
      await page.locator(sign).first().waitFor();
      assert.ok(calls.length <= 16, `${address}: ${calls.length} calls`);
      const elements = await page.evaluate<number>('document.querySelectorAll("*").length');
      assert.ok(elements < 4_000, `${address}: ${elements} elements`);
      return (performance.now() - since) / 1000;
    };
    for (const [address, sign] of [
      [`/studio/${canvas}`, '[data-tile=COMPLETED]'],
      ['/studio/library', '[data-tile]'],
      ['/studio/library?q=many', '[data-tile]'],
      ['/dashboard/requests', 'main a[href*="/dashboard/requests/"]'],
    ] as const)
      assert.ok((await seconds(address, sign)) < 15, address);
    await page.goto(`${studio.base}/studio/library`);
    const tiles = page.locator('[data-tile]');
    await tiles.first().waitFor();
    const first = await tiles.count();
    for (let loaded = 1; loaded <= 3; loaded++) {
      await page.getByRole('button', { name: /more/i }).click();
      await until('more are there', async () => (await tiles.count()) > first * loaded);
    }
    // A long task would make the page stutter while it is scrolled.
    const longest = await page.evaluate<number>(`new Promise((done) => {
      let most = 0;
      let last = performance.now();
      const step = (n) => {
        const now = performance.now();
        if (n < 58) most = Math.max(most, now - last);
        last = now;
        scrollTo(0, (60 - n) * 120);
        if (n > 0) requestAnimationFrame(() => step(n - 1));
        else done(most);
      };
      step(60);
    })`);
    assert.ok(longest < 1_000, `a frame took ${longest} ms`);
    assert.deepEqual(faults, []);
    await uncopied(request_id);
    await context.close();
  });

  const parts = { requests: 'id', request_inputs: 'request_id', request_results: 'request_id' };

  /** Further requests like this one, older than it, with the same files. */
  async function copied(request_id: string, count: number): Promise<void> {
    for (const [table, id] of Object.entries({ ...parts, outputs: 'request_id' }))
      await studio.service.db.run(
        rawSql(
          `insert into ${table} select (jsonb_populate_record(r,
             jsonb_build_object('${id}', '00' || substr($1, 3, 22) || lpad(to_hex(n), 12, '0')) ||
             case when '${table}' = 'request_inputs' then '{"idempotency_key":null,"fingerprint":null}'::jsonb
               else '{}' end)).*
           from ${table} r, generate_series(1, $2::int) n where r.${id} = $1::uuid`,
          [request_id, count],
        ),
      );
  }

  /** The books know nothing of the copies. */
  async function uncopied(request_id: string): Promise<void> {
    for (const [table, id] of Object.entries({ ...parts, outputs: 'request_id' }))
      await studio.service.db.run(
        rawSql(`delete from ${table} where ${id}::text like $1`, [`00${request_id.slice(2, 24)}%`]),
      );
  }
});
