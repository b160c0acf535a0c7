/** Goes to every page and says what is wrong with it, in each window, scheme and language. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import {
  barriers,
  colours,
  drawn,
  everything,
  picture,
  takesPictures,
  visitor,
} from '../browser.ts';
import { until } from '../../../server/test/kit/until.ts';
import type { Look, Visitor } from './look.ts';
import { come, load, type World } from './world.ts';

export const widths = { phone: 390, tablet: 820, laptop: 1280, desk: 1920 } as const;
export type Width = keyof typeof widths;
const heights = { phone: 844, tablet: 1180, laptop: 800, desk: 1080 };
const languages = ['en', 'ru'] as const;
type Language = (typeof languages)[number];
/** A page may move by this much while it loads. */
const shiftMax = 0.02;
/** Far longer than a page takes to draw itself for another window. */
const redrawMaxMs = 1_500;

const inPage = readFileSync(join(import.meta.dirname, 'in-page.js'), 'utf8');

/** Runs in the page before its own scripts. */
const watchShift = `
  globalThis.shift = { by: 0, moved: [] };
  new PerformanceObserver((list) => {
    // Also what moves after recent input: that is the sign-in, or the new size of the window.
    for (const { value, sources } of list.getEntries()) {
      shift.by += value;
      for (const { node, previousRect: from, currentRect: to } of sources) {
        const name = (node?.textContent ?? '').trim().slice(0, 30) || node?.nodeName;
        shift.moved.push(\`\${name} \${from.x},\${from.y} to \${to.x},\${to.y}\`);
      }
    }
  }).observe({ type: 'layout-shift', buffered: true });`;

export interface WalkSetup {
  browser: Browser;
  world: World;
  looks: Look[];
  /** True: each page is looked at in one language, by turns, and only loaded in the other one. */
  byTurns?: boolean;
  /** The windows in which each page is looked at; the first one is that in which it loads. */
  windows?: readonly Width[];
}

/** The faults of the pages that this visitor sees, one a line. */
export async function walk(who: Visitor, walked: WalkSetup): Promise<string[]> {
  // Side by side, because pages wait half of the time.
  const [english, russian] = await Promise.all(
    languages.map((language) => walkIn(language, who, walked)),
  );
  const left = [...russian!.words].flatMap(([name, said]) => {
    const same = [...untranslated(said, new Set(english!.words.get(name)), russian!.replies)];
    return same.map((text) => `${name} ru: ${text}`);
  });
  return [...english!.found, ...russian!.found, ...left];
}

/** The faults of the pages in one language, the texts of each page, and all answers to calls. */
async function walkIn(language: Language, who: Visitor, walked: WalkSetup) {
  const found: string[] = [];
  const words = new Map<string, string[]>();
  const windows = windowsOf(walked, language);
  const viewport = size(windows[0]!);
  const { page, context, faults } = await visitor(walked.browser, { viewport, language });
  await page.addInitScript(watchShift);
  const replies = collectReplies(page);
  await come(page, walked.world, who);
  for (const [n, look] of walked.looks.entries()) {
    if (look.who !== who || (look.only ?? language) !== language) continue;
    const say = (what: string) => found.push(`${look.name} ${language}: ${what}`);
    faults.length = 0;
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: 'light' });
    try {
      await load(page, walked.world, look);
      const { by, moved } = await page.evaluate<{ by: number; moved: string[] }>('shift');
      if (by > shiftMax) say(`moved by ${by.toFixed(3)}: ${moved.join(', ')}`);
      await look.first?.(page);
      await page.evaluate(inPage);
      const isTurn = look.only !== undefined || languages[n % languages.length] === language;
      if (isTurn || !walked.byTurns) await lookAt(page, `${look.name}-${language}`, windows, say);
      words.set(look.name, await page.evaluate<string[]>('seen.words()'));
    } catch (error) {
      say(String(error));
    }
    const isExpected = (fault: string) => look.fails && /status of 5\d\d/.test(fault);
    for (const fault of faults) if (!isExpected(fault)) say(`on the console: ${fault}`);
    // Its calls would fail beside the next page.
    if (look.fails) await page.goto('about:blank');
  }
  await context.close();
  return { found, words, replies };
}

/**
 * English pages load in the widest window, Russian ones on a phone, so that both are seen to stand
 * still.
 */
function windowsOf({ windows }: WalkSetup, language: Language): readonly Width[] {
  const every = windows ?? (Object.keys(widths) as Width[]);
  return language === 'ru' ? every : every.toReversed();
}

function size(width: Width) {
  return { width: widths[width], height: heights[width] };
}

/**
 * Looks at the page as it is now. Places differ by window, colours by scheme; what axe finds is the
 * same in both windows of one kind, so it looks in the first: the widest and the narrowest.
 */
async function lookAt(
  page: Page,
  name: string,
  windows: readonly Width[],
  say: (what: string) => void,
) {
  for (const [n, window] of windows.entries()) {
    await page.setViewportSize(size(window));
    await page.evaluate(drawn);
    for (const fault of await lasting(page)) say(`${window}: ${fault}`);
    for (const colorScheme of ['light', 'dark'] as const) {
      if (n > 0 && !takesPictures) continue;
      await page.emulateMedia({ colorScheme });
      await page.evaluate(drawn);
      await picture(page, `${name}-${window}-${colorScheme}`);
      if (n > 0) continue;
      const rules = colorScheme === 'light' ? everything : colours;
      for (const fault of await barriers(page, rules)) say(`${window} ${colorScheme}: ${fault}`);
    }
  }
}

/** Faults that do not go away when the page has drawn itself for its window. */
async function lasting(page: Page): Promise<string[]> {
  let found: string[] = [];
  const isFine = async () => {
    found = await page.evaluate<string[]>('seen.faults()');
    return found.length === 0;
  };
  await until('the page is drawn', isFine, redrawMaxMs).catch(() => {});
  return found;
}

/** The texts of all JSON and all events that the pages have got: names, prompts, words of models. */
function collectReplies(page: Page): Set<string> {
  const texts = new Set<string>();
  page.on('response', (reply) => {
    if (!/json|event-stream/.test(reply.headers()['content-type'] ?? '')) return;
    reply.text().then(
      (text) => texts.add(text),
      () => {},
    );
  });
  return texts;
}

/** Names that are the same in both languages. */
const sameInBoth = /^(Farebox|English|Ctrl|Enter|Python|JavaScript|Node|curl)$/;

/**
 * Texts of a Russian page that are the same in English and have a word that no reply has, and texts
 * that are names of texts.
 */
export function* untranslated(said: string[], english: Set<string>, replies: Set<string>) {
  const data = [...replies].join('\n');
  const isOwn = (word: string) => !sameInBoth.test(word) && !data.includes(word);
  for (const text of said) {
    const isName = /^[a-z_]+(\.(?!json$|txt$)[a-z_]+)+$/.test(text) && !data.includes(text);
    const words = text.match(/(?<![\w@/.])[A-Za-z][a-z]{2,}(?![\w@/]|\.\w|:\/\/)/g) ?? [];
    const isSame = english.has(text) && !/[а-я]/i.test(text) && words.some(isOwn);
    if (isName || isSame) yield `not translated: ${text}`;
    if (/\{\{\w+/.test(text) && !data.includes(text)) yield `not filled in: ${text}`;
  }
}
