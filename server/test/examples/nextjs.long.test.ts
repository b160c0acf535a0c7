import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import * as accounts from '../../src/db/accounts/accounts.ts';
import { until } from '../kit/until.ts';
import { examples, openWorld, type World } from './example-kit.ts';

/** The route handlers of the Next.js example, called as Next calls them, on a real service. */

type Handler = (request: Request, context?: unknown) => Promise<Response>;

let world: World;
let app: Server;
/** The notifications that arrived. */
const told: { body: string; headers: Headers }[] = [];
let submit: Handler;
let follow: Handler;
let notify: Handler;
let pictures: Map<string, Record<string, unknown>>;

before(async () => {
  app = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const headers = new Headers(req.headers as Record<string, string>);
    const body = Buffer.concat(chunks).toString('utf8');
    told.push({ body, headers });
    const url = `http://app.test${req.url}`;
    const reply = await notify(new Request(url, { method: 'POST', headers, body }));
    res.writeHead(reply.status).end(await reply.text());
  });
  await once(app.listen(0, '127.0.0.1'), 'listening');
  const { port } = app.address() as { port: number };
  world = await openWorld({ FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${port}` });
  const { webhook_secrets } = (await accounts.find(world.service.db, world.account.account_id))!;
  Object.assign(process.env, world.env, {
    PUBLIC_ORIGIN: `http://127.0.0.1:${port}`,
    FAREBOX_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24).toString('base64')} ${webhook_secrets[0]}`,
  });
  const load = (file: string) => import(join(examples, 'nextjs', file));
  submit = (await load('app/api/pictures/route.ts')).POST;
  follow = (await load('app/api/pictures/[id]/route.ts')).GET;
  notify = (await load('app/api/farebox/route.ts')).POST;
  pictures = (await load('lib/pictures.ts')).pictures;
});
after(async () => {
  app.close();
  await world.stop();
});

function press(prompt: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify({ prompt });
  return submit(new Request('http://app.test/api/pictures', { method: 'POST', headers, body }));
}

function watching(id: string, signal?: AbortSignal): Promise<Response> {
  const request = new Request(`http://app.test/api/pictures/${id}`, { signal: signal ?? null });
  return follow(request, { params: Promise.resolve({ id }) });
}

async function events(reply: Response): Promise<Record<string, any>[]> {
  const found: Record<string, any>[] = [];
  const parser = createParser({ onEvent: ({ data }) => void found.push(JSON.parse(data)) });
  parser.feed(await reply.text());
  return found;
}

const jobs = async () =>
  (await world.service.call('GET', '/v1/requests', { key: world.account.key })).body.data;

describe('examples/nextjs', () => {
  test('brings a visitor from a prompt to the picture, and takes the notification', async () => {
    const reply = await press('A lighthouse at dusk');
    assert.equal(reply.status, 202);
    const { id } = (await reply.json()) as { id: string };
    const stream = await watching(id);
    assert.equal(stream.headers.get('content-type'), 'text/event-stream');
    const seen = await events(stream);
    const last = seen.at(-1)!;
    assert.equal(last.status, 'COMPLETED');
    assert.match((await fetch(last.url)).headers.get('content-type')!, /^image\//);
    await until('the notification', () => pictures.get(id)!.charged_usd_micro);
    assert.deepEqual(pictures.get(id), {
      prompt: 'A lighthouse at dusk',
      status: 'COMPLETED',
      charged_usd_micro: (await jobs())[0].charged_usd_micro,
    });
    assert.equal(told.length, 1);
  });

  test('makes one picture of a press that is sent twice', async () => {
    const before = await jobs();
    const header = { 'idempotency-key': 'press-1' };
    const [one, two] = await Promise.all([press('twice', header), press('twice', header)]);
    assert.deepEqual(await one!.json(), await two!.json());
    assert.equal((await jobs()).length, before.length + 1);
  });

  const wrong: [string, unknown][] = [
    ['no prompt', undefined],
    ['an empty one', ' '],
    ['one that is too long', 'x'.repeat(1_001)],
    ['one that is no text', 7],
  ];
  for (const [name, prompt] of wrong) {
    test(`submits nothing for ${name}`, async () => {
      const before = await jobs();
      assert.equal((await press(prompt)).status, 400);
      assert.equal((await jobs()).length, before.length);
    });
  }

  test('tells visitors nothing of requests that it did not make itself', async () => {
    const { body } = await world.service.call('POST', '/v1/queue/sandbox/canvas/text-to-image', {
      key: world.account.key,
      body: { prompt: 'private' },
    });
    assert.equal((await watching(body.request_id)).status, 404);
  });

  test('tells visitors nothing of an empty balance', async () => {
    const poor = await world.service.account({ usd: 0 });
    const empty = await world.run(process.execPath, ['-e', program('hello')], {
      FAREBOX_API_KEY: poor.key,
    });
    const [status, said] = JSON.parse(empty.stdout);
    assert.deepEqual([status, said], [503, { error: 'No picture can be made at the moment.' }]);
    assert.match(empty.stderr, /insufficient_balance/);
  });

  test('takes no notification that is not signed, or was changed on its way', async () => {
    const { body, headers } = told[0]!;
    const send = (text: string, own: Headers) =>
      notify(
        new Request('http://app.test/api/farebox', { method: 'POST', headers: own, body: text }),
      );
    const id = headers.get('webhook-id')!;
    const known = { ...pictures.get(id) };
    assert.equal((await send(body, new Headers())).status, 400);
    const changed = body.replace('COMPLETED', 'CANCELLED');
    assert.equal((await send(changed, headers)).status, 400);
    assert.deepEqual(pictures.get(id), known);
    assert.equal((await send(body, headers)).status, 204);
  });

  test('lets go of a job that its visitor has left, and the job goes on', async () => {
    const { id } = (await (await press('sandbox:slow=1 sea')).json()) as { id: string };
    const left = new AbortController();
    const reader = (await watching(id, left.signal)).body!.getReader();
    await reader.read();
    left.abort();
    await reader.cancel();
    const { key } = world.account;
    const path = `/v1/requests/${id}/status?wait=30`;
    const ended = async () => (await world.service.call('GET', path, { key })).body.status;
    await until('it is COMPLETED', async () => (await ended()) === 'COMPLETED');
  });

  test('keeps key and client out of what the browser gets', () => {
    const page = readFileSync(join(examples, 'nextjs/app/page.tsx'), 'utf8');
    assert.match(page, /^'use client';/);
    assert.doesNotMatch(page, /@farebox|process\.env|FAREBOX|\/lib\//);
    for (const file of readdirSync(join(examples, 'nextjs'), { recursive: true, encoding: 'utf8' }))
      assert.doesNotMatch(file, /\.env/);
  });
});

/**
 * A program that submits a prompt as the page's button does, in its own process and with its own
 * key.
 */
function program(prompt: string): string {
  const file = JSON.stringify(join(examples, 'nextjs/app/api/pictures/route.ts'));
  const body = JSON.stringify(JSON.stringify({ prompt }));
  return `import(${file}).then(async ({ POST }) => {
    const reply = await POST(new Request('http://app.test/', { method: 'POST', body: ${body} }));
    console.log(JSON.stringify([reply.status, await reply.json()]));
  });`;
}
