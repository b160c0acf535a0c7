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
  withoutBrowser,
} from '../kit/browser.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { originOf, person, startWebService } from '../kit/web.ts';

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

  async function open(options: object) {
    const who = await person(service, { [account.account_id]: 'owner' });
    const opened = await enter(browser, base, who, options);
    await opened.page.goto(`${base}/dashboard/docs`);
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
        const { page, context, faults } = await open({ viewport, scheme });
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
    }
  }
});
