import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { Mp3OutputFormat, Mp4OutputFormat } from 'mediabunny';
import type { App } from '../../src/app.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { OutputMedia, JobResult } from '../../src/upstreams/upstream.ts';
import { images, tinyPng } from '../kit/fake.ts';
import { before, withService } from '../kit/with-service.ts';
import { film, image, picture, pngOf, seconds, sound } from '../storage/media-fixtures.ts';
import { card, gate, moneyOf, rowOf, submitted, wake } from './floor.ts';

/**
 * An upstream's output is copied, measured, priced and kept, or the request fails and nothing is.
 */

/**
 * A service that may fetch from the upstream's host, and keeps at most 20,000 bytes of an output.
 */
let trusting: App;
let server: Server;
let host: string;
/** The answers of the upstream's host, by path. */
const pages: Record<string, { status: number; body: Buffer; headers?: Record<string, string> }[]> =
  {};

const { service, account } = withService(async (use) => {
  server = use(
    createServer((req, res) => {
      const answers = pages[req.url!] ?? [{ status: 404, body: Buffer.from('no') }];
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      res.writeHead(answer.status, answer.headers).end(answer.body);
    }),
  );
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { account: { open_jobs: 1_000 } };
});
before(async () => {
  trusting = (
    await service.another({ FAREBOX_ALLOW_PRIVATE_HOSTS: host, FAREBOX_OUTPUT_MAX_BYTES: '20000' })
  ).app;
});
beforeEach(() => void (service.fake.behave = {}));

const bytes = (field: string, data: Uint8Array): OutputMedia => ({
  field,
  source: { bytes: data },
});
const link = (field: string, path: string): OutputMedia => ({
  field,
  source: { url: `http://${host}${path}` },
});
const result = (media: OutputMedia[], more: Partial<JobResult> = {}): JobResult => ({
  media,
  fields: {},
  ...more,
});

/** The stored files of a request. */
function stored(id: string): string[] {
  const folder = join(service.dir, 'media');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.includes(id) && statSync(join(folder, path)).isFile(),
  );
}

/** Submits, lets the upstream finish with this result, and works until nothing is due. */
async function finished(
  made: JobResult,
  input: object = { prompt: 'a cat' },
  model?: string,
  app = service.app,
): Promise<string> {
  service.fake.behave.poll = () => ({ state: 'done', result: made });
  const id = await submitted(account, input, model);
  for (let i = 0; i < 3; i++) {
    await service.wakeAll();
    await app.worker!.runOnce();
  }
  return id;
}

