/** The plain-text guide is enough to get to a finished job. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errors, failures } from '../../../src/core/errors.ts';
import { tinyPng } from '../../kit/fake.ts';
import { fakeCatalog, type Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';

/** The usual catalog with an example whose characters a shell would misread. */
const catalog = fakeCatalog.replace(
  'example: { prompt: a cat }',
  `example: { prompt: "a cat's $tail" }`,
);

let guide: Reply;
let key: string;

const { service } = withService({ catalog, running: true });
before(async () => {
  key = (await service.account({ usd: 5 })).key;
  guide = await service.call('GET', '/v1/llms.txt');
});

interface Curl {
  method: string;
  url: string;
  headers: Record<string, string>;
  data: string | null;
}

/** The commands of the guide, in order, split as a shell does. */
function commands(): Curl[] {
  const text = guide.text.replaceAll('\\\n', ' ');
  return [...text.matchAll(/^ {4}curl (.*)$/gm)].map(([, line]) => curlOf(wordsOf(line!)));
}

function wordsOf(line: string): string[] {
  const word = /(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g;
  return [...line.matchAll(word)].map(([text]) =>
    text.replace(
      /'([^']*)'|"([^"]*)"|\\(.)/g,
      (_, single, double, escaped) =>
        single ?? double?.replace('$FAREBOX_API_KEY', key).replace('$(date +%s)', '1') ?? escaped,
    ),
  );
}

function curlOf(words: string[]): Curl {
  const curl: Curl = { method: 'GET', url: '', headers: {}, data: null };
  let method: string | null = null;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === '-X') method = words[++i]!;
    else if (word === '-o') i++;
    else if (word === '-d' || word === '--data-binary') curl.data = words[++i]!;
    else if (word === '-H') {
      const [name, value] = words[++i]!.split(': ');
      curl.headers[name!.toLowerCase()] = value!;
    } else if (!word.startsWith('-')) curl.url = word;
  }
  return { ...curl, method: method ?? (curl.data === null ? 'GET' : 'POST') };
}

async function run(curl: Curl, request = '', raw?: Buffer): Promise<Reply> {
  const { method, url, headers, data } = curl;
  const body = raw ?? data ?? undefined;
  return service.call(method, url.replace('<REQUEST_ID>', request), {
    headers,
    ...(body !== undefined && { raw: body }),
  });
}

function commandTo(path: RegExp): Curl {
  const found = commands().find(({ url }) => path.test(url));
  assert.ok(found, `no command goes to ${path}`);
  return found;
}

