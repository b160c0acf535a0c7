import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import { newKey } from '../../src/core/account/key.ts';
import { fileId } from '../../src/core/request/file-id.ts';
import { sign } from '../../src/core/request/signature.ts';
import * as accounts from '../../src/db/accounts/accounts.ts';
import * as keys from '../../src/db/accounts/keys.ts';
import { falCalls } from '../../src/http/fal/routes.ts';
import { routes } from '../../src/http/routes.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { createKey } from '../kit/keys.ts';
import type { JobResult } from '../../src/upstreams/upstream.ts';
import { images, tinyPng } from '../kit/fake.ts';
import { isLong } from '../kit/long.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { CallOptions, Reply, TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';

/** Rights: every route, called by callers with and without the right to it. */

const secret = Buffer.from('a secret of at least thirty-two characters');

const columns = [
  'no key',
  'malformed key',
  'wrong checksum',
  'unknown key',
  'revoked key',
  'suspended account',
  "another account's key",
  'own key as Key',
  'own key as Bearer',
  'signed link',
  'expired link',
  'tampered link',
] as const;
type Column = (typeof columns)[number];

/** One function judges every key, so in the short form only these columns try every route. */
const usual = new Set<Column>([
  'no key',
  'revoked key',
  "another account's key",
  'own key as Key',
  'signed link',
  'tampered link',
]);
const thorough =
  /requests\/:request_id(\/output\/:index)?$|^POST \/(v1\/(queue|chat|files)|fal\/queue)/;

/**
 * A row for every row of the table of routes; a cell for every column above, in that order:
 * without a key, keys that are none, revoked, suspended | another's, own, own | three links.
 */
const matrix = `
  GET  /v1/models                              200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /v1/models/*                            200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /v1/farebox-client.tgz                  200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /v1/llms.txt                            200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /v1/openapi.json                        200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /v1/balance                             401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/deposit-addresses                   401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/deposits                            401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/estimate                            401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/chat/completions                    401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/responses                           401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/images/generations                  401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/images/edits                        401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/videos                              401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/videos                              401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/videos/:request_id                  401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /v1/videos/:request_id/content          401 401 401 401 401 401 | 404 200 200 | 401 401 401
  DELETE /v1/videos/:request_id                401 401 401 401 401 401 | 404 200 200 | 401 401 401
  POST /v1/messages                            401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/messages/count_tokens               401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /v1/queue/*                             401 401 401 401 401 401 | 202 202 202 | 401 401 401
  GET  /v1/usage                               401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/refusals                            401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/requests                            401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /v1/requests/:request_id                401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /v1/requests/:request_id/status         401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /v1/requests/:request_id/status/stream  401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /v1/requests/:request_id/response       401 401 401 401 401 401 | 404 200 200 | 401 401 401
  POST /v1/requests/:request_id/cancel         401 401 401 401 401 401 | 404 200 200 | 401 401 401
  PUT  /v1/requests/:request_id/cancel         401 401 401 401 401 401 | 404 200 200 | 401 401 401
  DELETE /v1/requests/:request_id/output       401 401 401 401 401 401 | 404 200 200 | 401 401 401
  POST /v1/keys                                401 401 401 401 401 401 | 403 403 403 | 401 401 401
  GET  /v1/keys                                401 401 401 401 401 401 | 403 403 403 | 401 401 401
  GET  /v1/keys/:key_id                        401 401 401 401 401 401 | 403 403 403 | 401 401 401
  PATCH /v1/keys/:key_id                       401 401 401 401 401 401 | 403 403 403 | 401 401 401
  DELETE /v1/keys/:key_id                      401 401 401 401 401 401 | 403 403 403 | 401 401 401
  GET  /v1/requests/:request_id/output/:index  401 401 401 401 401 401 | 404 200 200 | 200 410 401
  POST /v1/callbacks/:upstream/:request_id/:attempt/:sig 404 404 404 404 404 404 | 404 404 404 | 404 404 404
  GET  /v1/files/:file_id                      401 401 401 401 401 401 | 404 200 200 | 401 401 401
  POST /v1/files                               401 401 401 401 401 401 | 201 201 201 | 401 401 401
  POST /fal/queue.fal.run/*                                                401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /fal/fal.run/*                                                      401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /fal/run/*                                                          401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /fal/queue.fal.run/:owner/:alias/requests/:request_id               401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /fal/queue.fal.run/:owner/:alias/requests/:request_id/status        401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /fal/queue.fal.run/:owner/:alias/requests/:request_id/status/stream 401 401 401 401 401 401 | 404 200 200 | 401 401 401
  PUT  /fal/queue.fal.run/:owner/:alias/requests/:request_id/cancel        401 401 401 401 401 401 | 404 202 202 | 401 401 401
  GET  /fal/queue.fal.run/:namespace/:owner/:alias/requests/:request_id               401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /fal/queue.fal.run/:namespace/:owner/:alias/requests/:request_id/status        401 401 401 401 401 401 | 404 200 200 | 401 401 401
  GET  /fal/queue.fal.run/:namespace/:owner/:alias/requests/:request_id/status/stream 401 401 401 401 401 401 | 404 200 200 | 401 401 401
  PUT  /fal/queue.fal.run/:namespace/:owner/:alias/requests/:request_id/cancel        401 401 401 401 401 401 | 404 202 202 | 401 401 401
  POST /fal/rest.fal.ai/storage/upload/initiate                            401 401 401 401 401 401 | 200 200 200 | 401 401 401
  PUT  /fal/uploads/:file_id                   401 401 401 401 401 401 | 401 401 401 | 401 401 401
  POST /replicate/v1/predictions                     401 401 401 401 401 401 | 201 201 201 | 401 401 401
  GET  /replicate/v1/predictions                     401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /replicate/v1/predictions/:request_id         401 401 401 401 401 401 | 404 200 200 | 401 401 401
  POST /replicate/v1/predictions/:request_id/cancel  401 401 401 401 401 401 | 404 200 200 | 401 401 401
  POST /replicate/v1/models/*                        401 401 401 401 401 401 | 201 201 201 | 401 401 401
  GET  /replicate/v1/models/*                        401 401 401 401 401 401 | 200 200 200 | 401 401 401
  POST /replicate/v1/files                           401 401 401 401 401 401 | 201 201 201 | 401 401 401
  GET  /replicate/v1/files                           401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /replicate/v1/files/:file_id                  401 401 401 401 401 401 | 404 200 200 | 401 401 401
  DELETE /replicate/v1/files/:file_id                401 401 401 401 401 401 | 404 204 204 | 401 401 401
  GET  /replicate/v1/webhooks/default/secret         401 401 401 401 401 401 | 200 200 200 | 401 401 401
  GET  /livez                                  200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /readyz                                 200 200 200 200 200 200 | 200 200 200 | 200 200 200
  GET  /metrics                                200 200 200 200 200 200 | 200 200 200 | 200 200 200
`;

