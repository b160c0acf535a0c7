/** The docs of the API in the dashboard, in a real browser. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Farebox } from '../../../client/src/index.ts';
import type { Browser } from 'playwright-core';
import {
  schemes,
  barriers,
  enter,
  openBrowser,
  picture,
  sizes,
  visitor,
  withoutBrowser,
} from '../kit/browser.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { originOf, password, person, startWebService } from '../kit/web.ts';

const fare = new URL('../../../client/dist/cli/main.js', import.meta.url).pathname;

describe('the docs', { skip: withoutBrowser() ?? false }, () => {
  let service: Service;
  let browser: Browser;
  let account: TestAccount;
  let base: string;
  before(async () => {
    service = await startWebService();
    browser = await openBrowser();
    account = await service.account();
    base = originOf(service);
  });
  after(async () => {
    await service.stop();
  });

  async function open(path: string, options: object, role: 'owner' | 'read_only' = 'owner') {
    const who = await person(service, { [account.account_id]: role });
    const opened = await enter(browser, base, who, options);
    await opened.page.goto(`${base}${path}`);
    return opened;
  }

  /** The output of a program that imports the library. */
  async function printedBy(code: string): Promise<unknown[]> {
    const printed: unknown[] = [];
    const body = code.replace(/^import .*/m, '');
    const program = new Function('Farebox', 'console', `return (async () => {${body}})();`);
    await program(Farebox, { log: (...what: unknown[]) => void printed.push(...what) });
    return printed;
  }

  /** The output of a shell that has the fare command and the key. */
  async function fareSays(code: string): Promise<string> {
    const text = `fare() { "${process.execPath}" "${fare}" "$@"; }\n${code}`;
    const env = {
      ...process.env,
      FAREBOX_API_KEY: account.key,
      FAREBOX_BASE_URL: `${service.base}/v1`,
    };
    const { stdout } = await promisify(execFile)('sh', ['-c', text], { env });
    return stdout;
  }

  for (const [size, viewport] of sizes) {
    for (const scheme of schemes) {
      test(`give code that works, with the own key in it, at ${size} width, ${scheme}`, async () => {
        const { page, context, faults } = await open('/dashboard/docs', { viewport, scheme });
        await page.getByLabel('Your key').fill(account.key);
        const snippet = page.getByRole('region', { name: 'Ask for the price, JavaScript' });
        await page.getByRole('tab', { name: 'JavaScript' }).first().click();
        const code = await snippet.innerText();
        assert.match(code, new RegExp(account.key));
        assert.deepEqual(await printedBy(code), [10_000n]);
        // A language that is chosen in one step applies to all steps.
        await page.getByRole('region', { name: 'Submit, JavaScript' }).waitFor();
        await page.getByRole('tab', { name: 'fare' }).first().click();
        const line = page.getByRole('region', { name: 'Ask for the price, fare' });
        assert.equal(await fareSays(await line.innerText()), '0.01\n');
        assert.deepEqual(await barriers(page), []);
        await picture(page, `docs-${size}-${scheme}`);
        assert.deepEqual(faults, []);
        await context.close();
      });

      test(`show every call, and make one, at ${size} width, ${scheme}`, async () => {
        const { page, context, faults } = await open('/dashboard/docs/reference?op=estimate', {
          viewport,
          scheme,
        });
        const body = { model_id: 'fake/image', input: { prompt: 'a cat', num_images: 2 } };
        const field = page.getByRole('textbox', { name: 'Body' });
        await field.fill('{');
        await page.getByText('This is not valid JSON.').waitFor();
        assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
        await field.fill(JSON.stringify(body));
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        const answer = page.getByRole('status');
        await answer.getByText('"price_usd_micro": "20000"').waitFor();
        await answer.getByText(/^x-request-id: /).waitFor();
        assert.deepEqual(await barriers(page), []);
        await picture(page, `docs-reference-${size}-${scheme}`);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }

  test('let no role spend that may not', async () => {
    const before = await service.transfers();
    const { page, context } = await open('/dashboard/docs/reference?op=submit', {}, 'read_only');
    await page.getByText('Your role cannot make this call.').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
    assert.equal(await service.transfers(), before);
    await context.close();
  });

  test('say what a call costs before it is sent, and show its result', async () => {
    const before = await service.transfers();
    const { page, context } = await open('/dashboard/docs/reference?op=submit', {});
    await page.getByText(/^Charges your balance: /).waitFor();
    assert.equal(await service.transfers(), before);
    await page.getByLabel('model_id').fill('fake/image');
    await page.getByRole('textbox', { name: 'Body' }).fill('{"prompt":"a cat"}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('status').getByText('"request_id"').waitFor();
    assert.notEqual(await service.transfers(), before);
    await context.close();
  });

  test('offer no form for a call that needs a key', async () => {
    for (const op of ['createResponse', 'createOwnKey']) {
      const { page, context } = await open(`/dashboard/docs/reference?op=${op}`, {});
      await page.getByText('Make it with a key.').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0);
      await context.close();
    }
  });

  test('lead from a call of the public page over signing in to its form', async () => {
    const { email } = await person(service, { [account.account_id]: 'owner' });
    const { page, context } = await visitor(browser);
    await page.goto(`${base}/docs/api/balance`);
    await page.getByRole('link', { name: 'Sign in to try it: GET /balance' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await page.locator('input[autocomplete=current-password]').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${base}/dashboard/docs/reference?op=readBalance`);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('status').getByText('"available_usd_micro"').waitFor();
    await context.close();
  });

  test('offer no form for calls of the operator\u2019s API', async () => {
    const { page, context } = await open('/dashboard/docs/reference?op=creditAccount', {});
    await page.getByText(/cannot be tried here: .* the operator/).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0);
    await context.close();
  });

  test('list the same calls as openapi.json', async () => {
    const { page, context } = await open('/dashboard/docs/reference', {});
    await page.getByRole('heading', { name: 'Submit a generation' }).waitFor();
    const { body } = await service.call('GET', '/v1/openapi.json');
    for (const methods of Object.values(body.paths) as Record<string, { summary?: string }>[]) {
      for (const { summary } of Object.values(methods)) {
        if (summary === undefined) continue;
        assert.ok((await page.getByText(summary, { exact: true }).count()) > 0, summary);
      }
    }
    await context.close();
  });
});
