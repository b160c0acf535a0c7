import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { AdapterName } from '../../src/core/catalog/upstream-definition.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { adapters } from '../../src/upstreams/adapters.ts';
import type { Handle, StartJob, Upstream } from '../../src/upstreams/upstream.ts';
import { media, serve, type Answer, type Call } from './fakes/kit.ts';
import { plain } from './http-job-kit.ts';
import { jobOf, signal } from './job-kit.ts';

/** Answers as services sent them, not as they describe them. `key` never goes to another host. */

type Reply = Answer | ((call: Call) => Answer);

async function open(
  t: TestContext,
  adapter: AdapterName,
  reply: Reply,
  options: Record<string, unknown> = {},
): Promise<{ upstream: Upstream; calls: Call[]; url: string }> {
  const calls: Call[] = [];
  const server = await serve((call) => {
    calls.push(call);
    return typeof reply === 'function' ? reply(call) : reply;
  });
  const fetch = createFetch({ guard: false });
  t.after(() => Promise.all([fetch.close(), server.close()]));
  const download = () => assert.fail('nothing is downloaded here');
  const tools = { fetch, guarded: fetch, download, now: () => Date.now() };
  const own = adapter === 'http-job' ? { ...plain, error: 'error', ...options } : options;
  const settings = { name: 'it', url: server.url, key: 'a-key', secret: null, concurrency: 1 };
  const upstream = adapters[adapter].create({ ...settings, options: own }, tools);
  return { upstream, calls, url: server.url };
}

const base64 = media.png.toString('base64');
const film = 'https://cdn.test/v.mp4?sig=1';
const videoJob: Partial<StartJob> = { task: 'text-to-video', input: { prompt: 'x' } };

const startOf = async (t: TestContext, adapter: AdapterName, reply: Reply, job = {}) =>
  (await open(t, adapter, reply)).upstream.start(jobOf(job));
const pollOf = async (
  t: TestContext,
  adapter: AdapterName,
  reply: Reply,
  options = {},
  handle: Handle = { id: 'a' },
) => (await open(t, adapter, reply, options)).upstream.poll(handle, signal);

describe('JSON with what Python and .NET write', () => {
  const starts: [AdapterName, body: string, expected: object, job?: object][] = [
    ['http-job', '{"id":"a","eta":NaN}', { outcome: 'accepted', handle: { id: 'a' } }],
    ['http-job', '\uFEFF{"id":"a"}', { outcome: 'accepted', handle: { id: 'a' } }],
    ['http-job', '\uFEFF{"id":"NaN","x":[-Infinity, NaN]}', { handle: { id: 'NaN' } }],
    ['openai', '\uFEFF{"id":"a","progress":NaN}', { handle: { id: 'a' } }, videoJob],
    ['openai', `{"data":[{"b64_json":"${base64}","score":NaN}]}`, { outcome: 'done' }],
    [
      'fal',
      '{"request_id":"a","queue_position":Infinity}',
      { outcome: 'accepted' },
      { model: 'fal-ai/flux' },
    ],
  ];
  for (const [adapter, body, expected, job] of starts)
    test(`${adapter}: a start, ${body.slice(0, 40)}`, async (t) =>
      assert.partialDeepStrictEqual(await startOf(t, adapter, { body }, job), expected));

  const asText =
    '{"status":"done","result":"{\\"score\\":NaN,\\"url\\":\\"https://c.test/a.png\\"}"}';
  const polls: [AdapterName, body: string, options?: object][] = [
    ['http-job', '{"status":"done","outputs":["https://c.test/a.png"],"score":NaN}'],
    ['http-job', asText, { outputs: ['result.url'] }],
    ['openai', '\uFEFF{"id":"a","status":"completed","progress":Infinity}'],
    [
      'replicate',
      '{"id":"a","status":"succeeded","output":["https://c.test/a"],"metrics":{"t":NaN}}',
    ],
  ];
  for (const [adapter, body, options] of polls)
    test(`${adapter}: a poll, ${body.slice(0, 40)}`, async (t) =>
      assert.equal((await pollOf(t, adapter, { body }, options)).state, 'done'));

  test('comfyui: in a job, and in the job of somebody else', async (t) => {
    const changed =
      '{"prompt":[1,"x",{"5":{"class_type":"X","inputs":{},"is_changed":[NaN]}},{},["9"]]';
    const outputs = '{"9":{"images":[{"filename":"a.png","subfolder":"","type":"output"}]}}';
    const status = '{"status_str":"success","completed":true,"messages":[]}';
    const done = `{"a":${changed},"outputs":${outputs},"status":${status}}}`;
    const options = { workflows: { w: { prompt: {}, inputs: {} } } };
    const handle = { prompt_id: 'a', workflow: 'w' };
    const queue = `{"queue_running":[[1,"b",{"5":{"is_changed":[NaN]}},{},[]]],"queue_pending":[[2,"a",{},{},[]]]}`;
    const look = (history: string) => (call: Call) => ({
      body: call.path.includes('history') ? history : queue,
    });
    assert.equal((await pollOf(t, 'comfyui', look(done), options, handle)).state, 'done');
    assert.equal((await pollOf(t, 'comfyui', look('{}'), options, handle)).state, 'running');
  });

  test('what is no JSON stays none', async (t) => {
    for (const body of ['{"id":NaN', '{"id":"a', 'NaN,', '\uFEFF'])
      assert.equal((await startOf(t, 'http-job', { body })).outcome, 'unknown', body);
  });
});