/** Other names of fal's hosts, which lead to the same calls. */
const falHosts: [host: string, ...others: string[]][] = [
  ['queue.fal.run', 'queue.fal.dev'],
  ['fal.run', 'fal.dev'],
  ['rest.fal.ai', 'rest.alpha.fal.ai', 'rest.shark.fal.ai'],
];
const byEachName = (text: string): string[] => [
  text,
  ...falHosts.flatMap(([host, ...others]) =>
    text.includes(`/fal/${host}/`) ? others.map((other) => text.replace(host, other)) : [],
  ),
];

const usualName = (text: string): string =>
  falHosts.reduce(
    (name, [host, ...others]) =>
      others.reduce((each, other) => each.replace(`/fal/${other}/`, `/fal/${host}/`), name),
    text,
  );

/** The operator's calls take none of these; `operator/scopes.test.ts` says who may make them. */
const ofOperator = table().filter((route) => route.includes(' /v1/operator/'));

const written = matrix
  .trim()
  .split('\n')
  .flatMap(byEachName)
  .map((line) => {
    const [method, path, ...cells] = line.split(/[ |]+/).filter((word) => word !== '');
    return { route: `${method} ${path}`, statuses: cells.map(Number) };
  });
const refused = ofOperator.map((route) => ({ route, statuses: columns.map(() => 401) }));
const rows = [...written, ...refused];

const codes: Record<number, 'unauthorized' | 'forbidden' | 'not_found' | 'expired'> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  410: 'expired',
};

let other: TestAccount;
let headersOf: Record<Column, Record<string, string>>;
let queryOf: Partial<Record<Column, string>>;
/** A finished request of the owner with one output. */
let done: string;
/** The same of a video. */
let filmed: string;
/** A file of the owner. */
let uploaded: string;

