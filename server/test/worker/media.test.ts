import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { sql } from '../../src/lib/sql/sql.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createHttpJob } from '../../src/upstreams/http-job/http-job.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import type { UpstreamTools } from '../../src/upstreams/upstream.ts';
import { withService } from '../kit/with-service.ts';
import { serve, type Answer, type Call, type ServedFake } from '../upstreams/fakes/kit.ts';
import { plain } from '../upstreams/http-job-kit.ts';
import { card, moneyOf, rounds, submitted } from './floor.ts';

/**
 * Outputs are chosen by what can be used, judged by their bytes, and charged by what was delivered.
 * The upstream is a server that speaks `http-job` and OpenAI's API; its files come
 * from real programs.
 */

const file = (name: string) => readFileSync(join(import.meta.dirname, '../fixtures/media', name));
const b64 = (name: string) => file(name).toString('base64');
const photo = b64('photo.png');

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
let server: ServedFake;
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

interface EndedRequest {
  /** The outputs as the response shows them: `field: type size seconds`. */
  outputs: string[];
  error: { code: string; message: string; details?: unknown } | null;
  charged: string;
  response: any;
}

async function ended(model: string, input: object, reply: unknown): Promise<EndedRequest> {
  body = reply;
  const id = await submitted(account, { prompt: 'x', ...input }, model);
  await rounds(service, 3);
  // A file that cannot be read is fetched again for ten minutes.
  await service.db.run(sql`update attempts set unfetched_at = unfetched_at - interval '11 min'
    where request_id = ${id}`);
  await rounds(service, 1);
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

type CaseCall = [model: string, input: object];
type Case = [what: string, asked: CaseCall, reply: unknown, charged: number, ...outputs: string[]];

const images = (model: string, num_images?: number): CaseCall => [model, { num_images }];
const open = (count?: number) => images('open/picture', count);
const picture = (count?: number) => images('jobs/picture', count);
const film = (duration: number): CaseCall => ['jobs/film', { duration }];
const larger = (duration: number): CaseCall => ['jobs/larger', { duration }];
const sound = (duration: number): CaseCall => ['jobs/sound', { duration }];
const pixels: CaseCall = ['jobs/pixels', { image_size: '1024x1024' }];

/** `data` of OpenAI's images; an upstream with `b64_json` or `url`, or both. */
const data = (...places: unknown[]) => ({ data: places });
const chosen: Case[] = [
  ['an empty url beside the bytes', open(), data({ url: '', b64_json: photo }), 10_000, png],
  ['a url of null beside the bytes', open(), data({ url: null, b64_json: photo }), 10_000, png],
  [
    'a url that is no address beside the bytes',
    open(),
    data({ url: 'n/a', b64_json: photo }),
    10_000,
    png,
  ],
  [
    'empty bytes beside the address',
    open(),
    data({ url: 'URL/photo.png', b64_json: '' }),
    10_000,
    png,
  ],
  [
    'bytes that are a data: address',
    open(),
    data({ b64_json: `data:image/png;base64,${photo}` }),
    10_000,
    png,
  ],
  ['bytes that are an address', open(), data({ b64_json: 'URL/photo.png' }), 10_000, png],
  ['an address that is base64', open(), data({ url: photo }), 10_000, png],
  ['base64 in lines', open(), data({ b64_json: photo.replaceAll(/.{60}/g, '$&\n') }), 10_000, png],
  [
    'a place that stayed empty',
    open(2),
    data({ b64_json: photo }, { b64_json: null, error: { message: 'filtered' } }),
    10_000,
    png,
  ],
  [
    'empty places of all forms',
    open(4),
    data(null, {}, { url: '' }, { url: 'URL/photo.png' }),
    10_000,
    png,
  ],
  [
    'empty places among addresses',
    picture(4),
    done([null, '', 'URL/photo.png', { url: null }, 'URL/photo.gif']),
    20_000,
    png,
    gif,
  ],
  [
    'one address three times',
    picture(4),
    done(['URL/photo.png', 'URL/photo.png', { url: 'URL/photo.png' }]),
    10_000,
    png,
  ],
  ['a path at the upstream', picture(), done({ url: '/media/photo.png' }), 10_000, png],
  [
    'an address without a scheme',
    picture(),
    done('URL/photo.png'.replace('URL', '//HOST/media')),
    10_000,
    png,
  ],
  [
    'the same bytes twice are two pictures',
    open(2),
    data({ b64_json: photo }, { b64_json: photo }),
    20_000,
    png,
    png,
  ],
];

const judged: Case[] = [
  [
    'a film at an address without an extension',
    larger(2),
    done('URL/film.mp4/1'),
    200_000,
    'video: video/mp4 64x48 2s',
  ],
  [
    'a film and a picture under one path',
    film(2),
    done(['URL/film.webm', 'URL/photo.png']),
    200_000,
    'video: video/webm 64x48 2s',
    png,
  ],
  [
    'two films',
    film(5),
    done(['URL/film.mp4', 'URL/film.mov']),
    400_000,
    'videos: video/mp4 64x48 2s',
    'videos: video/quicktime 64x48 2s',
  ],
  [
    'a film with a longer sound',
    film(10),
    done('URL/long-sound.mp4'),
    100_000,
    'video: video/mp4 64x48 1s',
  ],
  [
    'a WebM with a longer sound',
    film(10),
    done('URL/long-sound.webm'),
    100_000,
    'video: video/webm 64x48 1s',
  ],
  ['a film on its side', film(2), done('URL/rotated.mp4'), 200_000, 'video: video/mp4 48x64 2s'],
  [
    'sound in an MP4 that a row for sounds sells',
    sound(5),
    done('URL/sound.mp4'),
    200_000,
    'audio: audio/mp4 2s',
  ],
  ['sound in a WebM', sound(5), done('URL/sound.webm'), 202_100, 'audio: audio/webm 2.02s'],
  ['a TIFF', picture(), done('URL/lzw.tif'), 10_000, 'images: image/tiff 96x64'],
  ['a BMP', picture(), done('URL/photo.bmp'), 10_000, 'images: image/bmp 32x20'],
  ['a HEIC', pixels, done('URL/photo.heic'), 6_144, 'images: image/heic 96x64'],
  [
    'an AVIF with a general brand',
    picture(),
    done('URL/general.avif'),
    10_000,
    'images: image/avif 96x64',
  ],
  [
    'a photo with an orientation',
    pixels,
    done('URL/turned.jpg'),
    6_144,
    'images: image/jpeg 64x96',
  ],
  [
    'a moving WebP is one picture',
    pixels,
    done('URL/moving.webp'),
    3_072,
    'images: image/webp 64x48',
  ],
];

for (const [part, cases] of Object.entries({ chosen, judged }))
  describe(`what is returned is ${part} by what it is:`, () => {
    for (const [what, [model, input], reply, charged, ...outputs] of cases)
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
          { b64_json: photo },
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
