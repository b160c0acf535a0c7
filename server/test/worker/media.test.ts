import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createHttpJob } from '../../src/upstreams/http-job/http-job.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import type { UpstreamTools } from '../../src/upstreams/upstream.ts';
import { withService } from '../kit/with-service.ts';
import { serve, type Answer, type Call, type Served } from '../upstreams/fakes/kit.ts';
import { plain } from '../upstreams/http-job-kit.ts';
import { card, moneyOf, rounds, submitted } from './floor.ts';

/**
 * Outputs are chosen by what can be used, judged by their bytes, and charged by what was delivered.
 * The upstream is a server that speaks `http-job` and OpenAI's API; its files come
 * from real programs.
 */

const file = (name: string) => readFileSync(join(import.meta.dirname, '../fixtures/media', name));
const b64 = (name: string) => file(name).toString('base64');

const row = (
  upstream: string,
  id: string,
  kind: string,
  task: string,
  unit: string,
  usd: string,
) => `
  - id: ${upstream}/${id}
    upstream: ${upstream}
    kind: ${kind}
    task: ${task}
    name: ${id}
    price: { unit: ${unit}, usd: "${usd}" }
    max: 10
    cost_usd: "0.004"
    upstream_model: ${id}
    input_schema: { type: object, required: [prompt], properties: { prompt: { type: string }, image_size: { type: string }, num_images: { type: integer }, duration: { type: number } } }
    example: { prompt: a${unit === 'MP' ? ', image_size: 1024x1024' : ''} }`;
const catalog = `
models:${row('jobs', 'picture', 'image', 'text-to-image', 'image', '0.01')}
${row('jobs', 'pixels', 'image', 'text-to-image', 'MP', '1')}
${row('jobs', 'film', 'video', 'text-to-video', 'sec', '0.1')}
${row('jobs', 'larger', 'video', 'upscale', 'sec', '0.1')}
${row('jobs', 'sound', 'video', 'video-to-audio', 'sec', '0.1')}
${row('open', 'picture', 'image', 'text-to-image', 'image', '0.01')}
`;

const fetch = createFetch({ guard: false });
let server: Served;
/** The body of the upstream's next answers. `URL` stands for its address. */
let body: unknown;

function answer({ method, path }: Call): Answer {
  if (path.startsWith('/media/')) {
    const [, , name, from] = path.split('/');
    const bytes = file(name!);
    return { body: bytes.subarray(0, Math.ceil(bytes.length * Number(from ?? 1))) };
  }
  if (method === 'POST' && path === '/jobs') return { json: { id: 'job-1', status: 'queued' } };
  return {
    json: JSON.parse(
      JSON.stringify(body)
        .replaceAll('URL', `${server.url}/media`)
        .replaceAll('HOST', new URL(server.url).host),
    ),
  };
}

const { service, account } = withService(async (use) => {
  server = use(await serve(answer));
  const download = () => Promise.reject(new Error('nothing is downloaded here'));
  const tools: UpstreamTools = { fetch, guarded: fetch, download, now: () => Date.now() };
  const base = { url: server.url, key: 'own-key', secret: null, concurrency: 100 };
  return {
    catalog,
    env: { FAREBOX_ALLOW_PRIVATE_HOSTS: new URL(server.url).host },
    upstreams: [
      Object.assign(
        createHttpJob({ ...base, name: 'jobs', options: { ...plain, outputs: ['out'] } }, tools),
        { origin: server.url },
      ),
      createOpenai({ ...base, name: 'open', options: {} }, tools),
    ],
    account: { open_jobs: 1_000 },
  };
});
after(() => fetch.close());

interface Ended {
  /** The outputs as the response shows them: `field: type size seconds`. */
  outputs: string[];
  error: { code: string; message: string; details?: unknown } | null;
  charged: string;
  response: any;
}

async function ended(model: string, input: object, reply: unknown): Promise<Ended> {
  body = reply;
  const id = await submitted(account, { prompt: 'x', ...input }, model);
  await rounds(service, 3);
  const { status, error, charged_usd_micro: charged } = await card(account, id);
  const path = `/v1/requests/${id}/response`;
  const { body: response } = await account.get(path);
  // Nothing undelivered is charged, nothing delivered is free.
  assert.match(await moneyOf(service, id), status === 'COMPLETED' ? /charge/ : /release/);
  if (status !== 'COMPLETED') return { outputs: [], error, charged, response };
  const outputs = Object.entries<any>(response).flatMap(([field, value]) =>
    [value].flat().flatMap((each) => (each?.url ? [`${field}: ${shown(each)}`] : [])),
  );
  return { outputs, error, charged, response };
}