const { service, account: owner } = withService({ env: { FAREBOX_OPEN_JOBS: '1000' } });
before(async () => {
  other = await service.account();
  const suspended = await service.account();
  await accounts.setStatus(service.db, suspended.account_id, 'suspended');
  service.fake.behave.poll = ({ key }) => ({ state: 'done', result: resultOf(String(key)) });
  done = await submitted();
  filmed = await submitted(owner, film);
  uploaded = await upload();
  await service.work();
  await service.wakeAll();
  await service.work();
  const link = (seconds: number) =>
    sign(secret, { request_id: done, index: 0, exp: Math.floor(Date.now() / 1000) + seconds });
  const good = link(3600);
  const key = (text: string) => ({ authorization: `Key ${text}` });
  headersOf = {
    'no key': {},
    'malformed key': key(`${owner.key}x`),
    'wrong checksum': key(`${owner.key.slice(0, -1)}${owner.key.endsWith('a') ? 'b' : 'a'}`),
    'unknown key': key(newKey(randomBytes)),
    'revoked key': key(await revokedKey()),
    'suspended account': key(suspended.key),
    "another account's key": key(other.key),
    'own key as Key': key(owner.key),
    'own key as Bearer': { authorization: `Bearer ${owner.key}` },
    'signed link': {},
    'expired link': {},
    'tampered link': {},
  };
  queryOf = {
    'signed link': good,
    'expired link': link(-1),
    'tampered link': good.replace(/exp=(\d+)/, (_all, exp) => `exp=${Number(exp) + 1}`),
  };
});

const film = 'fake/film/text-to-video';
const mp4 = readFileSync(join(import.meta.dirname, '../fixtures/media/film.mp4'));

/** A video for the request of one, otherwise an image. */
function resultOf(id: string): JobResult {
  const media = [{ field: 'video', source: { bytes: mp4 } }];
  return id === filmed ? { media, fields: {} } : images(1);
}

async function submitted(account = owner, model = 'fake/image'): Promise<string> {
  const body = { prompt: 'a cat' };
  const reply = await account.post(`/v1/queue/${model}`, body);
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id;
}

async function upload(): Promise<string> {
  const file = { key: owner.key, raw: tinyPng, headers: { 'content-type': 'image/png' } };
  return (await service.call('POST', '/v1/files', file)).body.file_id;
}

function spare(): Promise<{ key: string; key_id: string }> {
  const { account_id } = owner;
  return createKey(service.db, { account_id, name: 'spare' });
}

async function revokedKey(): Promise<string> {
  const { key, key_id } = await spare();
  await keys.revoke(service.db, key_id);
  return key;
}

function table(): string[] {
  return [...routes, ...falCalls].map(
    ({ method, path, prefixed }) => `${method} ${prefixed ? '/v1' : ''}${path}`,
  );
}

const dataUrl = `data:image/png;base64,${tinyPng.toString('base64')}`;

const formHead = Buffer.from(
  '--b\r\nContent-Disposition: form-data; name="content"; filename="a"\r\n\r\n',
);

