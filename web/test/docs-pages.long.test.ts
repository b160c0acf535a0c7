/** The docs of the API in the dashboard, in a real browser. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import {
  schemes,
  barriers,
  enter,
  openBrowser,
  picture,
  sizes,
  withoutBrowser,
} from './browser.ts';
import type { Service, TestAccount } from '../../server/test/kit/service.ts';
import { originOf, person, startWebService } from '../../server/test/kit/web.ts';

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

  /** The output of a shell with nothing of ours in its environment. */
  async function printedBy(code: string): Promise<string> {
    const { PATH } = process.env;
    return (await promisify(execFile)('sh', ['-c', code], { env: { PATH } })).stdout;
  }

  for (const [size, viewport] of sizes) {
    for (const scheme of schemes) {
      test(`give code that works, with the own key in it, at ${size} width, ${scheme}`, async () => {
        const { page, context, faults } = await open({ viewport, scheme });
        await page.getByLabel('Your key').fill(account.key);
        const shown = (name: string) => page.getByRole('region', { name }).first().innerText();
        const variables = await shown('Give your programs the key');
        // Without what waits for the end, because no worker runs here.
        const [submit] = (await shown('Make an image or a video, curl')).split('# Wait');
        const reply = JSON.parse(await printedBy(`${variables}\ncd "$(mktemp -d)"\n${submit}`));
        assert.equal(reply.status, 'IN_QUEUE');
        // A language that is chosen once applies to all programs.
        await page.getByRole('tab', { name: 'JavaScript' }).first().click();
        assert.match(await shown('Call a text model, JavaScript'), /chat\.completions\.create/);
        assert.deepEqual(await barriers(page), []);
        await picture(page, `docs-${size}-${scheme}`);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }
});
