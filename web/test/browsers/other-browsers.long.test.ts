/** From sign-in to a picture, and the console, in the browsers of other makers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../server/test/kit/until.ts';
import { withoutBuiltPages } from '../browser.ts';
import { openWorld, type World } from '../walk/world.ts';
import { handOf, type Hand } from './hand.ts';
import { firefox, webkit } from './programs.ts';

const seen = readFileSync(join(import.meta.dirname, '../walk/in-page.js'), 'utf8');
const window = { width: 1280, height: 860 };

for (const [name, program] of Object.entries({ firefox, webkit })) {
  const skip = withoutBuiltPages() ?? program.missing ?? false;
  test(`the pages work in ${name}`, { skip }, async (t) => {
    const hand = handOf(await program.start(t, window));
    const world = await openWorld(t);
    const look = (page: string) => lookAt(hand, `${name}-${page}`);
    await signIn(hand, world, 'demo', look);
    await look('overview');
    await makePicture(hand, world, look);
    await hand.open(`${world.trial.web.url}/studio/library`);
    await hand.see('main img[src*="/output/"]');
    await look('library');
    await hand.open(`${world.trial.web.url}/studio/chat`);
    await hand.type('textarea[aria-label="Write a message"]', 'Say hello');
    await hand.press('main button[aria-label=Send]:not([disabled])');
    await hand.see('article [data-cost]');
    await look('chat');
    await hand.forget();
    await signIn(hand, world, 'operator');
    await hand.see('main h2');
    await look('console');
    await hand.open(`${world.trial.web.url}/operator/requests`);
    await hand.see('main a[href^="/operator/requests/0"]');
    await look('console-requests');
  });
}

type LookAt = (page: string) => Promise<void>;

async function signIn(hand: Hand, { trial }: World, name: string, look?: LookAt): Promise<void> {
  await hand.open(`${trial.web.url}/sign-in`);
  await hand.see('input[type=email]');
  await look?.('sign-in');
  await hand.type('input[type=email]', `${name}@farebox.local`);
  await hand.type('input[autocomplete=current-password]', trial.web.password);
  await hand.press('button[type=submit]');
  await hand.see('header a[href="/dashboard/money"], a[href="/operator/accounts"]');
}

/** Its price is shown, the run ends, and the picture is drawn. */
async function makePicture(hand: Hand, { trial }: World, look: LookAt): Promise<void> {
  await hand.open(`${trial.web.url}/studio/sandbox/canvas/text-to-image`);
  await hand.type('main textarea', 'a heron at the harbour');
  await hand.see('[data-price][data-fresh]');
  await look('studio-form');
  await hand.press('button[aria-keyshortcuts="Control+Enter"]');
  await hand.see('[data-stage][data-status=COMPLETED]');
  // Not one of the small ones of the strip.
  const isDrawn = `return [...document.querySelectorAll('[data-stage] img[src*="/output/"]')]
    .some(({ src, complete, naturalWidth }) =>
      !src.includes('size=') && complete && naturalWidth > 0);`;
  await until('the picture is drawn', () => hand.ask(isDrawn));
  await look('studio');
}

/** Nothing is cut off, over each other or wider than the window. */
async function lookAt(hand: Hand, name: string): Promise<void> {
  let found: unknown;
  const isFine = async () => {
    const isBusy = `return document.querySelector('[aria-busy=true], .mantine-Skeleton-root') !== null`;
    if (await hand.ask(isBusy)) return false;
    found = await hand.ask(`${seen}; return seen.faults();`);
    return Array.isArray(found) && found.length === 0;
  };
  await until('the page is drawn', isFine, 10_000).catch(() => {});
  await hand.picture(name);
  assert.deepEqual(found, [], name);
}