/** A call of this route that succeeds if it is allowed. */
async function callOf(route: string): Promise<{ method: string; path: string; call: CallOptions }> {
  const [method = '', pattern = ''] = route.split(' ');
  const ends = /^DELETE|cancel$/.test(route);
  const isVideo = pattern.startsWith('/v1/videos');
  const id = ends ? await submitted(owner, isVideo ? film : undefined) : isVideo ? filmed : done;
  // Only a request that has ended can lose its output.
  if (pattern.endsWith('/output')) await owner.post(`/v1/requests/${id}/cancel`);
  const path = pattern
    .replace('/models/*', `/models/fake/image${method === 'POST' ? '/predictions' : ''}`)
    .replace('/queue/*', '/queue/fake/image')
    .replace(/(run|dev)\/\*/, '$1/fake/image')
    .replace(':namespace', 'comfy')
    .replace(':owner/:alias', 'fake/image')
    // With an invalid signature, because the signed address is the credential here, not a key.
    .replace(':file_id', ends ? await upload() : uploaded)
    .replace(':account_id', owner.account_id)
    .replace(':key_id', owner.key_id)
    .replace(':upstream', 'fake')
    .replace(':attempt', '1')
    .replace(':sig', 'A'.repeat(43))
    .replace(':request_id', id)
    .replace(':index', '0')
    .replace(/\/usage$/, '/usage?by=day');
  const messages = [{ role: 'user', content: 'hi' }];
  const bodies: Record<string, CallOptions> = {
    '/v1/estimate': { body: { model_id: 'fake/image', input: { prompt: 'a cat' } } },
    '/v1/chat/completions': { body: { model: 'fake/chat', messages } },
    '/v1/responses': { body: { model: 'fake/chat', input: 'hello' } },
    '/v1/images/generations': { body: { model: 'fake/image', prompt: 'a cat' } },
    '/v1/images/edits': { body: { model: 'fake/image', prompt: 'a cat', image: dataUrl } },
    '/v1/videos': { body: { model: film, prompt: 'a cat' } },
    '/replicate/v1/predictions': { body: { version: 'fake/image', input: { prompt: 'a cat' } } },
    '/replicate/v1/files': {
      raw: Buffer.concat([formHead, tinyPng, Buffer.from('\r\n--b--\r\n')]),
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    },
    '/replicate/v1/models/*': { body: { input: { prompt: 'a cat' } } },
    '/v1/messages': { body: { model: 'fake/chat', max_tokens: 9, messages } },
    '/v1/messages/count_tokens': { body: { model: 'fake/chat', messages } },
    '/v1/keys': { body: { name: 'made' } },
    '/v1/keys/:key_id': { body: { rpm: 5 } },
    '/v1/queue/*': { body: { prompt: 'a cat' } },
    '/fal/queue.fal.run/*': { body: { prompt: 'a cat' } },
    '/fal/fal.run/*': { body: { prompt: 'a cat' } },
    '/fal/run/*': { body: { prompt: 'a cat' } },
    '/fal/rest.fal.ai/storage/upload/initiate': { body: { content_type: 'image/png' } },
    '/fal/uploads/:file_id': { raw: tinyPng, headers: { 'content-type': 'image/png' } },
    '/v1/files': { raw: tinyPng, headers: { 'content-type': 'image/png' } },
  };
  return { method, path, call: method === 'GET' ? {} : (bodies[usualName(pattern)] ?? {}) };
}

/** Routes that answer only when their request has ended. */
const waits = /^POST \/(fal\/((fal\.)?run|fal\.dev)|v1\/images)\//;

/** Runs the worker until the call is answered. */
async function working(answer: Promise<Reply>): Promise<Reply> {
  let isAnswered = false;
  void answer.finally(() => (isAnswered = true));
  while (!isAnswered) {
    await service.wakeAll();
    await service.work();
  }
  return answer;
}

/** Makes the call of a cell. */
async function enter(
  { method, path, call }: Awaited<ReturnType<typeof callOf>>,
  column: Column,
  expected: number,
  isForAll = false,
): Promise<void> {
  const about = `${method} ${path} with ${column}`;
  const mark = path.includes('?') ? '&' : '?';
  const query = queryOf[column] === undefined ? '' : `${mark}${queryOf[column]}`;
  const headers = { ...call.headers, ...headersOf[column] };
  const answer = service.call(method, `${path}${query}`, { ...call, headers });
  const isLate = expected === 200 && waits.test(`${method} ${path}`);
  const reply = await (isLate ? working(answer) : answer);
  assert.equal(reply.status, expected, `${about}: ${reply.text.slice(0, 200)}`);
  if (expected >= 400) assertRefused(reply, codes[expected]!, { about });
  assert.equal(reply.headers.get('x-content-type-options'), 'nosniff', about);
  if (!isForAll) assert.match(reply.headers.get('cache-control') ?? '', /no-store|private/, about);
}

describe('the matrix of routes and callers', () => {
  test('has a row for every route and no other', () => {
    assert.deepEqual(rows.map(({ route }) => route).sort(), table().sort());
  });

  for (const { route, statuses } of rows) {
    test(`${route} lets in whom it should`, async () => {
      assert.equal(statuses.length, columns.length);
      const isTried = (column: Column) => thorough.test(route) || usual.has(column);
      const cells = columns.map((column, i) => ({ column, status: statuses[i]! }));
      const tried = cells.filter(({ column }) => isLong || isTried(column));
      for (const { column, status } of tried.filter((cell) => cell.status < 400))
        await enter(await callOf(route), column, status, statuses[0]! < 400);
      const call = await callOf(route);
      const earlier = await traces(service);
      for (const { column, status } of tried.filter((cell) => cell.status >= 400))
        await enter(call, column, status);
      assert.deepEqual(await traces(service), earlier, 'a refused call left something');
    });
  }
});