describe('openai: a start', () => {
  const good = [{ b64_json: base64 }];
  const events = (before: string) =>
    `${before}event: image_generation.completed\ndata: ${JSON.stringify(good[0])}\n\n`;
  const images: [what: string, answer: Answer, expected: object][] = [
    ['an empty error', { json: { error: {}, data: good } }, { outcome: 'done' }],
    ['an error of no words', { json: { error: '', data: good } }, { outcome: 'done' }],
    [
      "LiteLLM's empty error",
      { json: { error: { message: '', type: '', param: '', code: null }, data: good } },
      { outcome: 'done' },
    ],
    [
      'one of two',
      { json: { error: { message: 'partial failure: 1 of 2' }, data: good } },
      { outcome: 'done' },
    ],
    ['an error alone', { json: { error: { message: 'boom' } } }, { outcome: 'unknown' }],
    [
      'an error beside nothing',
      { json: { error: { message: 'x' }, data: [] } },
      { outcome: 'unknown' },
    ],
    ['a code', { json: { code: 1301, message: 'sensitive content' } }, { outcome: 'rejected' }],
    ['no success', { json: { success: false, message: 'NSFW prompt' } }, { outcome: 'rejected' }],
    [
      'a list with an error',
      { json: [{ error: { code: 400, message: 'blocked by safety' } }] },
      { outcome: 'rejected', message: 'blocked by safety' },
    ],
    [
      'words',
      { json: { message: 'your call is in the queue' } },
      { outcome: 'unknown', answer: 'unreadable' },
    ],
    [
      'words of a limit',
      { json: { message: 'rate limit' } },
      { outcome: 'unknown', answer: 'unreadable' },
    ],
    ['a comment first', { body: events(': PROCESSING\n\n') }, { outcome: 'done' }],
    ['an id first', { body: events('id: 7\nretry: 100\n') }, { outcome: 'done' }],
  ];
  for (const [what, answer, expected] of images)
    test(`an image: ${what}`, async (t) =>
      assert.partialDeepStrictEqual(await startOf(t, 'openai', answer), expected));

  const id = { outcome: 'accepted', handle: { id: 'abc' } };
  const videos: [json: unknown, expected: object][] = [
    [{ id: '', task_id: 'abc' }, id],
    [{ id: null, task_id: 'abc' }, id],
    [{ request_id: 'abc' }, id],
    [{ request_id: 'abc', message: 'success' }, id],
    [{ video_id: 'abc', status: 'queued' }, id],
    [{ code: 'success', message: '', data: { task_id: 'abc' } }, id],
    [{ data: { id: 'abc' } }, id],
    [{ request_id: 'abc', error: { message: 'boom' } }, { outcome: 'unknown' }],
    [{ request_id: 'abc', code: 'content_policy', message: 'bad prompt' }, { outcome: 'rejected' }],
    [[{ error: { message: 'flagged by moderation' } }], { outcome: 'rejected' }],
    [{ success: true }, { outcome: 'unknown', answer: 'unreadable' }],
  ];
  for (const [json, expected] of videos)
    test(`a video: ${JSON.stringify(json)}`, async (t) =>
      assert.partialDeepStrictEqual(await startOf(t, 'openai', { json }, videoJob), expected));
});

