import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import { CallbackRefused, type JobState, type StartOutcome } from '../../src/upstreams/upstream.ts';
import { media } from './fakes/kit.ts';
import { jobOf, nowMs, openStand, type Stand } from './openai-kit.ts';
import { ended as endOf, fileOf, handleOf, signal } from './job-kit.ts';

type Json = Record<string, any>;

let plain: Stand;
let router: Stand;
beforeEach(async () => {
  plain = await openStand();
  router = await openStand({ videos: 'openrouter', check_path: '/key' }, 'openrouter');
});
afterEach(() => Promise.all([plain.close(), router.close()]));

const picture = fileOf(media.png);
const draw = (changed: Json = {}) => jobOf({ task: 'text-to-image', ...changed });
const film = (changed: Json = {}) =>
  jobOf({
    model: 'sora-fake',
    task: 'text-to-video',
    input: { prompt: 'a harbour', seconds: 4 },
    ...changed,
  });

function resultOf(outcome: StartOutcome | JobState): Json {
  assert.ok('result' in outcome, inspect(outcome));
  return outcome.result;
}

/** The upstream, if its server answers every call with this JSON. */
function answering(json: string | Buffer) {
  const body = typeof json === 'string' ? Buffer.from(json) : json;
  const request = async () => ({ status: 200, headers: {}, body, truncated: false });
  const settings = { name: 'x', url: 'https://a.example/v1', key: null, secret: null };
  const tools = { ...plain.tools, fetch: { ...plain.tools.fetch, request } };
  return createOpenai({ ...settings, concurrency: 1, options: {} }, tools);
}

const accepted = async (stand: Stand, job = film()): Promise<Json> =>
  handleOf(await stand.upstream.start(job));

const ended = ({ upstream }: Stand, handle: Json) => endOf(upstream, handle);