describe('a key of scope keys', () => {
  let manager: string;
  before(async () => {
    const { account_id } = owner;
    manager = (await createKey(service.db, { account_id, name: 'manager', scope: 'keys' })).key;
  });

  /** Routes that a key of scope spend may call, outputs and files of its account included. */
  const spending = rows.filter(({ statuses }) => statuses[0] === 401 && statuses[7]! < 300);
  for (const { route } of spending) {
    test(`cannot make ${route}`, async () => {
      const { method, path, call } = await callOf(route);
      const earlier = await traces(service);
      const reply = await service.call(method, path, { ...call, key: manager });
      const { details } = assertRefused(reply, 'forbidden');
      assert.deepEqual(details, { scope: 'spend', scopes: ['keys'] });
      assert.deepEqual(await traces(service), earlier);
    });
  }

  const managing = rows.filter(({ route }) => route.includes(' /v1/keys'));
  for (const { route } of managing) {
    test(`may make ${route}`, async () => {
      const { method, path, call } = await callOf(route);
      const { key_id } = await spare();
      const at = path.replace(owner.key_id, key_id);
      const reply = await service.call(method, at, { ...call, key: manager });
      assert.equal(reply.status, method === 'POST' ? 201 : 200, reply.text);
    });
  }
});

describe('what belongs to another account', () => {
  const own = rows.filter(
    ({ route }) => /:(request|file)_id/.test(route) && !/\/operator\/|\/fal\/uploads/.test(route),
  );
  for (const { route } of own) {
    test(`${route} answers as for an id that never was`, async () => {
      const { method, path } = await callOf(route);
      const foreign = await service.call(method, path, { key: other.key });
      const absentPath = path
        .replace(/[0-9a-f-]{36}/, randomUUID())
        .replace(/file_[0-9a-f]{32}/, fileId(randomUUID()));
      const absent = await service.call(method, absentPath, { key: other.key });
      assertRefused(foreign, 'not_found');
      assert.deepEqual(comparable(foreign), comparable(absent));
    });
  }

  test('does not appear in lists', async () => {
    await submitted(other);
    const list = await other.get('/v1/requests?limit=100');
    assert.equal(list.body.data.length > 0, true);
    for (const { key_id } of list.body.data) assert.equal(key_id, other.key_id);
  });

  test('is not opened by a tampered link with the key of another', async () => {
    const path = `/v1/requests/${done}/output/0?${queryOf['tampered link']}`;
    assertRefused(await other.get(path), 'not_found');
    assert.equal((await owner.get(path)).status, 200);
  });

  test('is opened by its signed link, whatever key comes with it', async () => {
    const path = `/v1/requests/${done}/output/0?${queryOf['signed link']}`;
    const reply = await other.get(path);
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.bytes, tinyPng);
  });

  test('is not touched by a cancel', async () => {
    const id = await submitted();
    for (const method of ['POST', 'PUT']) {
      await service.call(method, `/v1/requests/${id}/cancel`, { key: other.key });
    }
    const { body } = await owner.get(`/v1/requests/${id}`);
    assert.equal(body.status, 'IN_QUEUE');
  });
});

/** The parts of a reply that are the same for each call. */
function comparable({ status, headers, body }: Reply) {
  const varying = /^(date|x-request-id|x-fal-request-id|ratelimit.*)$/;
  const { request_id: _id, ...error } = body.error;
  const names = [...headers.keys()].sort();
  const fixed = [...headers].filter(([name]) => !varying.test(name));
  return { status, error, names, fixed };
}

describe('the header x-api-key', () => {
  const says = async (headers: Record<string, string>, path = '/v1/balance') =>
    service.call('GET', path, { headers });

  test('counts as the key, also beside the same key; that of a proxy does not count', async () => {
    const both = { 'x-api-key': owner.key, authorization: `Bearer ${owner.key}` };
    const ofProxy = { 'x-api-key': 'proxy-123', authorization: `Key ${owner.key}` };
    const empty = { 'x-api-key': '', authorization: `Key ${owner.key}` };
    for (const headers of [{ 'x-api-key': owner.key }, both, ofProxy, empty])
      assert.equal((await says(headers)).status, 200);
    const file = await says({ 'x-api-key': owner.key }, `/v1/files/${uploaded}`);
    assert.equal(file.status, 200);
  });

  test('is refused beside another key, whichever is right', async () => {
    for (const [bare, header] of [
      [owner.key, other.key],
      ['fbx_wrong', owner.key],
      [owner.key, 'fbx_wrong'],
    ]) {
      const reply = await says({ 'x-api-key': bare!, authorization: `Bearer ${header}` });
      const { message } = assertRefused(reply, 'unauthorized');
      assert.match(message, /different keys/);
      assert.doesNotMatch(reply.text, /fbx_\w{5}/);
    }
  });

  test('is refused if it holds no key of an account', async () => {
    const reply = await says({ 'x-api-key': 'sk-ant-0123456789' });
    assert.match(assertRefused(reply, 'unauthorized').message, /begin with fbx_/);
    assert.ok(!service.log.some((line) => line.includes('sk-ant-0123456789')));
  });
});