function shown({ content_type, width, height, duration }: any): string {
  const size = width === undefined ? [] : [`${width}x${height}`];
  const length = duration === undefined ? [] : [`${Number(duration.toFixed(2))}s`];
  return [content_type, ...size, ...length].join(' ');
}

const done = (out: unknown) => ({ status: 'done', out });
const png = 'images: image/png 96x64';
const gif = 'images: image/gif 96x64';

type Case = [
  what: string,
  model: string,
  input: object,
  reply: unknown,
  outputs: string[],
  charged: number,
];

/** `data` of OpenAI's images; an upstream with `b64_json` or `url`, or both. */
const data = (...places: unknown[]) => ({ data: places });
const chosen: Case[] = [
  [
    'an empty url beside the bytes',
    'open/picture',
    {},
    data({ url: '', b64_json: b64('photo.png') }),
    [png],
    10_000,
  ],
  [
    'a url of null beside the bytes',
    'open/picture',
    {},
    data({ url: null, b64_json: b64('photo.png') }),
    [png],
    10_000,
  ],
  [
    'a url that is no address beside the bytes',
    'open/picture',
    {},
    data({ url: 'n/a', b64_json: b64('photo.png') }),
    [png],
    10_000,
  ],
  [
    'empty bytes beside the address',
    'open/picture',
    {},
    data({ url: 'URL/photo.png', b64_json: '' }),
    [png],
    10_000,
  ],
  [
    'bytes that are a data: address',
    'open/picture',
    {},
    data({ b64_json: `data:image/png;base64,${b64('photo.png')}` }),
    [png],
    10_000,
  ],
  [
    'bytes that are an address',
    'open/picture',
    {},
    data({ b64_json: 'URL/photo.png' }),
    [png],
    10_000,
  ],
  ['an address that is base64', 'open/picture', {}, data({ url: b64('photo.png') }), [png], 10_000],
  [
    'base64 in lines',
    'open/picture',
    {},
    data({ b64_json: b64('photo.png').replaceAll(/.{60}/g, '$&\n') }),
    [png],
    10_000,
  ],
  [
    'a place that stayed empty',
    'open/picture',
    { num_images: 2 },
    data({ b64_json: b64('photo.png') }, { b64_json: null, error: { message: 'filtered' } }),
    [png],
    10_000,
  ],
  [
    'empty places of all forms',
    'open/picture',
    { num_images: 4 },
    data(null, {}, { url: '' }, { url: 'URL/photo.png' }),
    [png],
    10_000,
  ],
  [
    'empty places among addresses',
    'jobs/picture',
    { num_images: 4 },
    done([null, '', 'URL/photo.png', { url: null }, 'URL/photo.gif']),
    [png, gif],
    20_000,
  ],
  [
    'one address three times',
    'jobs/picture',
    { num_images: 4 },
    done(['URL/photo.png', 'URL/photo.png', { url: 'URL/photo.png' }]),
    [png],
    10_000,
  ],
  ['a path at the upstream', 'jobs/picture', {}, done({ url: '/media/photo.png' }), [png], 10_000],
  [
    'an address without a scheme',
    'jobs/picture',
    {},
    done('URL/photo.png'.replace('URL', '//HOST/media')),
    [png],
    10_000,
  ],
  [
    'the same bytes twice are two pictures',
    'open/picture',
    { num_images: 2 },
    data({ b64_json: b64('photo.png') }, { b64_json: b64('photo.png') }),
    [png, png],
    20_000,
  ],
];

