import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Role } from '../../../server/src/core/account/role.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { createSandbox } from '../../../server/src/upstreams/sandbox/sandbox.ts';
import { enter, openBrowser, type VisitOptions, type Visitor } from '../browser.ts';
import type { Service, TestAccount } from '../../../server/test/kit/service.ts';
import { originOf, person, startWebService, type Person } from '../../../server/test/kit/web.ts';

/** A service with the sandbox as its upstream, and a browser on its pages. */
export interface Studio {
  service: Service;
  base: string;
  visit(options?: VisitOptions & { role?: Role; usd?: number }): Promise<Visit>;
  openModel(page: Page, id: string, query?: string): Promise<void>;
  close(): Promise<void>;
}

export interface Visit extends Visitor {
  account: TestAccount;
  who: Person;
}

export const canvas = 'sandbox/canvas/text-to-image';

/** `speed`: of the sandbox's jobs; left out: they are done at once. */
export async function openStudio({ speed = Infinity } = {}): Promise<Studio> {
  const dir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const catalog = join(import.meta.dirname, '../../../catalog/sandbox.yaml');
  const browser = await openBrowser();
  const service = await startWebService({
    upstreams: [createSandbox({ dir, speed })],
    catalog: await readFile(catalog, 'utf8'),
    running: true,
  });
  const base = originOf(service);
  return {
    service,
    base,
    async visit({ role = 'owner', usd = 10, ...options } = {}) {
      const account = await service.account({ usd });
      const who = await person(service, { [account.account_id]: role });
      const one = await enter(browser, base, who, options);
      return { ...one, account, who };
    },
    async openModel(page, id, query = '') {
      await page.goto(`${base}/studio/${id}${query}`);
      await page.locator('[data-price]').or(page.getByText('No price yet')).first().waitFor();
    },
    async close() {
      await service.audit();
      await service.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The number of requests and of transfers; the first transfer is the deposit. */
export async function counted({ db }: Service, { account_id }: TestAccount) {
  const [row] = await db.run<{ requests: bigint; transfers: bigint }>(
    rawSql(
      `select (select count(*) from requests where account_id = $1) as requests,
        (select count(*) from transfers where account_id = $1) as transfers`,
      [account_id],
    ),
  );
  return { requests: Number(row!.requests), transfers: Number(row!.transfers) };
}

/** Waits until the page shows this price for the current input. */
export async function price(page: Page, micro: string): Promise<void> {
  await page.locator(`[data-price="${micro}"][data-fresh]`).waitFor();
}

export function run(page: Page) {
  return page.getByRole('button', { name: 'Run', exact: true });
}

/** The stage, once it shows a finished run. */
export function completed(page: Page) {
  return page.locator('[data-stage][data-status=COMPLETED]');
}

/** The stage's picture in full; the strip has small ones. */
export function large(page: Page) {
  return completed(page).locator('img[src*="/output/"]:not([src*="&size="])');
}

/** Runs in the strip. */
export function tiles(page: Page, status = 'COMPLETED') {
  return page.locator(`[data-tile=${status}]`);
}

/** The text of the stage's prompt. */
export function shownPrompt(page: Page, prompt: string) {
  return page.locator('[data-stage]').getByText(prompt, { exact: true });
}