describe('openai: where a film is', () => {
  const of = (more: object) => ({
    id: 'a',
    status: 'completed',
    prompt: 'https://x.test/p.mp4',
    ...more,
  });
  const cases: [object, ...urls: string[]][] = [
    [{ url: film }, film],
    [{ output: { url: film } }, film],
    [{ outputs: { cost: 0.5, video_url: film } }, film],
    [{ metadata: { url: film } }, film],
    [{ result_url: film }, film],
    [{ download_url: film }, film],
    [{ data: [{ url: film }] }, film],
    [{ videos: [{ type: 'url', url: film }] }, film],
    [{ urls: [film, 'https://cdn.test/2'] }, film],
    [
      { videos: [{ url: 'https://cdn.test/hd' }, { url: 'https://cdn.test/sd' }] },
      'https://cdn.test/hd',
    ],
    [{ driving_video: 'https://x.test/in.mp4', output: { url: film } }, film],
    [{ driving_video: 'https://x.test/in.mp4', params: { video_url: 'https://x.test/in.mp4' } }],
    [{ url: 'https://cdn.test/watch', output: { url: film } }, film],
    [{ project: { url: 'https://x.test/p' }, last: { url: 'https://x.test/l.jpg' } }],
    [
      { data: { owner: { url: 'https://x.test/o' }, video_url: 'https://cdn.test/2' } },
      'https://cdn.test/2',
    ],
    [{ metadata: { url: 'https://x.test/of-the-caller' } }],
    [{ output: 'https://cdn.test/v.png' }],
    [{ content: { video_url: film } }, film],
    [{ data: { image_url: 'https://cdn.test/a.png', video_url: film } }, film],
    [
      {
        video_url: film,
        download_url: 'https://other.test/same.mp4',
        thumbnail_url: 'https://c.test/t.mp4',
      },
      film,
    ],
    [{ output: { url: film }, result_url: 'https://other.test/same.mp4' }, film],
    [{ thumbnail_url: 'https://cdn.test/t.png', input: { video_url: 'https://x.test/i.mp4' } }],
    [{ url: 'http://10.0.0.7/v.mp4' }],
  ];
  for (const [more, ...urls] of cases)
    test(JSON.stringify(more), async (t) => {
      const { upstream, url: own } = await open(t, 'openai', { json: of(more) });
      const told = await upstream.poll({ id: 'a' }, signal);
      assert.ok(told.state === 'done');
      const content = {
        url: `${own}/videos/a/content`,
        headers: { authorization: 'Bearer a-key' },
      };
      const sources = told.result.media.map(({ source }) => source);
      assert.deepEqual(sources, urls.length > 0 ? urls.map((url) => ({ url })) : [content]);
      assert.equal(told.result.cost_usd_micro, 'outputs' in more ? 500_000n : undefined);
    });

  test('an address of the API itself is not taken for a film', async (t) => {
    const own = 'https://up.test/v1';
    const reply = { json: of({ url: `${own}/videos/a`, data: { url: `${own}/videos/b` } }) };
    const fetch = createFetch({ guard: false });
    t.after(() => fetch.close());
    const server = await serve(() => reply);
    t.after(() => server.close());
    const there = {
      ...fetch,
      request: (call: Parameters<typeof fetch.request>[0]) =>
        fetch.request({ ...call, url: call.url.replace(own, server.url) }),
    };
    const tools = { fetch: there, guarded: there, download: () => assert.fail(), now: Date.now };
    const settings = { name: 'it', url: own, key: 'a-key', secret: null, concurrency: 1 };
    const upstream = adapters.openai.create({ ...settings, options: {} }, tools);
    const told = await upstream.poll({ id: 'a' }, signal);
    assert.ok(told.state === 'done');
    const urls = told.result.media.map(({ source }) => ('url' in source ? source.url : null));
    assert.deepEqual(urls, [`${own}/videos/a/content`]);
  });

  test('in the answer, as base64', async (t) => {
    const videos = [{ type: 'base64', base64: Buffer.alloc(2 << 20, 7).toString('base64') }];
    const told = await pollOf(t, 'openai', { json: of({ videos }) });
    assert.ok(told.state === 'done');
    const [{ source }] = told.result.media as [(typeof told.result.media)[0]];
    assert.ok('bytes' in source && source.bytes.length === 2 << 20);
  });
});