async function response(id: string): Promise<any> {
  const reply = await account.get(`/v1/requests/${id}/response`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

describe('a generation that worked', () => {
  test('gives every medium under its field, measured from its bytes', async () => {
    const [png, mp4, wav] = [
      await image('png'),
      await film(new Mp4OutputFormat()),
      await sound(new Mp3OutputFormat(), 'mp3'),
    ];
    const id = await finished(
      result(
        [bytes('images', png), bytes('images', tinyPng), bytes('video', mp4), bytes('audio', wav)],
        { fields: { seed: 7 } },
      ),
    );
    const body = await response(id);
    assert.deepEqual(Object.keys(body).toSorted(), ['audio', 'images', 'seed', 'video']);
    assert.deepEqual(
      body.images.map((each: any) => [each.content_type, each.width, each.height, each.file_size]),
      [
        ['image/png', picture.width, picture.height, png.length],
        ['image/png', 1, 1, tinyPng.length],
      ],
    );
    assert.equal(body.video.content_type, 'video/mp4');
    assert.ok(Math.abs(body.video.duration - seconds) < 0.2, body.video.duration);
    assert.match(body.audio.content_type, /^audio\//);
    const { output_urls } = await card(account, id);
    const kept = await Promise.all(
      output_urls.map(
        async (url: string) => (await service.call('GET', url.replace(/.*(?=\/v1)/, ''))).bytes,
      ),
    );
    assert.deepEqual(kept, [png, tinyPng, mp4, wav]);
    assert.equal(stored(id).length, 4);
  });

  const charges: [
    what: string,
    input: object,
    model: string,
    made: () => Promise<JobResult>,
    quoted: number,
    charged: number,
    quantity: number,
  ][] = [
    [
      'four images asked, four delivered',
      { num_images: 4 },
      'fake/image',
      async () => images(4),
      40_000,
      40_000,
      4,
    ],
    [
      'four asked, one delivered',
      { num_images: 4 },
      'fake/image',
      async () => images(1),
      40_000,
      10_000,
      1,
    ],
    [
      'one asked, three delivered',
      { num_images: 1 },
      'fake/image',
      async () => images(3),
      10_000,
      10_000,
      3,
    ],
    [
      "the upstream's own count",
      { num_images: 4 },
      'fake/image',
      async () => ({ ...images(4), quantity: 2 }),
      40_000,
      20_000,
      2,
    ],
    [
      'a count of nothing',
      { num_images: 4 },
      'fake/image',
      async () => ({ ...images(4), quantity: 0 }),
      40_000,
      40_000,
      4,
    ],
    [
      'a count beyond what was asked',
      { num_images: 2 },
      'fake/image',
      async () => ({ ...images(2), quantity: 9 }),
      20_000,
      20_000,
      2,
    ],
    [
      'a count of filtered images, too',
      { num_images: 4 },
      'fake/image',
      async () => ({ ...images(2), quantity: 4, fields: { left_out: ['nsfw', 'nsfw'] } }),
      40_000,
      20_000,
      2,
    ],
    [
      'a count that is none',
      { num_images: 3 },
      'fake/image',
      async () => ({ ...images(2), quantity: Number.NaN }),
      30_000,
      20_000,
      2,
    ],
    [
      'a count below nothing',
      { num_images: 3 },
      'fake/image',
      async () => ({ ...images(2), quantity: -1 }),
      30_000,
      20_000,
      2,
    ],
    [
      'a film shorter than asked',
      { duration_seconds: 5, resolution: '480p' },
      'fake/film/text-to-video',
      async () => result([bytes('video', await film(new Mp4OutputFormat()))]),
      250_000,
      100_000,
      2,
    ],
    [
      'a film of a length that nobody named',
      {},
      'fake/film/text-to-video',
      async () => result([bytes('video', await film(new Mp4OutputFormat()))]),
      500_000,
      200_000,
      2,
    ],
  ];
  for (const [what, input, model, made, quoted, charged, quantity] of charges) {
    test(`is charged by what was delivered: ${what}`, async () => {
      const before = await service.balance(account);
      const id = await finished(await made(), { prompt: 'x', ...input }, model);
      const shown = await card(account, id);
      assert.deepEqual(
        [shown.status, shown.quoted_usd_micro, shown.charged_usd_micro],
        ['COMPLETED', String(quoted), String(charged)],
      );
      const settled = Math.round(shown.price.quantity * 10) / 10;
      assert.equal(settled, quantity);
      assert.equal(await moneyOf(service, id), `reserve ${quoted}, charge ${charged}`);
      assert.equal((await service.balance(account)).available, before.available - BigInt(charged));
    });
  }

  test('is requested as it was reserved if the caller left out all fields', async () => {
    const made = { ...result([bytes('video', await film(new Mp4OutputFormat()))]), quantity: 5 };
    const id = await finished(made, { prompt: 'x' }, 'fake/film/text-to-video');
    const asked = service.fake.starts.find((start) => start.request_id === id)!;
    assert.deepEqual(asked.input, { prompt: 'x', resolution: '720p', duration_seconds: 5 });
    assert.equal(await moneyOf(service, id), 'reserve 500000, charge 500000');
  });

  test('shows its cost to the operator, and to nobody else', async () => {
    const id = await finished({ ...images(1), cost_usd_micro: 4_321n });
    const odd = await finished({ ...images(1), cost_usd_micro: -1n });
    const rows = await service.db.run(sql`select cost_usd_micro from request_results
      where request_id = any(${[id, odd]}::uuid[]) order by request_id`);
    // If the upstream reports no valid cost, the row's cost counts: 0.004 USD an image.
    assert.deepEqual(rows, [{ cost_usd_micro: 4_321n }, { cost_usd_micro: 4_000n }]);
    assert.doesNotMatch(JSON.stringify(await card(account, id)), /cost|[":]4321\b|\.004321/);
  });

  test('shows the operator the cost of the delivered resolution', async () => {
    const made = { ...result([bytes('video', await film(new Mp4OutputFormat()))]), quantity: 2 };
    for (const [input, cost] of [
      [{ resolution: '480p', duration_seconds: 2 }, 20_000n],
      [{ resolution: '720p', duration_seconds: 2 }, 40_000n],
      // If the resolution is left out, the most expensive one is reserved and requested.
      [{ duration_seconds: 2 }, 40_000n],
    ] as const) {
      const id = await finished(made, { prompt: 'x', ...input }, 'fake/film/text-to-video');
      const [row] = await service.db.run(sql`select cost_usd_micro from request_results
        where request_id = ${id}`);
      assert.deepEqual(row, { cost_usd_micro: cost }, JSON.stringify(input));
    }
  });

  test('in the very first reply needs no poll', async () => {
    service.fake.behave.start = () => ({ outcome: 'done', result: images(1) });
    const id = await submitted(account);
    await service.work();
    const shown = await card(account, id);
    assert.equal(shown.status, 'COMPLETED');
    assert.ok(shown.started_at <= shown.completed_at);
    assert.equal(service.fake.jobs.has(id), false);
  });
});

describe('an output that is not yet at its address', () => {
  const early: [what: string, body: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['a page', Buffer.from('<html>please wait</html>')],
    ["a store's error", Buffer.from('<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>')],
    ['a state', Buffer.from('{"status":"processing"}')],
    ['a picture that is cut short', tinyPng.subarray(0, 50)],
  ];
  const passed = (id: string, seconds: number) =>
    service.db
      .run(sql`update attempts set unfetched_at = now() - ${seconds}::float8 * interval '1 s'
      where request_id = ${id}`);
  const again = async (id: string) => {
    await wake(service, id);
    await trusting.worker!.runOnce();
  };
  for (const [what, body] of early)
    test(`${what}: it is fetched again, and charged once`, async () => {
      pages['/early.png'] = [
        { status: 200, body },
        { status: 200, body: tinyPng },
      ];
      const made = result([link('images', '/early.png')]);
      const id = await finished(made, { prompt: 'x' }, 'fake/image', trusting);
      assert.equal((await card(account, id)).status, 'COMPLETED');
      assert.equal(stored(id).length, 1);
      assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    });

  for (const [body, reason] of [
    [early[1]![1], 'not_media'],
    [early[4]![1], 'damaged'],
  ] as const)
    test(`for ten minutes: ${reason}, and it costs nothing`, async () => {
      pages['/never.png'] = [{ status: 200, body }];
      const made = result([link('images', '/never.png')]);
      const id = await finished(made, { prompt: 'x' }, 'fake/image', trusting);
      await passed(id, 590);
      await again(id);
      assert.equal((await card(account, id)).status, 'IN_PROGRESS');
      await passed(id, 610);
      await again(id);
      const { status, error } = await card(account, id);
      assert.deepEqual([status, error.details.reason], ['FAILED', reason]);
      assert.deepEqual(stored(id), []);
      assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    });

  test('keeps a good one beside it waiting for two minutes only', async () => {
    pages['/never.png'] = [{ status: 200, body: early[1]![1] }];
    const made = result([link('images', '/never.png'), bytes('images', tinyPng)]);
    const id = await finished(made, { prompt: 'x' }, 'fake/image', trusting);
    assert.equal((await card(account, id)).status, 'IN_PROGRESS');
    await passed(id, 130);
    await again(id);
    const { images, left_out } = await response(id);
    assert.equal(images.length, 1);
    assert.match(String(left_out), /not an image/);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  const archive = Buffer.from('PK\x03\x04\x14\0\0\0\x08\0'.padEnd(60, 'x'), 'latin1');
  test('but one of another type fails at once', async () => {
    pages['/a.zip'] = [{ status: 200, body: archive }];
    const alone = result([link('images', '/a.zip')]);
    const lone = await finished(alone, { prompt: 'x' }, 'fake/image', trusting);
    assert.equal((await card(account, lone)).error.details.reason, 'not_media');
    const both = result([link('images', '/a.zip'), bytes('images', tinyPng)]);
    const id = await finished(both, { prompt: 'x' }, 'fake/image', trusting);
    assert.match(String((await response(id)).left_out), /not an image/);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  const pastDeadline = async (id: string) => {
    await service.db.run(sql`update requests set deadline_at = now() - interval '1 s'
      where id = ${id}`);
    await again(id);
  };
  test('costs no good one at the deadline', async () => {
    pages['/never.png'] = [{ status: 200, body: early[1]![1] }];
    const made = result([link('images', '/never.png'), bytes('images', tinyPng)]);
    const id = await finished(made, { prompt: 'x' }, 'fake/image', trusting);
    await pastDeadline(id);
    assert.equal((await response(id)).images.length, 1);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });
  test('says at the deadline what was there', async () => {
    pages['/never.png'] = [{ status: 200, body: early[1]![1] }];
    const made = result([link('images', '/never.png')]);
    const id = await finished(made, { prompt: 'x' }, 'fake/image', trusting);
    await pastDeadline(id);
    const { status, error } = await card(account, id);
    assert.deepEqual([status, error.details.reason], ['FAILED', 'not_media']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });
});

describe('an output that cannot be used', () => {
  const drawing = (size: string) =>
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${size}/>`);
  const cases: [what: string, made: () => JobResult, reason: string | undefined, says: RegExp][] = [
    ['no output at all', () => result([]), undefined, /no output/],
    [
      'no output and no words',
      () => result([], { fields: { seed: 7, text: 5 } }),
      undefined,
      /no output/,
    ],
    [
      'words in place of a picture',
      () => result([], { fields: { text: 'three cats' } }),
      undefined,
      /no output/,
    ],
    [
      'a page in place of a picture',
      () => result([bytes('images', Buffer.from('<html>402</html>'))]),
      'not_media',
      /not an image/,
    ],
    [
      'nothing in place of a picture',
      () => result([bytes('images', Buffer.alloc(0))]),
      'not_media',
      /not an image/,
    ],
    [
      'a program',
      () => result([bytes('images', Buffer.from('\x7fELF\x02\x01\x01'))]),
      'not_media',
      /not an image/,
    ],
    [
      'a picture that ends in its head',
      () => result([bytes('images', pngOf(9, 9).subarray(0, 24))]),
      'damaged',
      /damaged/,
    ],
    [
      'a picture that says it is wider than any can be',
      () => result([bytes('images', pngOf(2 ** 31, 1))]),
      'damaged',
      /damaged/,
    ],
    [
      'a drawing that says so',
      () => result([bytes('images', drawing('width="2147483648" height="1"'))]),
      'damaged',
      /damaged/,
    ],
    [
      'a drawing that says it has no end',
      () => result([bytes('images', drawing('viewBox="0 0 1 1e999"'))]),
      'damaged',
      /damaged/,
    ],
    [
      'two bad ones',
      () => result([bytes('images', Buffer.from('x')), bytes('images', tinyPng.subarray(0, 40))]),
      'not_media',
      /not an image/,
    ],
    ['more than anybody can ask for', () => images(201), undefined, /too many/],
    [
      'an address on the own machine',
      () => result([link('images', '/cat.png')]),
      'not_fetched',
      /must not be fetched/,
    ],
    [
      "the address of the cloud's secrets",
      () =>
        result([{ field: 'images', source: { url: 'http://169.254.169.254/latest/meta-data' } }]),
      'not_fetched',
      /must not be fetched/,
    ],
    [
      'a file of ours',
      () => result([{ field: 'images', source: { url: 'file:///etc/passwd' } }]),
      'not_fetched',
      /must not be fetched/,
    ],
    [
      'what is no address',
      () => result([{ field: 'images', source: { url: 'not an address' } }]),
      'not_fetched',
      /must not be fetched/,
    ],
  ];
  for (const [what, made, reason, says] of cases) {
    test(`${what}: fails as output_unusable, free of charge, and nothing of it is kept`, async () => {
      pages['/cat.png'] = [{ status: 200, body: tinyPng }];
      const id = await finished(made());
      const { status, error, output_urls, charged_usd_micro } = await card(account, id);
      assert.deepEqual(
        [status, error?.code, error?.details?.reason, output_urls, charged_usd_micro],
        ['FAILED', 'output_unusable', reason, [], '0'],
      );
      const path = `/v1/requests/${id}/status`;
      assert.deepEqual((await account.get(path)).body.error, error);
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /127\.0\.0\.1|169\.254|passwd/);
      assert.deepEqual(stored(id), []);
      assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    });
  }

  test('beside a good one: only the good one is kept and charged', async () => {
    const bad = [Buffer.from('x'), tinyPng.subarray(0, 40)].map((each) => bytes('images', each));
    const id = await finished(result([bad[0]!, bytes('images', tinyPng), bad[1]!]));
    const { images, left_out } = await response(id);
    assert.equal(images.length, 1);
    assert.deepEqual([left_out.length, stored(id).length], [2, 1]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('an SVG is an image like any other, measured in whole pixels', async () => {
    const sizes: [string, number | undefined, number | undefined][] = [
      ['', undefined, undefined],
      ['width="24.5" height="0.2"', 25, 1],
    ];
    for (const [size, ...expected] of sizes) {
      const id = await finished(result([bytes('images', drawing(size))]));
      const { content_type, width, height } = (await response(id)).images[0];
      assert.deepEqual([content_type, width, height], ['image/svg+xml', ...expected]);
    }
  });
});

test('an end that cannot be written is tried again less and less often', async () => {
  const refuse = 'alter table outputs add constraint none_now check (size < 0) not valid';
  await service.db.run(rawSql(refuse));
  const id = await submitted(account);
  await service.app.worker!.runOnce();
  const pauses: number[] = [];
  for (let i = 0; i < 7; i++) {
    await wake(service, id);
    await service.app.worker!.runOnce();
    pauses.push((await rowOf(service, id)).wakes_in!);
  }
  assert.ok(pauses[6]! > 8 * Math.max(pauses[0]!, 0.05), pauses.join(' '));
  assert.equal(await moneyOf(service, id), 'reserve 10000');
  await service.db.run(rawSql('alter table outputs drop constraint none_now'));
  await wake(service, id);
  await service.app.worker!.runOnce();
  assert.equal((await card(account, id)).status, 'COMPLETED');
  assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
});

describe('an output larger than is kept', () => {
  const large = Buffer.concat([pngOf(10, 10), Buffer.alloc(20_001)]);
  const cases: [what: string, made: () => JobResult][] = [
    ['as bytes', () => result([bytes('images', large)])],
    ['by its Content-Length', () => result([link('images', '/large.png')])],
    ['without one', () => result([link('images', '/endless.png')])],
  ];
  for (const [what, made] of cases) {
    test(`${what}: fails as output_too_large, and nothing of it is kept`, async () => {
      pages['/large.png'] = [
        { status: 200, body: large, headers: { 'content-length': String(large.length) } },
      ];
      pages['/endless.png'] = [
        { status: 200, body: large, headers: { 'transfer-encoding': 'chunked' } },
      ];
      const id = await finished(made(), undefined, undefined, trusting);
      assert.equal((await card(account, id)).error?.code, 'output_too_large');
      assert.deepEqual(stored(id), []);
      assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    });
  }
});

describe("an output at the upstream's address", () => {
  test("is fetched, where the operator allows that host, with the upstream's headers", async () => {
    let authorization: string | undefined;
    server.once('request', (req) => (authorization = req.headers.authorization));
    pages['/ok.png'] = [{ status: 200, body: tinyPng }];
    const media = {
      field: 'images',
      source: { url: `http://${host}/ok.png`, headers: { authorization: 'Bearer theirs' } },
    };
    const id = await finished(result([media]), undefined, undefined, trusting);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(authorization, 'Bearer theirs');
    assert.doesNotMatch(JSON.stringify(await response(id)), new RegExp(host));
  });

  test('that is not there yet is fetched again, and the first half is not kept twice', async () => {
    pages['/late.png'] = [
      { status: 503, body: Buffer.from('later') },
      { status: 500, body: Buffer.from('later') },
      { status: 200, body: tinyPng },
    ];
    const id = await finished(
      result([bytes('images', tinyPng), link('images', '/late.png')]),
      undefined,
      undefined,
      trusting,
    );
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    await service.wakeAll();
    await trusting.worker!.runOnce();
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(stored(id).length, 2);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('that redirects to a private address is not followed', async () => {
    pages['/hop.png'] = [
      { status: 302, body: Buffer.alloc(0), headers: { location: 'http://169.254.169.254/' } },
    ];
    const id = await finished(result([link('images', '/hop.png')]), undefined, undefined, trusting);
    assert.notEqual((await rowOf(service, id)).status, 'COMPLETED');
    assert.deepEqual(stored(id), []);
  });
});

describe('an output stored by an overtaken worker', () => {
  test('is removed, and the outputs that count stay', async () => {
    const slow = gate();
    service.fake.behave.start = async (job, self) => {
      if (self.starts.filter(({ request_id }) => request_id === job.request_id).length > 1)
        return { outcome: 'done', result: images(1) };
      await slow.pass();
      return { outcome: 'done', result: images(3) };
    };
    const { id, first } = await overtaken(slow.reached);
    const kept = stored(id);
    slow.open();
    await first;
    assert.deepEqual(stored(id), kept);
    assert.equal((await response(id)).images.length, 1);
  });

  test('and could not use takes nothing away from the outputs that count', async () => {
    const slow = gate();
    service.fake.behave.start = async (job, self) => {
      if (self.starts.filter(({ request_id }) => request_id === job.request_id).length > 1)
        return { outcome: 'done', result: images(2) };
      await slow.pass();
      return {
        outcome: 'done',
        result: result([bytes('images', tinyPng), bytes('images', Buffer.from('broken'))]),
      };
    };
    const { id, first } = await overtaken(slow.reached);
    slow.open();
    await first;
    assert.equal(stored(id).length, 2);
    for (const { url } of (await response(id)).images) {
      assert.equal((await service.call('GET', url.replace(/.*(?=\/v1)/, ''))).status, 200);
    }
  });

  async function overtaken(
    reached: Promise<void>,
  ): Promise<{ id: string; first: Promise<number> }> {
    const id = await submitted(account);
    const first = service.app.worker!.runOnce();
    await reached;
    await wake(service, id);
    await trusting.worker!.runOnce();
    assert.equal((await rowOf(service, id)).status, 'COMPLETED');
    return { id, first };
  }
});
