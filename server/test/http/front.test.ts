/** The front door: what a stranger sees, and what the operator says there. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createSandbox } from '../../src/upstreams/sandbox/sandbox.ts';
import type { Service } from '../kit/service.ts';
import { originOf, startWebService } from '../kit/web.ts';

const dir = mkdtempSync(join(tmpdir(), 'farebox-front-'));
let service: Service;
before(async () => {
  const catalog = new URL('../../../catalog/sandbox.yaml', import.meta.url);
  service = await startWebService({
    upstreams: [createSandbox({ dir, speed: Infinity })],
    catalog: await readFile(catalog, 'utf8'),
    env: {
      FAREBOX_SIGN_UP: 'open',
      FAREBOX_SITE_NAME: 'Harbour <Lab>',
      FAREBOX_SITE_LINE: 'Pictures & films',
      FAREBOX_SITE_LINKS:
        'Terms=https://harbour.example/terms, Privacy=https://harbour.example/p?a=1',
      FAREBOX_SITE_ROBOTS: 'off',
    },
  });
});
after(async () => {
  await service.stop();
  rmSync(dir, { recursive: true, force: true });
});

const read = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${originOf(service)}${path}`, { headers, redirect: 'manual' });
const textOf = async (path: string) => (await read(path)).text();

describe('a stranger', () => {
  test('reads at / what the service is, in the words of its operator', async () => {
    const html = await textOf('/');
    for (const part of [
      '<title>Harbour &lt;Lab&gt;</title>',
      '<h1>Pictures &amp; films</h1>',
      '<a href="https://harbour.example/terms">Terms</a>',
      '<a href="https://harbour.example/p?a=1">Privacy</a>',
      '<meta property="og:site_name" content="Harbour &lt;Lab&gt;">',
    ])
      assert.ok(html.includes(part), part);
    assert.doesNotMatch(html, /<script|Farebox/);
  });

  for (const path of ['/', '/models', '/models/sandbox/canvas/text-to-image', '/docs'])
    test(`can sign in and create an account from ${path}`, async () => {
      const html = await textOf(path);
      assert.match(html, /href="\/sign-in"/);
      assert.match(html, /href="\/sign-up"/);
    });

  test('comes from a model to its form, by way of signing in', async () => {
    const html = await textOf('/models/sandbox/canvas/text-to-image');
    assert.ok(html.includes('href="/studio/sandbox/canvas/text-to-image">Try it</a>'));
  });
});

describe('a Russian stranger', () => {
  const paths = ['/', '/models', '/models/sandbox/canvas/text-to-image', '/models/sandbox/chat'];
  for (const path of paths)
    test(`reads ${path} in Russian, a link away`, async () => {
      const own = path === '/' ? '/ru' : `/ru${path}`;
      const english = await textOf(path);
      assert.ok(english.includes(`<a href="${own}" hreflang="ru" lang="ru">Русский</a>`));
      const html = await textOf(own);
      assert.match(html, /^<!doctype html>\n<html lang="ru">/);
      assert.ok(html.includes(`<a href="${path}" hreflang="en" lang="en">English</a>`));
      const { origin } = new URL(originOf(service));
      for (const [language, address] of Object.entries({ en: path, ru: own })) {
        const alternate = `hreflang="${language}" href="${origin}${address}"`;
        assert.ok(english.includes(alternate) && html.includes(alternate), alternate);
      }
      assert.ok(html.includes(`rel="canonical" href="${origin}${own}"`));
      // The frame, the promise and the heads of tables; a catalog's own words stay as they are.
      const frame = 'Sign in|Create account|Search|Dashboard|Skip to|nothing\\.|Price|Default|All';
      assert.doesNotMatch(html, new RegExp(`>(?:${frame})<`));
    });

  test('stays in Russian on the way from the front to a model', async () => {
    const front = await textOf('/ru');
    assert.ok(front.includes('class="card" href="/ru/models/sandbox/canvas/text-to-image"'));
    assert.ok(front.includes('<form action="/ru/models"'));
    const list = await textOf('/ru/models?kind=image&q=upscale');
    assert.ok(list.includes('href="/ru/models?q=upscale"'));
  });

  test('gets no page for what has none', async () => {
    for (const path of ['/ru/models/none', '/ru/nope', '/russia'])
      assert.equal((await read(path)).status, 404, path);
  });
});

test('the site map has the pages of both languages', async () => {
  const lines = (await textOf('/sitemap.txt')).split('\n');
  for (const path of ['/', '/ru', '/models', '/ru/models', '/ru/models/sandbox/chat', '/docs'])
    assert.ok(lines.includes(originOf(service) + path), path);
});

describe('a browser that has signed in', () => {
  test('gets the app at /, and public pages that offer no sign-in and are not shared', async () => {
    const cookie = 'farebox.session_token=known';
    const app = await read('/', { cookie });
    assert.match(await app.text(), /id="root"/);
    const page = await read('/models', { cookie });
    assert.doesNotMatch(await page.text(), /href="\/sign-in"/);
    assert.equal(page.headers.get('cache-control'), 'private, no-cache');
    assert.match(page.headers.get('vary')!, /cookie/i);
  });
});

describe('the models', () => {
  const shown = async (path: string) =>
    [...(await textOf(path)).matchAll(/class="card" href="\/models\/([^"]+)"/g)].map(
      ([, id]) => id,
    );

  test('are found by all words of a search, in any letters', async () => {
    const ids = await shown('/models?q=CANVAS%20upscale');
    assert.deepEqual(ids, ['sandbox/canvas/upscale']);
    assert.deepEqual(await shown('/models?q=xyzzy'), []);
    assert.match(await textOf('/models?q=xyzzy'), /No model fits/);
  });

  test('are shown by kind, and an unknown kind shows all', async () => {
    const text = await shown('/models?kind=text');
    assert.deepEqual(text, ['sandbox/chat', 'sandbox/chat/large']);
    assert.equal((await shown('/models?kind=constructor')).length, (await shown('/models')).length);
  });

  test('have a sample that is a picture without code, where one can be made', async () => {
    const reply = await read('/models/sandbox/canvas/text-to-image/sample.svg');
    assert.equal(reply.headers.get('content-type'), 'image/svg+xml; charset=utf-8');
    assert.equal(reply.headers.get('content-security-policy'), "default-src 'none'");
    assert.equal(reply.headers.get('content-encoding'), 'gzip');
    assert.match(await reply.text(), /^<svg /);
    for (const path of ['/models/sandbox/chat/sample.svg', '/models/nothing/sample.svg'])
      assert.equal((await read(path)).status, 404, path);
  });
});

test('search engines are kept out where the operator says so', async () => {
  assert.match(await textOf('/robots.txt'), /^User-agent: \*\nDisallow: \/\n/);
});
