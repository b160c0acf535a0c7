import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import chromium from '@sparticuz/chromium';
import {
  chromium as playwright,
  errors,
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
} from 'playwright-core';
import { atEnd } from '../../server/test/kit/at-end.ts';
import { isLong } from '../../server/test/kit/long.ts';
import { until } from '../../server/test/kit/until.ts';
import { newAddress, type Person } from '../../server/test/kit/web.ts';
import { pagesDir } from '../../server/src/http/session/pages.ts';

/**
 * A real Chromium from an npm package, so nothing is installed by hand. CHROMIUM_PATH names
 * another.
 */

export const desktop = { width: 1280, height: 860 };
export const phone = { width: 390, height: 844 };
/** Window sizes for tests that need each width; the short form uses one. */
export const sizes = Object.entries(isLong ? { desktop, phone } : { desktop });
export const schemes = isLong ? (['light', 'dark'] as const) : (['light'] as const);

export interface Visitor {
  context: BrowserContext;
  page: Page;
  /** Errors on the console, and errors that the page threw. */
  faults: string[];
}

/** Why there are no pages to test, in words; null if there are. */
export function withoutBuiltPages(): string | null {
  const isBuilt = existsSync(join(pagesDir, 'index.html'));
  return isBuilt ? null : 'the web pages are not built: npm run build';
}

/** Why tests cannot use a browser here, in words; null if they can. */
export function withoutBrowser(): string | null {
  const unbuilt = withoutBuiltPages();
  if (unbuilt !== null) return unbuilt;
  const own = process.env.CHROMIUM_PATH;
  if (own !== undefined) return existsSync(own) ? null : `CHROMIUM_PATH names no file: ${own}`;
  const fits = process.platform === 'linux' && process.arch === 'x64';
  return fits ? null : 'the packaged Chromium is for Linux on x64; set CHROMIUM_PATH';
}

let opened: Promise<Browser> | undefined;

/** The browser of this process; its test files share it. */
export function openBrowser(): Promise<Browser> {
  return (opened ??= launch());
}

async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await unpacked());
  const browser = await playwright.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-quic'],
    // Without it, downloads lose names that are not ASCII.
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  atEnd(() => browser.close());
  return browser;
}

/** Far longer than unpacking takes. */
const unpackMaxMs = 60_000;

/**
 * Unpacks the browser. Test files run side by side, so the first unpacks and the others wait: a
 * half-written program cannot start.
 */
async function unpacked(): Promise<string> {
  const done = join(tmpdir(), 'chromium-unpacked');
  const mine = join(tmpdir(), 'chromium-unpacking');
  const since = await stat(mine).catch(() => null);
  // The process that began to unpack has died.
  if (since && !existsSync(done) && Date.now() - since.mtimeMs > unpackMaxMs)
    for (const path of [mine, join(tmpdir(), 'chromium')])
      await rm(path, { recursive: true, force: true });
  const first = await mkdir(mine).then(
    () => true,
    () => false,
  );
  if (!first) await until('the browser is unpacked', () => existsSync(done), unpackMaxMs);
  const path = await chromium.executablePath();
  if (first) await writeFile(done, '');
  return path;
}

let showsPage = false;

/** From now on, a wait of any page that times out also says what its page shows. */
function showPageOnTimeout(page: Page): void {
  if (showsPage) return;
  showsPage = true;
  const locators = Object.getPrototypeOf(page.locator('main')) as Locator;
  for (const name of ['waitFor', 'click', 'fill'] as const) {
    const wait = locators[name] as (...args: unknown[]) => Promise<void>;
    locators[name] = async function (this: Locator, ...args: unknown[]): Promise<void> {
      await wait.apply(this, args).catch(async (error: unknown) => {
        if (!(error instanceof errors.TimeoutError)) throw error;
        const main = this.page().locator('main').first();
        const text = await main.innerText({ timeout: 1_000 }).catch(() => 'nothing');
        throw new Error(`${error.message}\nThe page shows: ${text}`, { cause: error });
      });
    };
  }
}

export interface VisitOptions {
  viewport?: { width: number; height: number };
  scheme?: 'light' | 'dark';
  language?: 'en' | 'ru';
}

const slow = process.argv.find((each) => each.startsWith('--slow='))?.slice('--slow='.length);
const slowerMs = 300;
const slowerTimes = 5;

/** Slows the page down, to find tests that depend on whether the test or the page is quicker. */
async function slowDown(page: Page, how: string): Promise<void> {
  const context = page.context();
  if (how === 'calls') {
    await context.route(/^/, async (route) => {
      await setTimeout(slowerMs);
      await route.fallback();
    });
  } else if (how === 'cpu') {
    const devtools = await context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowerTimes });
  } else {
    await page.addInitScript(`{
      const late = setTimeout;
      window.setTimeout = (what, ms = 0, ...args) => late(what, ms + ${slowerMs}, ...args);
    }`);
  }
}