describe('the Authorization header', () => {
  const spellings: [string, (key: string) => string, number][] = [
    ['Key', (key) => `Key ${key}`, 200],
    ['key in small letters', (key) => `key ${key}`, 200],
    ['KEY in capitals', (key) => `KEY ${key}`, 200],
    ['bearer in small letters', (key) => `bearer ${key}`, 200],
    ['the key alone', (key) => key, 401],
    ['two blanks', (key) => `Key  ${key}`, 200],
    ['no blank', (key) => `Key${key}`, 401],
    ['a tab', (key) => `Key\t${key}`, 401],
    ['another scheme', (key) => `Token ${key}`, 401],
    ['Basic', (key) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`, 401],
    ['two keys', (key) => `Key ${key}, Key ${key}`, 401],
    ['a comma behind', (key) => `Key ${key},`, 401],
    ['quotes', (key) => `Key "${key}"`, 401],
    ['a parameter', (key) => `Key ${key}; a=b`, 401],
    ['the other prefix', (key) => `Key sk_${key.slice(4)}`, 401],
    ['capitals changed', (key) => `Key ${key.toUpperCase()}`, 401],
    ['the scheme alone', () => 'Key', 401],
    ['nothing', () => '', 401],
    ['8 KB', (key) => `Key ${key.repeat(180)}`, 401],
  ];
  for (const [name, spell, status] of spellings) {
    test(`${name} is ${status === 200 ? 'taken' : 'refused'}`, async () => {
      const headers = { authorization: spell(owner.key) };
      const reply = await service.call('GET', '/v1/requests?limit=1', { headers });
      assert.equal(reply.status, status, reply.text);
      if (status === 401) {
        assertRefused(reply, 'unauthorized');
        assert.equal(reply.headers.get('www-authenticate'), 'Key realm="farebox"');
        assert.equal(reply.headers.get('ratelimit'), null);
      }
    });
  }

  const elsewhere: [string, string, Record<string, string>][] = [
    ['in the query', '?key=KEY&api_key=KEY&authorization=Key%20KEY', {}],
    ['in a header of another name', '', { 'api-key': 'KEY' }],
    ['in a cookie', '', { cookie: 'key=KEY; authorization=Key KEY' }],
    ['for a proxy', '', { 'proxy-authorization': 'Key KEY' }],
  ];
  for (const [name, query, headers] of elsewhere) {
    test(`a key ${name} does not count`, async () => {
      const put = (text: string) => text.replaceAll('KEY', owner.key);
      const own = Object.fromEntries(Object.entries(headers).map(([n, v]) => [n, put(v)]));
      assertRefused(
        await service.call('GET', `/v1/requests${put(query)}`, { headers: own }),
        'unauthorized',
      );
    });
  }
});

/** Look-ups of keys so far, as the service counts them itself. */
async function lookUps(): Promise<number> {
  const { values } = await service.app.metrics.batchSize.get();
  const counted = values.find(
    ({ metricName, labels }) =>
      metricName === 'farebox_batch_size_count' && labels.batch === 'authenticate',
  );
  return counted?.value ?? 0;
}

test('a key that cannot be one is refused without a look-up', async () => {
  const earlier = await lookUps();
  for (const column of ['no key', 'malformed key', 'wrong checksum'] as const) {
    assertRefused(
      await service.call('GET', '/v1/requests', { headers: headersOf[column] }),
      'unauthorized',
    );
  }
  assert.equal(await lookUps(), earlier);
  await service.call('GET', '/v1/requests', { headers: headersOf['unknown key'] });
  assert.equal(await lookUps(), earlier + 1);
});

test('keys are stored as a hash, and no line of the log holds one', async () => {
  const rows = await service.db.run(rawSql('select * from keys, accounts'));
  const stored = JSON.stringify(rows, (_name, value) =>
    typeof value === 'bigint'
      ? String(value)
      : Buffer.isBuffer(value)
        ? value.toString('latin1')
        : value,
  );
  for (const { key } of [owner, other]) {
    assert.ok(!stored.includes(key) && !stored.includes(key.slice(6)));
    assert.ok(!service.log.join('').includes(key));
  }
});