describe('a poll', () => {
  const empty: Answer[] = [
    { status: 202, body: '' },
    { status: 204, body: '' },
  ];
  for (const adapter of ['openai', 'http-job', 'fal'] as const)
    for (const answer of empty)
      test(`${adapter}: an empty ${answer.status} tells nothing yet`, async (t) => {
        const handle = adapter === 'fal' ? { request_id: 'a', model: 'fal-ai/flux' } : undefined;
        assert.equal((await pollOf(t, adapter, answer, {}, handle)).state, 'running');
      });
  test('fal: a result that is not there yet', async (t) => {
    const reply = (call: Call) =>
      call.path.endsWith('/status') ? { json: { status: 'COMPLETED' } } : empty[0]!;
    const handle = { request_id: 'a', model: 'fal-ai/flux' };
    assert.equal((await pollOf(t, 'fal', reply, {}, handle)).state, 'running');
  });

  const states: [AdapterName, Answer, state: object | null, options?: object][] = [
    ['openai', { json: { id: 'a', object: 'video' } }, { state: 'running' }],
    ['openai', { json: { error: { message: 'boom' } } }, null],
    ['openai', { json: { status: 'running', progress: 0.45 } }, { progress: 0.45 }],
    ['openai', { json: { status: 'running', progress: 1 } }, { progress: 0.01 }],
    ['openai', { json: { status: 'running', progress: '45/100' } }, { progress: 0.45 }],
    ['openai', { status: 400, json: { error: { message: 'invalid id' } } }, { state: 'missing' }],
    [
      'openai',
      { status: 400, json: { error: { message: 'Video is still being processed' } } },
      null,
    ],
    ['openai', { status: 410, json: {} }, { state: 'missing' }],
    ['openai', { status: 400, json: { error: { code: 'invalid_api_key', message: 'x' } } }, null],
    [
      'openai',
      { json: { status: 'failed', fail_reason: 'sensitive content' } },
      { code: 'upstream_rejected', message: 'sensitive content' },
    ],
    [
      'openai',
      { json: { status: 'failed', message: 'boom' } },
      { code: 'upstream_failed', message: 'boom' },
    ],
    ['openai', { json: { status: 'failed', error: null } }, { message: 'the job ended as failed' }],
    ['http-job', { json: { id: 'a', metadata: {} } }, { state: 'running' }, { status: 'done' }],
    ['http-job', { json: { id: 'a', status: null } }, { state: 'running' }],
    ['http-job', { json: { id: 'a', error: 'boom' } }, null],
    ['http-job', { json: [] }, null],
    ['http-job', { json: { data: null } }, null],
    ['http-job', { json: {} }, null],
    [
      'http-job',
      { status: 400, json: { status: 'failed', error: 'nsfw' } },
      { state: 'failed', message: 'nsfw' },
    ],
    ['http-job', { status: 451, json: { status: 'Cancelled' } }, { state: 'stopped' }],
    [
      'http-job',
      { status: 500, json: { id: 'a', status: 'failed', error: 'x' } },
      { state: 'failed' },
    ],
    ...[401, 402, 403, 408, 425, 429, 502, 503, 504].map((status): (typeof states)[number] => [
      'http-job',
      { status, json: { id: 'a', status: 'failed', error: 'rate limit exceeded' } },
      null,
    ]),
    ['http-job', { status: 500, json: { id: 'a', status: 'error', error: 'x' } }, null],
    ['http-job', { status: 500, json: { status: 'failed', error: 'x' } }, null],
    ['http-job', { status: 500, json: { id: 'b', status: 'failed' } }, null],
    [
      'http-job',
      { status: 400, json: { status: 'error', error: 'no such id' } },
      { state: 'missing' },
    ],
    ['http-job', { status: 404, json: { status: 'failed' } }, { state: 'missing' }],
    ['http-job', { json: { status: 'Task not found' } }, { state: 'missing' }],
  ];
  for (const [adapter, answer, expected, options] of states)
    test(`${adapter}: ${JSON.stringify(answer)}`, async (t) => {
      const look = pollOf(t, adapter, answer, options);
      if (expected === null) await assert.rejects(look);
      else assert.partialDeepStrictEqual(await look, expected);
    });
});