/** A new browser profile with one page. */
export async function visitor(browser: Browser, options: VisitOptions = {}): Promise<Visitor> {
  const { viewport = desktop, scheme = 'light', language = 'en' } = options;
  const context = await browser.newContext({
    viewport,
    colorScheme: scheme,
    locale: language === 'ru' ? 'ru-RU' : 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    isMobile: viewport.width < 600,
    hasTouch: viewport.width < 600,
    extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
  });
  // Far longer than any step takes, because other processes may keep the cores busy.
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  showPageOnTimeout(page);
  if (slow) await slowDown(page, slow);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // Refusals by the service are part of the test, not faults of the page.
    const isRefusal = /the server responded with a status of 4\d\d/.test(message.text());
    if (message.type() === 'error' && !isRefusal) faults.push(message.text());
  });
  return { context, page, faults };
}

/** Like `visitor`, with the cookies of a person who has signed in; opens no page. */
export async function enter(
  browser: Browser,
  base: string,
  { cookies }: Person,
  options: VisitOptions = {},
): Promise<Visitor> {
  const come = await visitor(browser, options);
  await come.context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: base })));
  return come;
}

export async function signIn(page: Page, base: string, email: string, password: string) {
  await page.goto(`${base}/sign-in`);
  // Labels differ by language, so the selectors use types.
  await page.locator('input[type=email]').fill(email);
  await page.locator('input[autocomplete=current-password]').fill(password);
  await page.locator('button[type=submit]').click();
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'));
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
let axe: string | undefined;

/** Without transitions: a colour that fades in would be measured half-way. */
const stillness = `{
  const still = new CSSStyleSheet();
  still.replaceSync('*, *::before, *::after { transition: none !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
}`;

interface Violation {
  id: string;
  help: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** All of WCAG 2.2 AA, and axe's best practices. */
export const everything = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};
/** The rules that depend on the colour scheme. */
export const colours = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/** Accessibility violations of this page, in words; empty if there are none. */
export async function barriers(page: Page, runOnly = everything): Promise<string[]> {
  axe ??= await readFile(axePath, 'utf8');
  // While one page replaces another, there is no heading and nothing to check.
  await page.locator('h1').first().waitFor();
  // Through `evaluate`, because the page's own policy would refuse the script.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(`${axe}; ${stillness}`);
  const violations = await page.evaluate(async (rules) => {
    const { axe: run, document } = globalThis as unknown as {
      axe: { run: (node: unknown, options: object) => Promise<{ violations: Violation[] }> };
      document: unknown;
    };
    // The rest would be listed node by node.
    const found = await run.run(document, { runOnly: rules, resultTypes: ['violations'] });
    return found.violations;
  }, runOnly);
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) =>
        `${id}: ${help} (${target.join(' ')}) ${failureSummary ?? ''}`,
    ),
  );
}

/**
 * The number of pixels by which the page is wider than its window; on a phone `innerWidth` grows
 * with it.
 */
export async function overflowOf(page: Page): Promise<number> {
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
  return wide - page.viewportSize()!.width;
}

/** Resolves when all changes are drawn. */
export const drawn =
  'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

export function isFocused(what: Locator): Promise<boolean> {
  return what.evaluate((node: { matches(css: string): boolean }) => node.matches(':focus'));
}

/** Chooses from a menu by keyboard only: the open menu takes the focus, then arrows move it. */
export async function chooseWithKeys(button: Locator, name: string): Promise<void> {
  const page = button.page();
  await button.press('Enter');
  const first = page.getByRole('menuitem').first();
  await until('the menu has the focus', () => isFocused(first));
  const item = page.getByRole('menuitem', { name });
  await until(`the focus is on ${name}`, async () => {
    await page.keyboard.press('ArrowDown');
    return isFocused(item);
  });
  await page.keyboard.press('Enter');
}

/**
 * Asserts that the page has no accessibility violations, in light and in dark, and is no wider than
 * its window.
 */
export async function assertClear(page: Page, name: string): Promise<void> {
  assert.ok((await overflowOf(page)) <= 0, `${name} is wider than its window`);
  const isDark = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches');
  // Ends with the page's own scheme, so that the test continues unchanged.
  const schemes = isDark ? (['light', 'dark'] as const) : (['dark', 'light'] as const);
  for (const [n, colorScheme] of schemes.entries()) {
    await page.emulateMedia({ colorScheme });
    const html = page.locator(`html[data-mantine-color-scheme=${colorScheme}]`);
    await html.waitFor({ state: 'attached' });
    const found = await barriers(page, n === 0 ? everything : colours);
    assert.deepEqual(found, [], `${name} in ${colorScheme}`);
    await picture(page, `${name}-${colorScheme}`);
  }
}

const pictures = process.env.WEB_PICTURES;
export const takesPictures = pictures !== undefined;

/** Saves a screenshot if WEB_PICTURES names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!pictures) return;
  await mkdir(pictures, { recursive: true });
  // Otherwise elements fixed to the window appear in the middle of the page.
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}