const judged: Case[] = [
  [
    'a film at an address without an extension',
    'jobs/larger',
    { duration: 2 },
    done('URL/film.mp4/1'),
    ['video: video/mp4 64x48 2s'],
    200_000,
  ],
  [
    'a film and a picture under one path',
    'jobs/film',
    { duration: 2 },
    done(['URL/film.webm', 'URL/photo.png']),
    ['video: video/webm 64x48 2s', png],
    200_000,
  ],
  [
    'two films',
    'jobs/film',
    { duration: 5 },
    done(['URL/film.mp4', 'URL/film.mov']),
    ['videos: video/mp4 64x48 2s', 'videos: video/quicktime 64x48 2s'],
    400_000,
  ],
  [
    'a film with a longer sound',
    'jobs/film',
    { duration: 10 },
    done('URL/long-sound.mp4'),
    ['video: video/mp4 64x48 1s'],
    100_000,
  ],
  [
    'a WebM with a longer sound',
    'jobs/film',
    { duration: 10 },
    done('URL/long-sound.webm'),
    ['video: video/webm 64x48 1s'],
    100_000,
  ],
  [
    'a film on its side',
    'jobs/film',
    { duration: 2 },
    done('URL/rotated.mp4'),
    ['video: video/mp4 48x64 2s'],
    200_000,
  ],
  [
    'sound in an MP4 that a row for sounds sells',
    'jobs/sound',
    { duration: 5 },
    done('URL/sound.mp4'),
    ['audio: audio/mp4 2s'],
    200_000,
  ],
  [
    'sound in a WebM',
    'jobs/sound',
    { duration: 5 },
    done('URL/sound.webm'),
    ['audio: audio/webm 2.02s'],
    202_100,
  ],
  ['a TIFF', 'jobs/picture', {}, done('URL/lzw.tif'), ['images: image/tiff 96x64'], 10_000],
  ['a BMP', 'jobs/picture', {}, done('URL/photo.bmp'), ['images: image/bmp 32x20'], 10_000],
  [
    'a HEIC',
    'jobs/pixels',
    { image_size: '1024x1024' },
    done('URL/photo.heic'),
    ['images: image/heic 96x64'],
    6_144,
  ],
  [
    'an AVIF with a general brand',
    'jobs/picture',
    {},
    done('URL/general.avif'),
    ['images: image/avif 96x64'],
    10_000,
  ],
  [
    'a photo with an orientation',
    'jobs/pixels',
    { image_size: '1024x1024' },
    done('URL/turned.jpg'),
    ['images: image/jpeg 64x96'],
    6_144,
  ],
  [
    'a moving WebP is one picture',
    'jobs/pixels',
    { image_size: '1024x1024' },
    done('URL/moving.webp'),
    ['images: image/webp 64x48'],
    3_072,
  ],
];

for (const [part, cases] of Object.entries({ chosen, judged }))
  describe(`what is returned is ${part} by what it is:`, () => {
    for (const [what, model, input, reply, outputs, charged] of cases)
      test(what, async () => {
        const made = await ended(model, input, reply);
        assert.deepEqual(made.outputs, outputs, JSON.stringify(made.error));
        assert.equal(made.charged, String(charged));
      });
  });

test('what an upstream says about an empty place is told', async () => {
  const place = { b64_json: null, error: { code: 'moderation_blocked', message: 'filtered' } };
  const { response } = await ended('open/picture', {}, data({ url: 'URL/photo.png' }, place));
  assert.deepEqual(response.left_out, ['filtered']);
});

describe('a file that cannot be kept costs the others nothing, and is named:', () => {
  const damaged = 'The model returned a damaged file.';
  const cases: [
    what: string,
    model: string,
    reply: () => unknown,
    outputs: string[],
    charged: number,
    left: RegExp[],
  ][] = [
    [
      'a damaged picture between two',
      'jobs/picture',
      () => done(['URL/photo.png', 'URL/photo.jpg/0.5', 'URL/photo.gif']),
      [png, gif],
      20_000,
      [/damaged/],
    ],
    [
      'the first and the last of three',
      'jobs/picture',
      () => done(['URL/film.avi', 'URL/photo.png', 'URL/photo.psd']),
      [png],
      10_000,
      [/video\/vnd\.avi/, /photoshop/],
    ],
    [
      'bytes that came with the answer',
      'open/picture',
      () =>
        data(
          { b64_json: file('photo.jpg').subarray(0, 900).toString('base64') },
          { b64_json: b64('photo.png') },
        ),
      [png],
      10_000,
      [/damaged/],
    ],
    [
      'an address that must not be fetched',
      'jobs/picture',
      () => done(['http://169.254.169.254/a.png', 'URL/photo.png']),
      [png],
      10_000,
      [/must not be fetched/],
    ],
    [
      'one of two films',
      'jobs/film',
      () => done(['URL/film.mp4/0.7', 'URL/film.mov']),
      ['video: video/quicktime 64x48 2s'],
      200_000,
      [/damaged/],
    ],
    [
      'a poster that is an error page',
      'jobs/film',
      () => ({ status: 'done', out: { video: 'URL/film.mp4', poster: { url: 'URL/README.md' } } }),
      ['video: video/mp4 64x48 2s'],
      200_000,
      [/plain text/],
    ],
  ];
  for (const [what, model, reply, outputs, charged, left] of cases)
    test(what, async () => {
      const made = await ended(model, { num_images: 4, duration: 5 }, reply());
      assert.deepEqual(made.outputs, outputs, JSON.stringify(made.error));
      assert.equal(made.charged, String(charged));
      const { left_out } = made.response;
      assert.equal(left_out.length, left.length);
      left.forEach((words, i) => assert.match(left_out[i], words));
    });

  test('but what was sold has to be among them', async () => {
    const lost = ['URL/film.mp4/0.7', 'URL/photo.png'];
    const { error, charged } = await ended('jobs/film', { duration: 2 }, done(lost));
    assert.deepEqual(
      [error?.code, error?.message, error?.details, charged],
      ['output_unusable', damaged, { reason: 'damaged' }, '0'],
    );
  });
});