describe('images', () => {
  test("from a prompt: JSON with the row's fields, and the image in the answer", async () => {
    const input = { prompt: 'a harbour', n: 2, size: '1024x1024', stream: true, model: 'other' };
    const outcome = await plain.upstream.start(draw({ model: 'gpt-image-fake', input }));
    const { media: made } = resultOf(outcome);
    const call = plain.fake.calls[0]!;
    assert.equal(`${call.method} ${call.path}`, 'POST /v1/images/generations');
    assert.equal(call.headers.authorization, `Bearer ${plain.fake.key}`);
    const sent = { prompt: 'a harbour', n: 2, size: '1024x1024', model: 'gpt-image-fake' };
    assert.deepEqual(JSON.parse(call.body.toString()), sent);
    assert.equal(made.length, 2);
    assert.equal(made[0].field, 'images');
    assert.deepEqual(Buffer.from(made[0].source.bytes), media.png);
    assert.equal(plain.fake.journal.length, 1);
  });

  test('a count that the row does not price is not sent', async () => {
    const job = draw({ input: { prompt: 'x', n: 10 }, fields: ['prompt'] });
    await plain.upstream.start(job);
    assert.equal(plain.fake.journal[0]!.input.n, undefined);
  });

  test('as addresses, which are fetched without our key', async () => {
    const { media: made } = resultOf(await plain.upstream.start(draw()));
    assert.match(made[0].source.url, /\/outputs\/img_1-0\.png$/);
    assert.equal(made[0].source.headers, undefined);
  });

  test('in other forms than OpenAI`s; masks and previews keep their names', async () => {
    const base64 = media.png.toString('base64');
    for (const reply of [
      { image: base64, seed: 7 },
      { artifacts: [{ base64, finishReason: 'SUCCESS' }] },
      { data: { image_base64: [base64] } },
      { data: [{ url: '', b64_json: `image/png;base64,${base64}` }, null] },
      { output: { image: { b64_json: base64 }, mask: { url: 'https://a.example/m' } } },
    ]) {
      const { media: made } = resultOf(await answering(JSON.stringify(reply)).start(draw()));
      const [first, ...rest] = made.map(({ field }: Json) => field);
      assert.equal(first, 'images', inspect(reply));
      assert.deepEqual(rest, 'output' in reply ? ['mask'] : []);
      assert.deepEqual(Buffer.from(made[0].source.bytes), media.png);
    }
  });

  test('as the bytes alone, or as events, of which partial pictures are none', async () => {
    const event = (type: string, bytes: Buffer) => {
      const data = JSON.stringify({ type, b64_json: bytes.toString('base64') });
      return `event: ${type}\ndata: ${data}\n\n`;
    };
    const partial = event('image_generation.partial_image', Buffer.alloc(90, 7));
    const last = event('image_generation.completed', media.png);
    for (const reply of [media.png, partial + last, `${last}data: [DONE]\n\n`]) {
      const { media: made } = resultOf(await answering(reply).start(draw()));
      assert.equal(made.length, 1);
      assert.deepEqual(Buffer.from(made[0].source.bytes), media.png);
    }
    const refused = { type: 'error', error: { code: 'moderation_blocked', message: 'no' } };
    const told = await answering(`data: ${JSON.stringify(refused)}\n\n`).start(draw());
    assert.partialDeepStrictEqual(told, { outcome: 'rejected', message: 'no' });
    for (const reply of [partial, 'data: {"a"'])
      assert.equal((await answering(reply).start(draw())).outcome, 'unknown');
  });

  test('an edit is a form that holds the bytes of the files', async () => {
    const input = {
      prompt: 'at night',
      image_urls: ['file_1', 'https://example.com/b.png'],
      mask_url: `data:image/png;base64,${media.png.toString('base64')}`,
      quality: 'high',
    };
    const job = draw({ task: 'edit', input, files: { file_1: picture } });
    assert.equal((await plain.upstream.start(job)).outcome, 'done');
    const call = plain.fake.calls[0]!;
    assert.equal(call.path, '/v1/images/edits');
    assert.match(String(call.headers['content-type']), /^multipart\/form-data; boundary=/);
    assert.equal(Number(call.headers['content-length']), call.body.length);
    const { input: sent } = plain.fake.journal[0]!;
    assert.deepEqual([sent.prompt, sent.quality], ['at night', 'high']);
    assert.equal((sent['image[]'] as Json[]).length, 2);
    assert.equal((sent.mask as Json[])[0]!.content_type, 'image/png');
    for (const bytes of plain.fake.files.values()) assert.deepEqual(bytes, media.png);
    assert.equal(plain.fake.files.size, 3);
    assert.deepEqual(plain.downloads.splice(0), ['https://example.com/b.png']);
  });

  test('an address that breaks off is the caller`s fault; a file of ours that does is nobody`s', async () => {
    const broken = {
      ...picture,
      open: async () =>
        (async function* () {
          yield Buffer.from('half');
          throw new Error('the connection broke off');
        })(),
    };
    const tools = { ...plain.tools, download: async () => broken };
    const settings = { name: 'fake', url: plain.fake.url, key: plain.fake.key, secret: null };
    const upstream = createOpenai({ ...settings, concurrency: 10, options: {} }, tools);
    const start = (image_url: string) =>
      upstream.start(
        draw({ task: 'edit', input: { prompt: 'x', image_url }, files: { file_1: broken } }),
      );
    const theirs = await start('https://example.com/a.png');
    assert.partialDeepStrictEqual(theirs, { outcome: 'rejected' });
    assert.match((theirs as Json).message, /^image_url could not be fetched/);
    assert.doesNotMatch((theirs as Json).message, /broke off/);
    assert.partialDeepStrictEqual(await start('file_1'), { outcome: 'not_accepted' });
    assert.equal(plain.fake.calls.length, 0);
  });

  test('one picture is called image, as all servers take it', async () => {
    const input = { prompt: 'at night', image_url: 'file_1' };
    await plain.upstream.start(draw({ task: 'edit', input, files: { file_1: picture } }));
    assert.equal((plain.fake.journal[0]!.input.image as Json[]).length, 1);
  });

  test('rejected before a call: no image to edit, too large a file, a type that it does not take', async () => {
    const large = fileOf(Buffer.alloc(51 << 20));
    const jobs: Json[] = [
      { input: { prompt: 'x' } },
      { input: { prompt: 'x', image_url: 'file_1' }, files: { file_1: large } },
      { input: { prompt: 'x', video_url: 'https://example.com/a.mp4' } },
      { input: { prompt: 'x', image_url: 'ftp://example.com/a.png' } },
    ];
    for (const job of jobs) {
      const outcome = (await plain.upstream.start(draw({ task: 'edit', ...job }))) as Json;
      assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
    }
    assert.equal(plain.fake.calls.length, 0);
  });

  test('a task it has no call for is nobody else`s fault, and free', async () => {
    const outcome = await plain.upstream.start(draw({ task: 'lip-sync' }));
    assert.partialDeepStrictEqual(outcome, { outcome: 'not_accepted', why: 'model' });
    assert.equal(plain.fake.calls.length, 0);
  });
});

