import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Cookie, Page } from 'playwright-core';
import { openBrowser, signIn, visitor, withoutBrowser } from '../web/test/browser.ts';
import { round } from './calls.ts';
import type { Question, Row } from './run.ts';
import { nodeFlags } from './service.ts';

const main = join(import.meta.dirname, '../server/src/main.ts');
const demo = 'demo@farebox.local';
const operator = 'operator@farebox.local';
/** Slow 4G, as browsers' tools define it: 150 ms, and 1.6 Mbit/s down. */
const slow4g = {
  offline: false,
  latency: 150,
  downloadThroughput: 200_000,
  uploadThroughput: 93_750,
};
/** A cheap phone beside a desktop. */
const cpuTimes = 4;
/** Time for a page's further requests and layout shifts after its largest part is shown. */
const settleMs = 3_000;

const question: Question = {
  asks: 'what does the first look at a page cost on a slow phone, in bytes and in time, with nothing in the cache?',
  async measure(_bench, { rounds }) {
    const missing = withoutBrowser();
    if (missing !== null) throw new Error(missing);
    const service = await startTrial();
    const browser = await openBrowser();
    try {
      const looks = [
        // The reference: an empty page from the same server.
        ['an empty answer', '/livez', null],
        ['public front', '/', null],
        ['public models', '/models', null],
        ['sign-in', '/sign-in', null],
        ['overview', '/dashboard', demo],
        ['studio', '/studio', demo],
        ['chat', '/studio/chat', demo],
        ['console', '/operator', operator],
      ] as const;
      // Each signs in once, because the service slows down who signs in often.
      const cookies = {
        [demo]: await cookiesOf(browser, service, demo),
        [operator]: await cookiesOf(browser, service, operator),
      };
      const rows: Row[] = [];
      for (const [what, path, who] of looks) {
        const kept = who === null ? [] : cookies[who];
        rows.push(await medianOf(rounds, what, () => look(browser, `${service.url}${path}`, kept)));
      }
      return rows;
    } finally {
      await browser.close();
      await service.stop();
    }
  },
};
export default question;

interface Trial {
  url: string;
  password: string;
  stop(): Promise<void>;
}

async function startTrial(): Promise<Trial> {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-first-look-'));
  chmodSync(dir, 0o711);
  const child = spawn(process.execPath, [...nodeFlags, main, 'trial', '--json'], {
    env: { PATH: process.env.PATH, PORT: '0', FAREBOX_DATA_DIR: join(dir, 'data') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const shown = await new Promise<{ web: { url: string; password: string } }>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) resolve(JSON.parse(text));
    });
    child.once('exit', (code) => reject(new Error(`the trial ended with ${code}`)));
  });
  return {
    ...shown.web,
    async stop() {
      await new Promise((resolve) => {
        child.once('exit', resolve);
        child.kill('SIGTERM');
      });
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function cookiesOf(browser: Browser, { url, password }: Trial, email: string) {
  const { context, page } = await visitor(browser);
  await signIn(page, url, email, password);
  const cookies = await context.cookies();
  await context.close();
  return cookies;
}

/** Visits a page in a fresh browser profile; the browser measures the visit. */
async function look(browser: Browser, url: string, cookies: Cookie[]) {
  const { context, page } = await visitor(browser);
  await context.addCookies(cookies);
  const bytes = await countBytes(page);
  await page.addInitScript(watchPaint);
  await page.goto(url, { waitUntil: 'load' });
  await page.waitForTimeout(settleMs);
  const seen = (await page.evaluate('globalThis.seen')) as {
    lcp: number;
    cls: number;
    fcp: number;
  };
  await context.close();
  return {
    requests: bytes.requests,
    'JS KB': round(bytes.Script / 1024),
    'CSS KB': round(bytes.Stylesheet / 1024),
    'font KB': round(bytes.Font / 1024),
    'first paint ms': round(seen.fcp),
    'largest paint ms': round(seen.lcp),
    'layout shift': Math.round(seen.cls * 1000) / 1000,
  };
}

/** Counts the transferred (compressed) bytes by type, and slows the page down. */
async function countBytes(page: Page) {
  const bytes = { Script: 0, Stylesheet: 0, Font: 0, requests: 0 };
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await session.send('Network.emulateNetworkConditions', slow4g);
  await session.send('Emulation.setCPUThrottlingRate', { rate: cpuTimes });
  const types = new Map<string, string>();
  session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const type = types.get(requestId);
    if (type !== 'Image') bytes.requests++;
    if (type === 'Script' || type === 'Stylesheet' || type === 'Font')
      bytes[type] += encodedDataLength;
  });
  return bytes;
}

/** Runs in the page before its own scripts. */
const watchPaint = `
  globalThis.seen = { lcp: 0, cls: 0, fcp: 0 };
  const watch = (type, note) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
  watch('largest-contentful-paint', (entry) => { seen.lcp = entry.startTime; });
  watch('paint', (entry) => { if (entry.name === 'first-contentful-paint') seen.fcp = entry.startTime; });
  watch('layout-shift', (entry) => { if (!entry.hadRecentInput) seen.cls += entry.value; });
`;

async function medianOf(
  rounds: number,
  what: string,
  measure: () => Promise<Record<string, number>>,
): Promise<Row> {
  const looks: Record<string, number>[] = [];
  for (let i = 0; i < rounds; i++) looks.push(await measure());
  const names = Object.keys(looks[0]!);
  const middle = (name: string) =>
    looks.map((each) => each[name]!).toSorted((a, b) => a - b)[Math.floor(looks.length / 2)]!;
  return { what, ...Object.fromEntries(names.map((name) => [name, middle(name)])) };
}
