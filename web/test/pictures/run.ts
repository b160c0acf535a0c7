/**
 * `npm run pictures [-- TEXT …]`: screenshots of every page of the web side, light and dark, at
 * desktop and phone width, with a trial's account that has data; stored under docs/pictures/. With
 * TEXT only pages whose name contains one of them.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Browser, Page } from 'playwright-core';
import { desktop, openBrowser, phone, signIn, visitor, withoutBrowser } from '../browser.ts';
import { seed, type Life, type Trial } from './life.ts';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'docs/pictures');
/** Time for fetches and animations that continue after a page seems ready. */
const settleMs = 1_200;
/** Parts of the names of the pages to take; none: all. */
const wanted = process.argv.slice(2);

interface Look {
  name: string;
  path: string | ((life: Life) => string);
  who: 'nobody' | 'demo@farebox.local' | 'operator@farebox.local';
  /** Actions before the screenshot. */
  first?: (page: Page) => Promise<void>;
}

const demo = 'demo@farebox.local' as const;
const operator = 'operator@farebox.local' as const;

const looks: Look[] = [
  { name: 'sign-in', path: '/sign-in', who: 'nobody' },
  { name: 'sign-up', path: '/sign-up', who: 'nobody' },
  { name: 'forgot', path: '/forgot', who: 'nobody' },
  { name: 'reset', path: '/reset?token=shown', who: 'nobody' },
  { name: 'two-factor', path: '/two-factor', who: 'nobody' },
  { name: 'email', path: '/email?token=shown', who: 'nobody' },
  { name: 'invitation', path: (life) => life.invitation, who: 'nobody' },
  { name: 'nowhere', path: '/no/such/page', who: 'nobody' },
  { name: 'overview', path: '/dashboard', who: demo },
  { name: 'keys', path: '/dashboard/keys', who: demo },
  { name: 'requests', path: '/dashboard/requests', who: demo },
  { name: 'request', path: (life) => `/dashboard/requests/${life.image}`, who: demo },
  { name: 'request-failed', path: (life) => `/dashboard/requests/${life.failed}`, who: demo },
  { name: 'money', path: '/dashboard/money', who: demo },
  { name: 'top-up', path: '/dashboard/money/top-up', who: demo },
  {
    name: 'receipt',
    path: (life) => `/dashboard/money/receipts/${life.transfer_id}`,
    who: demo,
  },
  { name: 'alerts', path: '/dashboard/money/alerts', who: demo },
  { name: 'webhooks', path: '/dashboard/webhooks', who: demo },
  { name: 'team', path: '/dashboard/team', who: demo },
  { name: 'docs', path: '/dashboard/docs', who: demo },
  { name: 'settings', path: '/dashboard/settings', who: demo },
  { name: 'studio', path: '/studio', who: demo },
  {
    name: 'model',
    path: (life) => `/studio/sandbox/canvas/text-to-image?from=${life.image}`,
    who: demo,
  },
  { name: 'chat', path: '/studio/chat', who: demo },
  {
    name: 'palette',
    path: '/dashboard',
    who: demo,
    first: (page) => page.keyboard.press('Control+k'),
  },
  { name: 'operator', path: '/operator', who: operator },
  { name: 'accounts', path: '/operator/accounts', who: operator },
  { name: 'account', path: (life) => `/operator/accounts/${life.account_id}`, who: operator },
  { name: 'catalog', path: '/operator/catalog', who: operator },
  {
    name: 'catalog-row',
    path: '/operator/catalog/row/sandbox/canvas/text-to-image',
    who: operator,
  },
  { name: 'operator-request', path: (life) => `/operator/requests/${life.failed}`, who: operator },
  { name: 'upstreams', path: '/operator/upstreams', who: operator },
  { name: 'queue', path: '/operator/queue', who: operator },
  { name: 'unknown', path: '/operator/unknown', who: operator },
  { name: 'chains', path: '/operator/chains', who: operator },
  { name: 'deposits', path: '/operator/deposits?state=all', who: operator },
  { name: 'vouchers', path: '/operator/vouchers', who: operator },
  { name: 'invitations', path: '/operator/invitations', who: operator },
  { name: 'operator-keys', path: '/operator/keys', who: operator },
  { name: 'log', path: '/operator/log', who: operator },
];

const missing = withoutBrowser();
if (missing !== null) throw new Error(missing);
const dir = mkdtempSync(join(tmpdir(), 'farebox-pictures-'));
chmodSync(dir, 0o711);
const { trial, stop } = await startTrial();
const browser = await openBrowser();
try {
  mkdirSync(folder, { recursive: true });
  const life = await seed(trial);
  for (const [size, viewport] of Object.entries({ desktop, phone })) {
    for (const scheme of ['light', 'dark'] as const) {
      await takeAll(browser, life, { size, viewport, scheme });
    }
  }
  writeFileSync(join(root, 'docs/pictures.md'), page());
} finally {
  await browser.close();
  await stop();
  rmSync(dir, { recursive: true, force: true });
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

async function takeAll(from: Browser, life: Life, { size, viewport, scheme }: Manner) {
  for (const who of ['nobody', demo, operator] as const) {
    const { page, context, faults } = await visitor(from, { viewport, scheme });
    if (who !== 'nobody') await signIn(page, trial.web.url, who, trial.web.password);
    for (const { name, path, first } of looks.filter((look) => look.who === who)) {
      if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
      await page.goto(`${trial.web.url}${typeof path === 'string' ? path : path(life)}`);
      await page.locator('h1').first().waitFor();
      await first?.(page);
      await page.waitForTimeout(settleMs);
      const file = join(folder, `${name}-${size}-${scheme}.webp`);
      await sharp(await page.screenshot())
        .webp({ quality: 72 })
        .toFile(file);
      console.log(file.slice(root.length + 1));
    }
    if (faults.length > 0) throw new Error(faults.join('\n'));
    await context.close();
  }
}

async function startTrial(): Promise<{ trial: Trial; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, [join(root, 'server/src/main.ts'), 'trial', '--json'], {
    env: {
      PATH: process.env.PATH,
      PORT: '8080',
      FAREBOX_DATA_DIR: join(dir, 'data'),
      FAREBOX_SANDBOX_SPEED: '4',
      FAREBOX_LEGAL_NAME: 'Harbour Media Ltd',
      FAREBOX_RECEIPT_TEXT: 'Harbour Street 1, London\nCompany 0123456',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const shown = await new Promise<Trial>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) resolve(JSON.parse(text) as Trial);
    });
    child.once('exit', (code) => reject(new Error(`the trial ended with ${code}`)));
  });
  const ended = async () => {
    await new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill('SIGTERM');
    });
  };
  return { trial: shown, stop: ended };
}