describe('faults of a start', () => {
  test('image: refused by the policy, empty, several, as data', async () => {
    plain.fake.play('finish-refused');
    const refused = (await plain.upstream.start(draw())) as Json;
    assert.equal(refused.outcome, 'rejected');
    assert.match(refused.message, /safety system/);
    plain.fake.play('finish-empty');
    assert.deepEqual(resultOf(await plain.upstream.start(draw())).media, []);
    plain.fake.play('output-several');
    assert.equal(resultOf(await plain.upstream.start(draw())).media.length, 2);
    plain.fake.play('output-data');
    const [made] = resultOf(await plain.upstream.start(draw())).media;
    assert.deepEqual(Buffer.from(made.source.bytes), media.png);
  });

  test('the signal ends a start, whose outcome is then unknown', async () => {
    const abort = new AbortController();
    abort.abort();
    const outcome = await plain.upstream.start(draw({ signal: abort.signal }));
    assert.equal(outcome.outcome, 'not_accepted', 'nothing had been sent');
    assert.equal(plain.fake.journal.length, 0);
  });
});

describe('videos', () => {
  test('a form with the seconds as text, and the file as its reference', async () => {
    const input = { prompt: 'it sails', seconds: 8, size: '1280x720', image_url: 'file_1' };
    const job = film({ task: 'image-to-video', input, files: { file_1: picture } });
    const handle = await accepted(plain, job);
    assert.deepEqual(handle, { id: 'video_1' });
    const call = plain.fake.calls[0]!;
    assert.equal(`${call.method} ${call.path}`, 'POST /v1/videos');
    const [entry] = plain.fake.journal;
    assert.equal(entry!.model, 'sora-fake');
    const { input_reference, ...texts } = entry!.input as Json;
    assert.deepEqual(texts, { prompt: 'it sails', seconds: '8', size: '1280x720' });
    assert.equal(input_reference[0].content_type, 'image/png');
    assert.deepEqual([...plain.fake.files.values()], [media.png]);
  });

  test('queued, running, done: its content is fetched with our key', async () => {
    const handle = await accepted(plain);
    const states = [];
    for (let look = 0; look < 3; look++) states.push(await plain.upstream.poll(handle, signal));
    assert.deepEqual(states.slice(0, 2), [
      { state: 'running', progress: 0 },
      { state: 'running', progress: 0.4 },
    ]);
    assert.deepEqual(resultOf(states[2]!), {
      media: [
        {
          field: 'video',
          source: {
            url: `${plain.fake.url}/videos/video_1/content`,
            headers: { authorization: `Bearer ${plain.fake.key}` },
          },
          content_type: 'video/mp4',
        },
      ],
      fields: {},
    });
  });

  test('as JSON by option, a stored file as data', async () => {
    const upstream = plain.other({ videos: 'json' });
    const input = { prompt: 'it sails', seconds: 4, image_url: 'file_1' };
    const job = film({ task: 'image-to-video', input, files: { file_1: picture } });
    assert.equal((await upstream.start(job)).outcome, 'accepted');
    const sent = JSON.parse(plain.fake.calls[0]!.body.toString());
    assert.deepEqual([sent.model, sent.seconds], ['sora-fake', '4']);
    assert.match(sent.input_reference.image_url, /^data:image\/png;base64,/);
    assert.equal(sent.image_url, undefined);
  });

  test('a job is not polled at an address that the definition no longer has', async () => {
    const handle = await accepted(router);
    const moved = await openStand({}, 'openrouter');
    try {
      const asked = router.fake.calls.length;
      const settings = { name: 'fake', url: moved.fake.url, key: 'another key', secret: null };
      const options = { videos: 'openrouter' };
      const there = createOpenai({ ...settings, concurrency: 1, options }, router.tools);
      await there.poll(handle, signal).catch(() => {});
      assert.equal(router.fake.calls.length, asked, 'the old host gets no call, and no key');
      assert.deepEqual(
        moved.fake.calls.map(({ path }) => path),
        [`/v1/videos/${handle.id}`],
      );
    } finally {
      await moved.close();
    }
  });

  test("OpenRouter's: frames, references, whole seconds, the address to poll, and the cost", async () => {
    const input = {
      prompt: 'it sails',
      duration: 8,
      resolution: '720p',
      image_url: 'https://example.com/a.png',
      end_image_url: 'file_1',
      reference_image_urls: ['https://example.com/c.png'],
    };
    const callback_url = 'https://pay.example.com/callbacks/1';
    const files = { file_1: { ...picture, size: 9 << 20, link: 'https://pay.example.com/f' } };
    const job = film({ task: 'image-to-video', input, files, callback_url });
    const handle = await accepted(router, job);
    const polling_url = `${router.fake.url}/videos/video_1`;
    assert.deepEqual(handle, { id: 'video_1', polling_url });
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    assert.deepEqual(JSON.parse(router.fake.calls[0]!.body.toString()), {
      prompt: 'it sails',
      duration: 8,
      resolution: '720p',
      frame_images: [
        { ...image('https://example.com/a.png'), frame_type: 'first_frame' },
        { ...image('https://pay.example.com/f'), frame_type: 'last_frame' },
      ],
      input_references: [image('https://example.com/c.png')],
      model: 'sora-fake',
      callback_url,
    });
    assert.deepEqual(router.downloads, [], 'it fetches public addresses itself');
    const result = resultOf(await ended(router, handle));
    assert.equal(result.cost_usd_micro, 500_000n);
    assert.equal(result.media[0].source.url, `${polling_url}/content?index=0`);
    assert.equal(result.media[0].source.headers.authorization, `Bearer ${router.fake.key}`);
  });

  test('our key goes to no other host', async () => {
    const urls: string[] = [];
    const seen: (string | undefined)[] = [];
    const answers: Json[] = [
      { id: 'v', status: 'pending', polling_url: 'https://evil.example/v' },
      { id: 'v', status: 'completed', unsigned_urls: ['https://evil.example/v.mp4'] },
    ];
    const request = async (call: { url: string; headers?: Record<string, string> }) => {
      urls.push(call.url);
      seen.push(call.headers?.authorization);
      const body = Buffer.from(JSON.stringify(answers.shift()));
      return { status: 200, headers: {}, body, truncated: false };
    };
    const url = 'https://openrouter.example/api/v1';
    const settings = { name: 'x', url, key: 'sk-x', secret: null, concurrency: 1 };
    const tools = { ...router.tools, fetch: { ...router.tools.fetch, request } };
    const upstream = createOpenai({ ...settings, options: { videos: 'openrouter' } }, tools);
    const { handle } = (await upstream.start(film())) as Json;
    assert.deepEqual(handle, { id: 'v' });
    const { media: made } = resultOf(await upstream.poll(handle, signal));
    assert.deepEqual(urls, [`${url}/videos`, `${url}/videos/v`]);
    assert.deepEqual(made[0].source, { url: 'https://evil.example/v.mp4' });
    assert.deepEqual(seen, ['Bearer sk-x', 'Bearer sk-x']);
  });

  test('an id that changes the path is refused', async () => {
    for (const id of ['..', '.', '', 'a b', null]) {
      const upstream = answering(JSON.stringify({ id, status: 'queued' }));
      assert.equal((await upstream.start(film())).outcome, 'unknown');
    }
  });

  test('done at an address of its own, which is fetched without our key', async () => {
    const url = 'https://cdn.example/film.mp4';
    for (const own of [{ video: { url } }, { video_url: url }, { video: { url, duration: 8 } }]) {
      const upstream = answering(JSON.stringify({ id: 'v', status: 'completed', ...own }));
      const { media } = resultOf(await upstream.poll({ id: 'v' }, signal));
      assert.deepEqual(media, [{ field: 'video', source: { url }, content_type: 'video/mp4' }]);
    }
    const behindNull = { video_url: null, video: { url } };
    const upstream = answering(JSON.stringify({ id: 'v', status: 'completed', ...behindNull }));
    const { media } = resultOf(await upstream.poll({ id: 'v' }, signal));
    assert.equal(media[0].source.url, url);
  });

  test('done at an address that others cannot fetch, so its content is asked for', async () => {
    const useless = [
      'film.mp4',
      'http://10.0.0.7/f.mp4',
      'https://pub.example/v1/videos/v/content',
    ];
    for (const url of useless) {
      const done = { id: 'v', status: 'completed', video: { url } };
      const upstream = answering(JSON.stringify(done));
      const { media } = resultOf(await upstream.poll({ id: 'v' }, signal));
      assert.match(media[0].source.url, /a\.example\/v1\/videos\/v\/content$/);
    }
  });

  test('an id that is a number keeps its digits', async () => {
    for (const id of ['7', '9007199254740993']) {
      const upstream = answering(`{"id":${id},"status":"queued"}`);
      assert.deepEqual(handleOf(await upstream.start(film())), { id });
    }
  });

  test('two references where one is taken are refused, and nothing is sent', async () => {
    const input = { prompt: 'x', image_url: 'file_1', reference_image_urls: ['file_1'] };
    const job = film({ input, files: { file_1: picture } });
    for (const upstream of [plain.upstream, plain.other({ videos: 'json' })])
      assert.equal((await upstream.start(job)).outcome, 'rejected');
    assert.equal(plain.fake.calls.length, 0);
  });
});