describe('http-job: a start whose success refuses', () => {
  for (const [json, outcome] of [
    [{ error: { message: 'NSFW content detected' } }, 'rejected'],
    [{ code: 7, message: 'the prompt violates our policy' }, 'rejected'],
    [{ message: 'queued' }, 'unknown'],
    [{ success: true, message: 'Accepted. Its content is checked by moderation.' }, 'unknown'],
    [{ message: 'Accepted. Its content is checked by moderation.', uuid: '9' }, 'unknown'],
    [{ error: 'your account is over its quota, see the policy' }, 'unknown'],
    [{ id: 'a', error: { message: 'NSFW' } }, 'accepted'],
  ] as const)
    test(`${JSON.stringify(json)} is ${outcome}`, async (t) =>
      assert.equal((await startOf(t, 'http-job', { json })).outcome, outcome));
});

test('http-job: a poll at a further host of the service, and at no other', async (t) => {
  const there = await serve(() => ({ json: { status: 'busy' } }));
  t.after(() => there.close());
  const reply = { json: { id: 'a', urls: { get: `${there.url}/look?id=a` } } };
  const { host } = new URL(there.url);
  const poll = { path: '/jobs/{id}', address: 'urls.get' };
  const known = await open(t, 'http-job', reply, { poll: { ...poll, hosts: [host] } });
  const told = await known.upstream.start(jobOf());
  assert.ok(told.outcome === 'accepted');
  assert.equal((await known.upstream.poll(told.handle, signal)).state, 'running');
  assert.deepEqual(
    there.calls.map(({ path, headers }) => [path, headers.authorization]),
    [['/look', 'Bearer a-key']],
  );
  const strange = await open(t, 'http-job', reply, { poll: { ...poll, hosts: ['other.test'] } });
  const unknown = await strange.upstream.start(jobOf());
  assert.deepEqual(unknown, { outcome: 'accepted', handle: { id: 'a' } });
  await strange.upstream.poll(told.handle, signal);
  assert.equal(there.calls.length, 1, 'a stored address is judged again');
});

for (const [host, isKnown] of [
  ['jobs.test', true],
  ['jobs.test:443', true],
  ['jobs.test:8443', false],
] as const)
  for (const address of ['https://jobs.test/look', 'https://jobs.test:443/look'])
    test(`http-job: ${address} is ${isKnown ? '' : 'not '}at ${host}`, async () => {
      const asked: string[] = [];
      const body = Buffer.from(JSON.stringify({ id: 'a', get: address, status: 'busy' }));
      const request = ({ url }: { url: string }) => {
        asked.push(url);
        return Promise.resolve({ status: 200, headers: {}, body, truncated: false });
      };
      const options = { ...plain, poll: { path: '/jobs/{id}', address: 'get', hosts: [host] } };
      const settings = { name: 'it', url: 'https://it.test', key: 'a-key', options };
      const tools = { fetch: { request }, guarded: { request }, now: () => 0 };
      const upstream = adapters['http-job'].create(settings as never, tools as never);
      const told = await upstream.start(jobOf());
      assert.ok(told.outcome === 'accepted');
      await upstream.poll(told.handle, signal);
      assert.equal(asked[1], isKnown ? 'https://jobs.test/look' : 'https://it.test/jobs/a');
    });