describe('an answer with status 200', () => {
  const refusals: [what: string, reply: unknown, message: RegExp][] = [
    [
      'that is a moderator`s refusal',
      { error: { code: 'moderation_blocked', message: 'rejected by the safety system' } },
      /rejected by the safety system/,
    ],
    [
      'that blames the prompt by its type',
      { error: { type: 'invalid_prompt', message: 'no such word' } },
      /no such word/,
    ],
    [
      'whose only place was refused',
      data({ b64_json: null, error: { code: 'content_filter', message: 'filtered' } }),
      /filtered/,
    ],
  ];
  for (const [what, reply, message] of refusals)
    test(`${what} ends as upstream_rejected, with its words`, async () => {
      const { error, charged } = await ended('open/picture', {}, reply);
      assert.equal(error?.code, 'upstream_rejected');
      assert.match(error!.message, message);
      assert.equal(charged, '0');
    });

  const shapes: [what: string, reply: unknown][] = [
    ['a list of another name', { images: [{ url: 'URL/photo.png' }] }],
    ['a bare list', [{ url: 'URL/photo.png' }]],
    ['a list of addresses', { output: ['URL/photo.png'] }],
    ['an empty list beside one', { data: [], images: [{ url: 'URL/photo.png' }] }],
    ['a list of wrapped addresses', { data: [{ image: { url: 'URL/photo.png' } }] }],
  ];
  for (const [what, reply] of shapes)
    test(`may be ${what}`, async () => {
      const { outputs, charged, error } = await ended('open/picture', {}, reply);
      assert.deepEqual([outputs, charged], [[png], '10000'], JSON.stringify(error));
    });

  test('that cannot be read is not called a broken connection', async () => {
    const { error } = await ended('open/picture', {}, { hello: 'world' });
    assert.equal(error?.code, 'outcome_unknown');
    assert.match(error!.message, /could not be read/);
  });

  test('about the account is not the caller`s fault', async () => {
    body = { error: { code: 'x', message: 'Your account violates our usage policy.' } };
    const id = await submitted(account, { prompt: 'x' }, 'open/picture');
    await rounds(service, 3);
    const { error } = await card(account, id);
    assert.notEqual(error?.code, 'upstream_rejected');
  });
});

describe('what is not what was sold ends as output_unusable, free of charge:', () => {
  const cases: [what: string, model: string, name: string, reason: string | undefined][] = [
    ['an MP4 with only sound, sold as a film', 'jobs/film', 'sound.mp4', undefined],
    ['a WebM with only sound, sold as a film', 'jobs/film', 'sound.webm', undefined],
    ['a MOV with only sound, sold as a film', 'jobs/film', 'sound.mov', undefined],
    ['a moving GIF, sold as a film', 'jobs/film', 'moving.gif', undefined],
    ['80 % of a progressive JPEG', 'jobs/picture', 'progressive.jpg/0.8', 'damaged'],
    ['half a JPEG', 'jobs/picture', 'photo.jpg/0.5', 'damaged'],
    ['half a moving GIF', 'jobs/picture', 'moving.gif/0.5', 'damaged'],
    ['half a WAV', 'jobs/sound', 'sound.wav/0.5', 'damaged'],
    ['most of an MP3', 'jobs/sound', 'sound.mp3/0.9', 'damaged'],
    ['a recording that breaks off', 'jobs/film', 'live.webm/0.7', 'damaged'],
    ['an AVI', 'jobs/film', 'film.avi', 'not_media'],
    ['a 3GP', 'jobs/film', 'film.3gp', 'not_media'],
  ];
  for (const [what, model, name, reason] of cases)
    test(what, async () => {
      const { error, charged } = await ended(model, { duration: 2 }, done(`URL/${name}`));
      assert.equal(error?.code, 'output_unusable');
      assert.equal(charged, '0');
      assert.deepEqual(error?.details, reason && { reason });
    });

  test('a type that is not kept is named, with those that are', async () => {
    const { error } = await ended('jobs/film', { duration: 2 }, done('URL/film.avi'));
    assert.match(error!.message, /video\/vnd\.avi.*PNG.*TIFF.*MP4/);
  });
});
