/** The public pages: anyone can read them, and all their links work. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { originOf, withWebService } from '../kit/web.ts';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog } from '../kit/service.ts';

/** A name, an example and a schema with characters that HTML or a shell would misread. */
const catalog = fakeCatalog
  .replace('example: { prompt: a cat }', `example: { prompt: "a cat's <b>tail</b>" }`)
  .replace('name: Fake image', 'name: "Fake <image>"');

const { service } = withWebService({ catalog });

const read = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${service.base}${path}`, { method, headers, redirect: 'manual' });
const textOf = async (path: string) => (await read(path)).text();

const pages: [path: string, title: string][] = [
  ['/', 'Every picture, film and text model. One key, one balance, the price before you press.'],
  ['/docs', 'Quick start'],
  ['/docs/api', 'The API'],
  ['/docs/api/conventions', 'Conventions'],
  ['/docs/api/models', 'Models'],
  ['/docs/api/queue', 'The queue'],
  ['/docs/api/requests', 'Requests'],
  ['/docs/api/outputs', 'Outputs'],
  ['/docs/api/webhooks', 'Webhooks'],
  ['/docs/api/files', 'Files'],
  ['/docs/api/images', 'Images'],
  ['/docs/api/videos', 'Videos'],
  ['/docs/api/fal', 'fal&#39;s run'],
  ['/docs/api/replicate', 'Predictions'],
  ['/docs/api/chat', 'Chat'],
  ['/docs/api/responses', 'Responses'],
  ['/docs/api/messages', 'Messages'],
  ['/docs/api/balance', 'Balance'],
  ['/docs/api/deposits', 'Deposits'],
  ['/docs/api/usage', 'Usage'],
  ['/docs/api/keys', 'Keys'],
  ['/docs/api/companions', 'Companions'],
  ['/docs/api/health', 'Health'],
  ['/docs/clients', 'Use what you have'],
  ['/docs/client', 'The client library'],
  ['/docs/fare', 'fare: the command'],
  ['/docs/mcp', 'Models for an assistant (MCP)'],
  ['/docs/fal-client', 'fal&#39;s client'],
  ['/docs/sandbox', 'The sandbox'],
  ['/docs/errors', 'Errors'],
  ['/docs/states', 'The states of a request'],
  ['/docs/pricing', 'What a request costs'],
  ['/docs/deposits', 'Credit of deposits'],
  ['/models', 'Models and prices'],
  ['/models/fake/image', 'Fake &lt;image&gt;'],
  ['/models/fake/chat', 'Fake chat'],
];

describe('a page', () => {
  for (const [path, title] of pages) {
    test(`${path} can be read, cached and asked for by HEAD`, async () => {
      const reply = await read(path, { origin: 'https://any.example' });
      const html = await reply.text();
      assert.equal(reply.status, 200);
      assert.ok(html.includes(`<h1>${title}</h1>`), `${path} has no title ${title}`);
      assert.doesNotMatch(html, /<b>|localhost:8080/);
      const hasCode = html.includes('<div class="code">');
      const copies = hasCode ? ['<script type="module" src="/copy.js"></script>'] : [];
      assert.deepEqual(html.match(/<script.*/g) ?? [], copies);
      assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(reply.headers.get('access-control-allow-origin'), '*');
      assert.equal(reply.headers.get('cache-control'), 'public, max-age=60');
      const policy = reply.headers.get('content-security-policy')!;
      assert.match(policy, /^default-src 'none'/);
      assert.deepEqual(policy.match(/script-src.*/g), hasCode ? ["script-src 'self'"] : null);
      const etag = reply.headers.get('etag')!;
      const again = await read(path, { 'if-none-match': etag });
      assert.deepEqual([again.status, await again.text()], [304, '']);
      const head = await read(path, {}, 'HEAD');
      assert.deepEqual([head.status, await head.text()], [200, '']);
      assert.equal(head.headers.get('etag'), etag);
    });
  }

  test('links only to pages and headings that exist', async () => {
    const open = /^\/(docs|models|llms\.txt|v1|favicon\.svg)([/?#]|$)/;
    const known = new Map<string, string>();
    for (const [from] of pages) {
      for (const [, href] of (await textOf(from)).matchAll(/ href="([^"]+)"/g)) {
        const url = new URL(href!, service.base + from);
        if (url.origin !== service.base || !open.test(url.pathname)) continue;
        if (!known.has(url.pathname)) {
          const reply = await read(url.pathname);
          assert.equal(reply.status, 200, `${from} links to ${href}`);
          known.set(url.pathname, await reply.text());
        }
        const id = url.hash.slice(1);
        if (id === '') continue;
        const found = known.get(url.pathname)!.includes(` id="${id}"`);
        assert.ok(found, `${from} links to ${href}`);
      }
    }
    assert.ok(known.size > pages.length);
  });
});

test('the diagram of the states has the states and the labels of its source', async () => {
  const source = await textOf('/docs/states.md');
  const [, mermaid] = /```mermaid\n([^]*?)```/.exec(source)!;
  const [svg] = /<svg [^]*<\/svg>/.exec(await textOf('/docs/states'))!;
  const shown = [...svg.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text!);
  const said = [...mermaid!.matchAll(/(\w+|\[\*\]) --> (\w+|\[\*\])(?:: (.+))?/g)];
  const names = said.flatMap(([, from, to]) => [from!, to!]).filter((name) => name !== '[*]');
  const labels = said.flatMap(([, , , label]) => label ?? []);
  assert.deepEqual(shown.toSorted(), [...new Set(names), ...labels].toSorted());
  assert.equal(svg.match(/<path d=/g)?.length, said.length);
  for (const name of ['client', 'api'])
    assert.doesNotMatch(await textOf(`/docs/${name}`), /class="diagram"/);
});

describe('Markdown', () => {
  test('is the same page with the addresses of this service', async () => {
    const reply = await read('/docs/client.md');
    assert.equal(reply.headers.get('content-type'), 'text/markdown; charset=utf-8');
    const text = await reply.text();
    assert.match(text, /^# The client library\n/);
    assert.ok(text.includes(`curl -sO ${service.app.baseUrl}/farebox-client.tgz`));
    assert.ok(text.includes('(/docs/errors.md)'));
    const asked = await read('/docs/client', { accept: 'text/markdown' });
    assert.equal(await asked.text(), text);
    assert.match(asked.headers.get('vary')!, /^accept\b/, 'no cache mixes the two up');
  });

  test('of every page is linked from llms.txt', async () => {
    const guide = await textOf('/llms.txt');
    const links = [...guide.matchAll(/\S+\/docs\/\S+\.md$/gm)].map(([url]) => url);
    assert.equal(links.length, pages.filter(([path]) => path.startsWith('/docs/')).length);
    for (const url of links) assert.equal((await fetch(url)).status, 200, url);
  });
});

describe('nothing else is served', () => {
  const strangers = [
    '/docs/configuration',
    '/docs/operating.md',
    '/docs/operating/accounts',
    '/docs/api/callbacks',
    '/docs/api/operator',
    '/docs/api/../operating',
    '/docs/../docs/people',
    '/docs/..%2FSECURITY',
    '/docs/constructor',
    '/models/fake/none',
    '/models/__proto__',
  ];
  for (const path of strangers) {
    test(path, async () => {
      const reply = await read(path, { accept: 'text/html' });
      const html = await reply.text();
      assert.equal(reply.status, 404);
      assert.equal(reply.headers.get('cache-control'), 'no-store');
      assert.ok(html.includes('<h1>Page not found</h1>'));
      assert.ok(!html.includes('FAREBOX_'));
    });
  }

  const missing: [path: string, language: string, title: string][] = [
    ['/no/such/page', 'en', 'Page not found'],
    ['/no/such/page', 'ru-RU,ru;q=0.9', 'Такой страницы нет'],
    ['/ru/models/no/such', 'en', 'Такой страницы нет'],
  ];
  for (const [path, language, title] of missing) {
    test(`${path} in ${language} keeps the frame, and shows the number of the call`, async () => {
      const headers = { accept: 'text/html', 'accept-language': language };
      const reply = await read(path, headers);
      const html = await reply.text();
      assert.equal(reply.status, 404);
      for (const part of [`<h1>${title}</h1>`, '/sign-in', '<footer>'])
        assert.ok(html.includes(part), part);
      const id = reply.headers.get('x-request-id');
      assert.ok(id !== null && html.includes(id));
      // The app's own page has the frame of people who are signed in.
      const cookie = 'farebox.session_token=x';
      const known = await fetch(originOf(service) + path, { headers: { ...headers, cookie } });
      assert.equal(known.status, 404);
      assert.doesNotMatch(await known.text(), /href="\/sign-in"/);
    });
  }

  test('of deposits, only the part for customers', async () => {
    const html = await textOf('/docs/deposits');
    assert.match(html, /BNB Chain/);
    assert.doesNotMatch(html, /xpub|FAREBOX_RPC/);
  });

  test('without web pages: the guide is at /v1 and names no page', async () => {
    const { base } = await service.another({ FAREBOX_WEB: 'off' });
    const docs = await service.call('GET', '/docs', { base });
    assertRefused(docs, 'not_found');
    const { text } = await service.call('GET', '/v1/llms.txt', { base });
    assert.doesNotMatch(text, /\/docs\//);
  });
});

describe('a model', () => {
  test('is shown with its price, its inputs and code for it', async () => {
    const html = await textOf('/models/fake/image');
    for (const part of ['$0.01 / image', 'Most characters: 1000.', 'required', `queue/fake/image`])
      assert.ok(html.includes(part), part);
    for (const language of ['curl', 'JavaScript', 'Python', 'Go'])
      assert.ok(html.includes(`<h3>${language}</h3>`), language);
    assert.ok((await textOf('/models/fake/chat')).includes('/v1/chat/completions'));
  });

  test('is in the list and in the sitemap exactly if it can be run', async () => {
    const { body } = await service.call('GET', '/v1/models');
    const ids = body.data.map(({ id }: { id: string }) => id).toSorted();
    const html = await textOf('/models');
    const plain = html.replaceAll(/<[^>]+>/g, ' ');
    assert.match(plain, /\$0\.01 \/ image/);
    assert.match(plain, /from \$0\.05 \/ s /);
    assert.match(plain, /\$[\d.]+ in, \$[\d.]+ out \/ 1M tokens/);
    const listed = [...html.matchAll(/href="\/models\/([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(listed.toSorted(), ids);
    const mapped = [...(await textOf('/sitemap.txt')).matchAll(/(?<!\/ru)\/models\/(.+)/g)];
    assert.deepEqual(mapped.map(([, id]) => id).toSorted(), ids);
    assert.match(await textOf('/robots.txt'), /Sitemap: \S+\/sitemap\.txt/);
  });
});

describe('the search', () => {
  const cases: [what: string, q: string, expected: RegExp][] = [
    [
      'finds a heading',
      'idempotency',
      /<a href="\/docs\/api\/conventions#idempotency">Idempotency<\/a>/,
    ],
    ['finds all of several words', 'Standard  WEBHOOKS', /href="\/docs\/api\/webhooks#/],
    ['finds other forms of a word', 'streamed chats', /<li><p><a href="\/docs\/client#chat">/],
    ['finds the quick start', 'quick start', /<li><p><a href="\/docs">Quick start<\/a>/],
    ['finds a model', 'fake image', /<li><p><a href="\/models\/fake\/image">/],
    ['says that nothing was found', 'xyzzy', /Try fewer words/],
    ['shows what was typed as text', '<b>"x', /value="&lt;b&gt;&quot;x"/],
  ];
  for (const [what, q, expected] of cases)
    test(what, async () => {
      const reply = await read(`/docs?q=${encodeURIComponent(q)}`);
      assert.equal(reply.status, 200);
      assert.match(await reply.text(), expected);
    });

  test('shows excerpts without the marks of Markdown', async () => {
    const text = await textOf('/docs?q=webhook');
    const shown = text.slice(text.indexOf('<ol'), text.indexOf('</ol>'));
    assert.match(shown, /one POST goes to its webhook_url\. The body is/);
    assert.doesNotMatch(shown, / ,|---|`/);
  });

  test('takes one search, and not several', async () => {
    assert.match(await textOf('/docs?q=a&q=b'), /<h1>Quick start<\/h1>/);
  });
});
