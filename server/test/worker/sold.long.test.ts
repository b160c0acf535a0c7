import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, test } from 'node:test';
import { Mp3OutputFormat, Mp4OutputFormat } from 'mediabunny';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { OutputMedia, JobResult } from '../../src/upstreams/upstream.ts';
import { images, tinyPng } from '../kit/fake.ts';
import { withService } from '../kit/with-service.ts';
import { film, sound } from '../storage/media-fixtures.ts';
import { card, moneyOf, rounds, rowOf, submitted } from './floor.ts';

/**
 * Only outputs that the row sells are charged, and odd answers of an upstream do not stop others.
 */

const row = (id: string, kind: string, task: string, unit = 'request') => `
  - id: ${id}
    kind: ${kind}
    task: ${task}
    name: ${id}
    price: { unit: ${unit}, usd: "0.01" }
    max: 4
    cost_usd: "0.004"
    upstream_model: ${id}
    input_schema: { type: object, required: [prompt], properties: { prompt: { type: string } } }
    example: { prompt: a }`;
const catalog = `
upstream: fake
models:${row('picture', 'image', 'text-to-image', 'image')}${row('vector', 'image', 'text-to-vector')}
${row('larger-film', 'video', 'upscale')}${row('film', 'video', 'text-to-video')}
${row('analysis', 'video', 'video-analyze')}${row('sound', 'video', 'video-to-audio')}
${row('film-seconds', 'video', 'text-to-video', 'sec')}${row('sound-seconds', 'video', 'video-to-audio', 'sec')}
${row('vectors', 'image', 'text-to-vector', 'image')}
`;

