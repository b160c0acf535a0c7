/** A trial whose accounts have been used for a while, and visits of its pages. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { placeFor } from '../../../server/test/commands/cli.ts';
import type { Cleanup } from '../../../server/test/db/embedded-kit.ts';
import { drawn, signIn } from '../browser.ts';
import { password, seed, type Life, type Trial } from './life.ts';
import { visitors, type Look, type Visitor } from './look.ts';

/** The number of the calls that fail. */
const request_id = '01900000-0000-7000-8000-00000000feed';

export interface World {
  trial: Trial;
  life: Life;
}

/** Starts a trial that strangers may sign up at; it ends with the test. */
export async function startTrial(t: Cleanup, env: Record<string, string> = {}): Promise<Trial> {
  const place = placeFor(t, {
    FAREBOX_CATALOG: join(import.meta.dirname, '../../../catalog'),
    FAREBOX_SIGN_UP: 'open',
    // Each visitor has an address of their own, which may sign in only so often.
    FAREBOX_TRUSTED_PROXIES: '1',
    FAREBOX_LEGAL_NAME: 'Harbour Media Ltd',
    FAREBOX_RECEIPT_TEXT: 'Harbour Street 1, London\nCompany 0123456',
    ...env,
  });
  return (await place.start(['trial'])).said as Trial;
}

/** A trial with data. */
export async function openWorld(t: Cleanup, env: Record<string, string> = {}): Promise<World> {
  const trial = await startTrial(t, env);
  return { trial, life: await seed(trial) };
}

/** Signs in, unless nobody is to look. */
export async function come(page: Page, { trial }: World, who: Visitor): Promise<void> {
  await page.addInitScript(holdData);
  const email = visitors[who];
  if (email === null) return;
  const isSeeded = email.endsWith('@farebox.local');
  await signIn(page, trial.web.url, email, isSeeded ? trial.web.password : password);
}

/** The calls whose answers fill a page; without `me` there is no page yet. */
const dataCalls = /\/api\/(?!me$)(?!.*\/events)|\/v1\/models$/;

/**
 * Keeps each answer back until the page has drawn itself without it, so that it must not move. Runs
 * in the page, where the browser still keeps its files, unlike with a route.
 */
const holdData = `{
  const ask = fetch;
  globalThis.fetch = async (...call) => {
    if (${dataCalls}.test(call[0].url ?? call[0])) await ${drawn};
    return ask(...call);
  };
}`;

/** Opens the page as it is to be looked at: loaded, with its dialog. */
export async function open(page: Page, world: World, look: Look): Promise<void> {
  await load(page, world, look);
  await look.first?.(page);
}

/** Loads the page with all its data. */
export async function load(page: Page, { trial, life }: World, look: Look): Promise<void> {
  const { path, fails } = look;
  await page.unrouteAll();
  if (fails)
    await page.route(fails, (route) =>
      route.fulfill({
        status: 500,
        json: { error: { code: 'internal_error', message: 'The service has failed.', request_id } },
      }),
    );
  await page.goto(`${trial.web.url}${typeof path === 'string' ? path : path(life)}`);
  await page.locator('h1').first().waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}
