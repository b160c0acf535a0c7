/** Addresses of the pages without a target, or with values that the page does not have. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { barriers, enter, openBrowser, withoutBrowser } from './browser.ts';
import type { Service } from '../../server/test/kit/service.ts';
import { operatorOf, originOf, startWebService } from '../../server/test/kit/web.ts';

describe('the pages', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
  });

  /** Opens the browser of an operator. */
  async function open() {
    return enter(browser, base, await operatorOf(service));
  }

  test('say at an unknown address that there is no page, and calls get JSON', async () => {
    const { page, context, faults } = await open();
    const reply = await page.goto(`${base}/no/such?page=1`);
    assert.equal(reply!.status(), 404);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await page.waitForURL(`${base}/operator`);
    assert.deepEqual(faults, []);
    await context.close();

    const ask = async (path: string, accept: string, method = 'GET') => {
      const { status, headers } = await fetch(`${base}${path}`, { method, headers: { accept } });
      // A shared cache must not send one answer to a caller who asked for the other.
      assert.equal(headers.get('cache-control'), 'no-store', `${method} ${path}`);
      assert.match(headers.get('vary')!, /accept/i);
      return [status, headers.get('content-type')!.split(';')[0]];
    };
    const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const json = 'application/json';
    assert.deepEqual(await ask('/nope', html, 'HEAD'), [404, 'text/html']);
    assert.deepEqual(await ask('/nope', '*/*'), [404, json]);
    assert.deepEqual(await ask('/nope', html, 'POST'), [404, json]);
    for (const path of ['/v1', '/v1/nope', '/v1?a', '/api', '/api/nope'])
      assert.deepEqual(await ask(path, html), [404, json], path);
  });

  test('remove unknown values from an address, and keep known ones', async () => {
    const { page, context, faults } = await open();
    for (const [asked, kept] of [
      ['/dashboard?days=999&by=model', '/dashboard?by=model'],
      ['/dashboard/requests?status=NOPE&from=2026-99-01&model=12', '/dashboard/requests?model=12'],
      // Only the view of all movements has kinds; the view by request has one line a request.
      ['/dashboard/money?kind=nope,charge', '/dashboard/money?kind=charge&view=ledger'],
      ['/dashboard/money?kind=nope&view=nope', '/dashboard/money'],
      ['/studio?kind=nope&sort=name&q=true', '/studio?sort=name&q=true'],
      ['/operator?days=999', '/operator'],
      ['/operator?days=90', '/operator?days=90'],
      ['/operator/accounts?q=123&only=nope', '/operator/accounts?q=123'],
    ]) {
      await page.goto(`${base}${asked}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const shown = new URL(page.url());
      const wanted = new URL(`${base}${kept}`);
      assert.equal(shown.pathname, wanted.pathname);
      assert.deepEqual(new Map(shown.searchParams), new Map(wanted.searchParams), asked);
    }
    assert.equal(await page.getByLabel('Find').inputValue(), '123');
    await page.goto(`${base}/operator?days=999`);
    await page.locator('input[type=radio][value="30"]:checked').waitFor({ state: 'attached' });
    // A task that no model has is shown among the filters, and can be removed.
    await page.goto(`${base}/studio?task=no-such-task`);
    const task = page.getByRole('combobox', { name: 'Task' });
    await task.waitFor();
    assert.equal(await task.inputValue(), 'no-such-task');
    await task.click();
    await page.getByRole('option', { name: 'no-such-task' }).click();
    await page.waitForURL(`${base}/studio`);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