let server: Server;
let link: string;
let isUp = true;
const { service, account } = withService(async (use) => {
  server = use(createServer((_req, res) => res.writeHead(isUp ? 200 : 503).end(tinyPng)));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  link = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`;
  const env = { FAREBOX_ALLOW_PRIVATE_HOSTS: new URL(link).host };
  return { catalog, env, account: { open_jobs: 1_000 } };
});
beforeEach(() => {
  service.fake.behave = {};
  isUp = true;
});

const bytes = (data: Uint8Array): OutputMedia => ({ field: 'made', source: { bytes: data } });
const saying = (fields: Record<string, unknown>, media: OutputMedia[] = []): JobResult => ({
  media,
  fields,
});
const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

/** The end of a request with this result of the upstream: `COMPLETED`, or the failure's code. */
async function ended(model: string, made: JobResult): Promise<{ id: string; end: string }> {
  service.fake.behave.poll = () => ({ state: 'done', result: made });
  const id = await submitted(account, { prompt: 'x' }, model);
  await rounds(service, 2);
  const { status, error, charged_usd_micro } = await card(account, id);
  const money = status === 'COMPLETED' ? 'charge' : 'release';
  assert.equal(await moneyOf(service, id), `reserve 10000, ${money} 10000`);
  assert.equal(charged_usd_micro, status === 'COMPLETED' ? '10000' : '0');
  return { id, end: error?.code ?? status };
}

async function response(id: string): Promise<any> {
  const reply = await account.get(`/v1/requests/${id}/response`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
const media = {
  'a picture': () => tinyPng,
  'a drawing': () => svg,
  'a film': () => film(new Mp4OutputFormat()),
  'a sound': () => sound(new Mp3OutputFormat(), 'mp3'),
};
const sells: Record<string, (keyof typeof media | 'words')[]> = {
  picture: ['a picture', 'a drawing'],
  vector: ['a drawing'],
  'larger-film': ['a film'],
  film: ['a film'],
  sound: ['a film', 'a sound'],
  analysis: ['a film', 'words'],
};

describe('a row is charged for what it sells, and for nothing else:', () => {
  for (const [model, sold] of Object.entries(sells)) {
    for (const [name, make] of Object.entries(media)) {
      const fits = sold.includes(name as keyof typeof media);
      test(`${model} ${fits ? 'may be' : 'is never'} ${name}`, async () => {
        const made = saying({ seed: 7 }, [bytes(await make())]);
        const { end } = await ended(model, made);
        assert.equal(end, fits ? 'COMPLETED' : 'output_unusable');
      });
    }
    test(`${model} ${sold.includes('words') ? 'may be' : 'is never'} words alone`, async () => {
      const { end } = await ended(model, saying({ text: 'a cat runs' }));
      assert.equal(end, sold.includes('words') ? 'COMPLETED' : 'output_unusable');
    });
    test(`${model} is never nothing`, async () => {
      for (const text of ['', ' \n', link])
        assert.equal((await ended(model, saying({ text }))).end, 'output_unusable', text);
    });
  }
});

describe('further outputs cost nothing:', () => {
  const asked = { prompt: 'x', duration_seconds: 4, num_images: 4 };
  const cases: [model: string, came: (keyof typeof media)[], charged: number][] = [
    ['film-seconds', ['a film'], 20_000],
    ['film-seconds', ['a film', 'a picture'], 20_000],
    ['film-seconds', ['a film', 'a sound'], 20_000],
    ['film-seconds', ['a film', 'a film', 'a film'], 40_000],
    ['sound-seconds', ['a film', 'a sound', 'a picture'], 20_000],
    ['vectors', ['a drawing', 'a picture'], 10_000],
    ['vectors', ['a drawing', 'a drawing', 'a picture'], 20_000],
  ];
  for (const [model, came, charged] of cases)
    test(`${model}, of ${came.join(' and ')}`, async () => {
      const file = async (each: keyof typeof media) => bytes(await media[each]());
      const files = await Promise.all(came.map(file));
      const made = files.map((each) => ({ ...each, field: 'files' }));
      service.fake.behave.poll = () => ({ state: 'done', result: saying({}, made) });
      const id = await submitted(account, asked, model);
      await rounds(service, 2);
      const { status, charged_usd_micro } = await card(account, id);
      assert.deepEqual([status, charged_usd_micro], ['COMPLETED', String(charged)]);
      assert.equal(await moneyOf(service, id), `reserve 40000, charge ${charged}`);
      assert.equal((await response(id)).files.length, came.length, 'a file was left out');
    });
});

describe('text beside the media', () => {
  test('contains no address of the upstream, at any place', async () => {
    const fields = {
      text: link,
      seed: 7,
      meta: { page: ` ${link}\n`, list: [link, 'two', { page: link, is: null }] },
      note: `made at ${new Date(0).getUTCFullYear()}`,
    };
    const { id, end } = await ended('picture', saying(fields, [bytes(tinyPng)]));
    assert.equal(end, 'COMPLETED');
    const { made: _made, ...told } = await response(id);
    const meta = { list: ['two', { is: null }] };
    assert.deepEqual(told, { seed: 7, meta, note: 'made at 1970' });
  });

  test('is kept 64 levels deep, and fails the request beyond', async () => {
    const made = (levels: number) => saying({ meta: deep(levels) }, [bytes(tinyPng)]);
    assert.equal((await ended('picture', made(63))).end, 'COMPLETED');
    for (const levels of [64, 2_000, 7_000])
      assert.equal((await ended('picture', made(levels))).end, 'output_unusable');
  });

  test('is kept up to 1 MiB, and is too large beyond', async () => {
    const made = (length: number) => saying({ text: 'x'.repeat(length) });
    const { id, end } = await ended('analysis', made(1024 * 1024 - 11));
    assert.equal(end, 'COMPLETED');
    assert.equal((await response(id)).text.length, 1024 * 1024 - 11);
    assert.equal((await ended('analysis', made(1024 * 1024 - 10))).end, 'output_too_large');
    const wide = saying({ text: '\u00e9'.repeat(600_000) });
    assert.equal((await ended('analysis', wide)).end, 'output_too_large');
  });
});

test('an impossible count is measured like a missing one', async () => {
  for (const quantity of [1e10, 1e30, 1e308, Infinity, NaN, -1]) {
    const { id, end } = await ended('picture', { ...images(1), quantity });
    assert.equal(end, 'COMPLETED', String(quantity));
    assert.equal((await card(account, id)).price.quantity, 1);
  }
});

test('an absurd cost is not stored, and the request ends', async () => {
  const { id } = await ended('picture', { ...images(1), cost_usd_micro: 10n ** 30n });
  const told = 'select cost_usd_micro from request_results where request_id = $1';
  assert.deepEqual(await service.db.run(rawSql(told, [id])), [{ cost_usd_micro: 4_000n }]);
});

describe('a start that was answered with addresses', () => {
  const handleOf = async (id: string) => {
    const [kept] = await service.db.run<{ handle: Record<string, unknown> | null }>(sql`
      select handle from attempts where request_id = ${id}`);
    return kept!.handle;
  };
  const started = async (fields: Record<string, unknown>) => {
    const result = saying(fields, [{ field: 'images', source: { url: link } }]);
    service.fake.behave.start = () => ({ outcome: 'done', result });
    const id = await submitted(account, { prompt: 'x' }, 'picture');
    await service.work();
    return id;
  };

  test('keeps them until they can be fetched, under a name that no adapter uses', async () => {
    isUp = false;
    const id = await started({ seed: 7 });
    const [name, ...others] = Object.keys((await handleOf(id))!);
    assert.deepEqual([others, /^\w+$/.test(name!)], [[], false]);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    isUp = true;
    await rounds(service, 2);
    assert.equal((await rowOf(service, id)).status, 'COMPLETED');
    assert.equal(service.fake.starts.filter(({ request_id }) => request_id === id).length, 1);
  });

  test('is finished at once if there are more than a handle can hold', async () => {
    const large = await started({ note: 'x'.repeat(256 * 1024) });
    assert.deepEqual(
      [await handleOf(large), (await rowOf(service, large)).status],
      [null, 'COMPLETED'],
    );
    const nested = await started({ meta: deep(7_000) });
    assert.equal(await handleOf(nested), null);
    assert.equal((await rowOf(service, nested)).error_code, 'output_unusable');
  });

  test("is not what an upstream's own handle is taken for, whatever it is called", async () => {
    const finished = { media: [{ field: 'images', source: { url: link } }], fields: {} };
    service.fake.behave.start = () => ({ outcome: 'accepted', handle: { finished } });
    let asked: unknown;
    service.fake.behave.poll = (handle) => {
      asked = handle;
      return { state: 'failed', code: 'upstream_failed', message: 'It broke.' };
    };
    const id = await submitted(account, { prompt: 'x' }, 'picture');
    await rounds(service, 2);
    assert.deepEqual(asked, { finished });
    assert.equal((await rowOf(service, id)).status, 'FAILED');
  });
});