describe('polls of a video', () => {
  test('running for as long as it is held', async () => {
    plain.fake.hold(true);
    const handle = await accepted(plain);
    for (let look = 0; look < 5; look++)
      assert.equal((await plain.upstream.poll(handle, signal)).state, 'running');
  });

  test('done with nothing, done with two', async () => {
    router.fake.play('finish-empty');
    assert.deepEqual(resultOf(await ended(router, await accepted(router))).media, []);
    router.fake.play('output-several');
    const { media: made } = resultOf(await ended(router, await accepted(router)));
    assert.deepEqual(
      made.map((each: Json) => each.field),
      ['videos', 'videos'],
    );
  });
});

describe('callbacks of OpenRouter', () => {
  const callbackOf = async (at = new Date(nowMs)) => {
    const { id } = await accepted(router);
    const { headers, body } = router.fake.callback(id, at)!;
    return { model: 'sora-fake', headers, body: Buffer.from(body), signal };
  };

  test('a valid one names its job, a duplicate says the same', async () => {
    const call = await callbackOf();
    assert.deepEqual(await router.upstream.callback!(call), { id: 'video_1' });
    assert.deepEqual(await router.upstream.callback!(call), { id: 'video_1' });
    assert.equal((await router.upstream.poll({ id: 'video_1' }, signal)).state, 'running');
  });

  test('refused: forged, changed, unsigned, too old, from the future', async () => {
    const good = await callbackOf();
    const signature = good.headers['x-openrouter-signature']!;
    const forged = signature.replace(/v1=.{8}/, 'v1=00000000');
    const bad = [
      { ...good, headers: { 'x-openrouter-signature': forged } },
      { ...good, headers: { 'x-openrouter-signature': signature.slice(0, -2) } },
      { ...good, headers: {} },
      { ...good, body: Buffer.concat([good.body, Buffer.from(' ')]) },
      await callbackOf(new Date(nowMs - 301_000)),
      await callbackOf(new Date(nowMs + 301_000)),
    ];
    for (const call of bad) await assert.rejects(router.upstream.callback!(call), CallbackRefused);
    assert.ok(await router.upstream.callback!(await callbackOf(new Date(nowMs - 299_000))));
  });

  test('the class says whether it calls back; without a secret it is not asked to', async () => {
    assert.equal(router.upstream.class, 'C+');
    const plainly = plain.other({ videos: 'openrouter' });
    assert.equal(plainly.class, 'C');
    assert.equal(plainly.callback, undefined);
    await plainly.start(film({ callback_url: 'https://pay.example.com/callbacks/1' }));
    assert.equal(JSON.parse(plain.fake.calls[0]!.body.toString()).callback_url, undefined);
  });
});