describe('GET /llms.txt', () => {
  test('leads from the beginning to the downloaded image', async () => {
    const models = await run(commandTo(/\/models$/));
    assert.equal(models.body.data[0].id, 'fake/image');
    const estimate = await run(commandTo(/\/estimate$/));
    const submitted = await run(commandTo(/\/queue\/fake\/image$/));
    assert.equal(submitted.status, 202);
    assert.equal(submitted.body.quoted_usd_micro, estimate.body.price_usd_micro);
    const id = submitted.body.request_id;
    const repeated = await run(commandTo(/\/queue\/fake\/image$/));
    assert.equal(repeated.status, 200);
    assert.equal(repeated.text, submitted.text);

    const followed = await run(commandTo(/\/status\/stream$/), id);
    assert.match(followed.text, /"status":"COMPLETED"[^\n]*\n\n$/);
    for (const path of [/\/status$/, /\/status\?wait=60&until=final$/]) {
      assert.equal((await run(commandTo(path), id)).body.status, 'COMPLETED');
    }
    const response = await run(commandTo(/\/response$/), id);
    assert.equal(response.body.images.length, 1);
    const picture = await service.call('GET', response.body.images[0].url);
    assert.deepEqual(picture.bytes, tinyPng);

    const card = await run(commandTo(/\/requests\/<REQUEST_ID>$/), id);
    assert.equal(card.body.input.prompt, "a cat's $tail");
    assert.equal(card.body.charged_usd_micro, submitted.body.quoted_usd_micro);
    const cancelled = await run(commandTo(/\/cancel$/), id);
    assert.equal(cancelled.body.error.code, 'not_cancellable');
    const failed = await run(commandTo(/\/requests\?status=FAILED/));
    assert.deepEqual(failed.body.data, []);
  });

  test('leads to an uploaded file and to a chat reply', async () => {
    const upload = await run(commandTo(/\/files$/), '', tinyPng);
    assert.equal(upload.status, 201);
    const chat = await run(commandTo(/\/chat\/completions$/));
    assert.equal(chat.body.choices[0].message.content, 'hello');
    assert.match(chat.body.usage.cost_usd_micro, /^[1-9]\d*$/);
  });

  test('leads to a picture in one call, to the cost of a stream and to the usage', async () => {
    const images = await run(commandTo(/\/images\/generations$/));
    assert.equal(images.status, 200, images.text);
    assert.match(images.body.data[0].url, /^http/);
    assert.match(guide.text, /"stream_options": \{"include_usage": true\}/);
    const usage = commandTo(/\/usage\?by=model/);
    const today = new Date().toISOString().slice(0, 10);
    const sums = await run({ ...usage, url: usage.url.replace('YYYY-MM-DD', today) });
    assert.equal(sums.status, 200, sums.text);
  });

  test('shows a command for each call, with the address of this service', () => {
    const base = `${service.app.baseUrl}/`;
    const urls = commands().map(({ url }) => url);
    assert.ok(urls.length >= 14);
    for (const url of urls.filter((each) => each !== '<URL>')) assert.ok(url.startsWith(base), url);
  });

  test('lists every model once, with its price and what it needs', () => {
    const lines = guide.text.slice(guide.text.indexOf('## Catalog')).split('\n- ').slice(1);
    assert.deepEqual(
      lines.map((line) => line.trim()),
      [
        'fake/image | image | text-to-image | $0.01 per image | 4 images | no choice | prompt',
        'fake/film/text-to-video | video | text-to-video | $0.05 at 480p, $0.1 at 720p per sec | 10 seconds | 480p, 720p | prompt',
        'fake/chat | text | chat | $1 in, $2 out per 1M tokens | 100,000 tokens in, 8,192 tokens out | no choice | messages',
        'fake/drain/chat | text | chat | $1 in, $2 out per 1M tokens | 100,000 tokens in, 8,192 tokens out | no choice | messages',
      ],
    );
  });

  test('says of every code what to do', () => {
    for (const [code, { status }] of Object.entries(errors)) {
      assert.match(guide.text, new RegExp(`^- ${status} ${code}: \\S`, 'm'));
    }
    for (const code of Object.keys(failures)) {
      assert.match(guide.text, new RegExp(`^- ${code}: \\S`, 'm'));
    }
  });

  test('is at the root too, the same for every origin', async () => {
    const read = (method: string, headers: Record<string, string> = {}) =>
      fetch(`${service.base}/llms.txt`, { method, headers });
    const root = await read('GET');
    assert.equal(await root.text(), guide.text);
    assert.equal(root.headers.get('access-control-allow-origin'), '*');
    assert.equal(root.headers.get('cache-control'), 'public, max-age=60');
    const etag = guide.headers.get('etag')!;
    assert.equal((await read('GET', { 'if-none-match': etag })).status, 304);
    const head = await read('HEAD');
    assert.deepEqual([head.status, await head.text()], [200, '']);
  });

  test('is sent again only when it has changed', async () => {
    const etag = guide.headers.get('etag')!;
    assert.equal(guide.headers.get('cache-control'), 'public, max-age=60');
    assert.equal(guide.headers.get('content-type'), 'text/plain; charset=utf-8');
    const same = await service.call('GET', '/v1/llms.txt', { headers: { 'if-none-match': etag } });
    assert.equal(same.status, 304);
    assert.equal(same.text, '');
    const other = await service.call('GET', '/v1/llms.txt', {
      headers: { 'if-none-match': '"x"' },
    });
    assert.equal(other.text, guide.text);
  });
});
