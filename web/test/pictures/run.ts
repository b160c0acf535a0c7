/**
 * `npm run pictures [-- TEXT …]`: screenshots of every page of the web side, light and dark, at
 * desktop and phone width, with a trial's account that has data; stored under docs/pictures/. With
 * TEXT only pages whose name contains one of them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Browser } from 'playwright-core';
import { desktop, openBrowser, phone, visitor, withoutBrowser } from '../browser.ts';
import { visitorNames } from '../walk/look.ts';
import { looks } from '../walk/pages.ts';
import { come, open, openWorld, type World } from '../walk/world.ts';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'docs/pictures');
/** Time for fetches and animations that continue after a page seems ready. */
const settleMs = 1_200;
/** Parts of the names of the pages to take; none: all. */
const wanted = process.argv.slice(2);
const isWanted = (name: string) =>
  wanted.length === 0 || wanted.some((part) => name.includes(part));

const missing = withoutBrowser();
if (missing !== null) throw new Error(missing);
const stops: (() => Promise<void>)[] = [];
const browser = await openBrowser();
try {
  mkdirSync(folder, { recursive: true });
  const cleaned = { after: (stop: () => Promise<void>) => void stops.push(stop) };
  const world = await openWorld(cleaned, { PORT: '8080', FAREBOX_SANDBOX_SPEED: '4' });
  for (const [size, viewport] of Object.entries({ desktop, phone })) {
    for (const scheme of ['light', 'dark'] as const) {
      await takeAll(browser, world, { size, viewport, scheme });
    }
  }
  writeFileSync(join(root, 'docs/pictures.md'), page());
} finally {
  await browser.close();
  for (const stop of stops.toReversed()) await stop();
}

/** The text of docs/pictures.md: a row of screenshots a page. */
function page(): string {
  const kinds = ['desktop-light', 'desktop-dark', 'phone-light', 'phone-dark'];
  const rows = looks.map(({ name }) => {
    const shown = kinds.map((kind) => `![${name}](pictures/${name}-${kind}.webp)`);
    return `| ${name} | ${shown.join(' | ')} |`;
  });
  return [
    '# The web pages',
    '',
    'Every page of a trial, taken by `npm run pictures`.',
    '',
    '| page | desktop, light | desktop, dark | phone, light | phone, dark |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

interface Manner {
  size: string;
  viewport: { width: number; height: number };
  scheme: 'light' | 'dark';
}

async function takeAll(from: Browser, world: World, { size, viewport, scheme }: Manner) {
  for (const who of visitorNames) {
    const seen = looks.filter((each) => each.who === who && isWanted(each.name));
    if (seen.length === 0) continue;
    const { page, context, faults } = await visitor(from, { viewport, scheme });
    await come(page, world, who);
    for (const look of seen) {
      await open(page, world, look);
      await page.waitForTimeout(settleMs);
      const file = join(folder, `${look.name}-${size}-${scheme}.webp`);
      await sharp(await page.screenshot())
        .webp({ quality: 72 })
        .toFile(file);
      console.log(file.slice(root.length + 1));
      if (faults.length > 0 && !look.fails) throw new Error(faults.join('\n'));
      faults.length = 0;
    }
    await context.close();
  }
}