describe('the operator`s questions', () => {
  test('check: works, or says what is wrong, without the key', async () => {
    assert.equal(await plain.upstream.check!(signal), null);
    assert.equal(plain.fake.calls.at(-1)!.path, '/v1/models');
    assert.equal(await router.upstream.check!(signal), null);
    assert.equal(router.fake.calls.at(-1)!.path, '/v1/key');
    const wrong = await plain.other({}, { key: 'sk-of-the-operator' }).check!(signal);
    assert.match(wrong ?? '', /^answered 401: Incorrect API key/);
    assert.ok(!wrong!.includes('sk-of'));
    const lost = await plain.other({ check_path: '/nowhere' }).check!(signal);
    assert.match(lost ?? '', /^answered 404/);
    assert.equal(plain.fake.journal.length, 0);
  });

  test('a web page with status 200 does not count as a model', async () => {
    assert.equal(await router.upstream.hasModel!('maker/plain', signal), true);
    const body = Buffer.from('<!doctype html>');
    const request = async () => ({ status: 200, headers: {}, body, truncated: false });
    const settings = { name: 'fake', url: router.fake.url, key: router.fake.key, secret: null };
    const upstream = createOpenai(
      { ...settings, concurrency: 10, options: { videos: 'openrouter' } },
      { ...router.tools, fetch: { ...router.tools.fetch, request } },
    );
    await assert.rejects(
      upstream.hasModel!('maker/plain', signal),
      /answered 200 without the model/,
    );
  });

  test('models: the days on which they are shut down, if there is one', async () => {
    const [models, listed] = await Promise.all([
      plain.upstream.models!(signal),
      router.upstream.models!(signal),
    ]);
    const [told, routed] = await Promise.all([
      plain.upstream.terms!(models, signal),
      router.upstream.terms!(listed, signal),
    ]);
    const days = (terms: typeof told) =>
      [...terms].flatMap(([id, { shutdown }]) => (shutdown ? [[id, shutdown]] : []));
    assert.deepEqual(days(told), [['dall-e-fake', '2026-05-12']]);
    assert.deepEqual(days(routed), [
      ['maker/plain', '2999-12-31'],
      ['other/by-the-hour', '2026-01-01'],
    ]);
  });

  test('models: their ids', async () => {
    const ids = await plain.upstream.models!(signal);
    assert.ok(ids.includes('gpt-fake') && ids.length === 4);
    await assert.rejects(plain.other({}, { key: 'sk-of-the-operator' }).models!(signal), (e) => {
      assert.ok(!String(e).includes('sk-of'));
      return true;
    });
  });
});
