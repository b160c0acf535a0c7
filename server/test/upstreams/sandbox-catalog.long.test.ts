import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import sharp from 'sharp';
import { resolutions, tasks, type Model } from '../../src/core/catalog/catalog.ts';
import { upstreamInput, validateInput } from '../../src/core/catalog/model-input.ts';
import { price } from '../../src/core/price/price.ts';
import { catalogLines } from '../../src/http/docs/guide-catalog.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { openSignal, make, openSandbox, type OpenedSandbox } from './sandbox-kit.ts';

const text = await readFile(new URL('../../../catalog/sandbox.yaml', import.meta.url), 'utf8');
const { rows, problems } = parseCatalogText(text, 'sandbox.yaml');

let opened: OpenedSandbox;

before(async () => void (opened = await openSandbox()));
after(() => opened.close());

const valuesOf = <T>(of: (row: Model) => T[]): Set<T> => new Set(rows.flatMap(of));

describe("the sandbox's catalog", () => {
  test('has no problem', () => {
    assert.deepEqual(problems, []);
  });

  test('shows every task, unit, resolution and kind of extra', () => {
    assert.deepEqual([...valuesOf((row) => [row.task])].sort(), [...tasks].sort());
    assert.deepEqual([...valuesOf((row) => [row.price.unit])].sort(), [
      '1M tokens',
      'MP',
      'image',
      'request',
      'sec',
    ]);
    const offered = valuesOf((row) => row.price.resolutions);
    assert.deepEqual(
      resolutions.filter((name) => !offered.has(name)),
      [],
    );
    const extras = valuesOf((row) => row.price.extras.map(({ kind }) => kind));
    assert.deepEqual([...extras].sort(), ['per_item', 'when']);
    assert.deepEqual(
      [...valuesOf((row) => (row.kind === 'text' ? [row.on_disconnect] : []))].sort(),
      ['finish', 'stop'],
    );
  });

  test('has ids of one to four segments, one uncensored, one that ends in two words', () => {
    const segments = valuesOf((row) => [row.id.split('/').length]);
    for (const count of [1, 2, 3, 4]) assert.ok(segments.has(count), `${count} segments`);
    assert.equal(rows.filter((row) => row.uncensored).length, 1);
    assert.ok(rows.some((row) => row.id.endsWith('/video-to-video/edit')));
    assert.ok(rows.some((row) => row.price.max === 0));
  });

  test('takes every form of a size by which it is priced', () => {
    const model = rows.find(({ id }) => id === 'sandbox/canvas/max/text-to-image')!;
    const fits = (image_size: unknown) =>
      validateInput(model, { prompt: 'x', image_size }) === null;
    for (const size of ['1600x900', '64x64', '4096x4096', 'square_hd', { width: 64, height: 65 }]) {
      assert.ok(fits(size), JSON.stringify(size));
      price(model, { prompt: 'x', image_size: size });
    }
    for (const size of ['63x64', '64x4097', '01600x900', '1600 x 900', 'huge'])
      assert.ok(!fits(size), size);
  });

  test('says exactly what is wrong with a size', () => {
    const model = rows.find(({ id }) => id === 'sandbox/canvas/max/text-to-image')!;
    const told = (image_size: unknown) =>
      validateInput(model, { prompt: 'x', image_size })!.map(({ path, message }) => path + message);
    assert.deepEqual(told({ width: 6000, height: 4096 }), ['/image_size/widthmust be <= 4096']);
    for (const size of ['65x63', 7, null, []]) {
      assert.deepEqual(told(size), [
        '/image_sizemust be one of "square_hd", "square", "portrait_4_3", "portrait_16_9", ' +
          '"landscape_4_3", "landscape_16_9"; or "64x64" … "4096x4096"; ' +
          'or an object with width and height',
      ]);
    }
  });

  test('refuses at once a seed that the sandbox would refuse', () => {
    const seeded = rows.filter(
      ({ input_schema }) => (input_schema.properties as Record<string, unknown>)?.seed,
    );
    assert.ok(seeded.length > 5);
    const told = (model: Model, seed: number) =>
      validateInput(model, { ...model.example, seed })?.map(({ path }) => path) ?? null;
    for (const model of seeded) {
      if (model.kind === 'text') continue;
      for (const seed of [2 ** 53, 1.2345e19, -(2 ** 53), 0.5])
        assert.deepEqual(told(model, seed), ['/seed'], `${model.id} ${seed}`);
      for (const seed of [Number.MAX_SAFE_INTEGER, -7, Number.MIN_SAFE_INTEGER])
        assert.equal(told(model, seed), null, `${model.id} ${seed}`);
    }
  });

  test('says in the guide what lip-sync needs besides sound', () => {
    const lips = rows.filter(({ task }) => task === 'lip-sync');
    assert.match(catalogLines(lips), /\| audio_url, \(video_url or image_url\)$/);
  });

  test('lets a model without a stated maximum be asked for many', () => {
    const model = rows.find(({ price: rules }) => rules.max === 0 && rules.unit === 'image')!;
    for (const num_images of [1, 17, 100]) {
      const input = { prompt: 'x', num_images };
      assert.equal(validateInput(model, input), null);
      assert.equal(price(model, input).quantity, num_images);
    }
    assert.throws(() => price(model, { prompt: 'x', num_images: 101 }), { code: 'unpriceable' });
  });

  test('counts videos in seconds and images in images', () => {
    const words = { video: 'seconds', image: 'images', text: 'tokens' };
    for (const row of rows) assert.equal(row.max_unit, words[row.kind], row.id);
  });

  for (const row of rows) {
    test(`${row.id} takes a field that it does not know`, () => {
      assert.equal(validateInput(row, { ...row.example, field_of_tomorrow: { a: [1] } }), null);
    });
  }

  const sizes = [
    ['sandbox/canvas/text-to-image', '1k', 1024],
    ['sandbox-sketch', '4k', 512],
  ] as const;
  for (const [id, resolution, side] of sizes) {
    test(`a field that ${id} does not price does not reach the sandbox`, async () => {
      const row = rows.find((each) => each.id === id)!;
      const asked = { prompt: 'x', resolution, width: 2000, height: 2000, image_size: '900x900' };
      assert.equal(validateInput(row, asked), null);
      const input = upstreamInput(row, row.upstreams[0]!, asked);
      const { files } = await make(opened.sandbox, row.task, input);
      const { width, height } = await sharp(files[0]!.bytes).metadata();
      assert.deepEqual({ width, height }, { width: side, height: side });
    });
  }

  for (const row of rows.filter(({ kind }) => kind === 'text')) {
    test(`the example of ${row.id} works`, async () => {
      const model = row.upstreams[0]!.model;
      const { conversation, max_tokens } = readCompletionsCall({ model, ...row.example });
      const outcome = await opened.sandbox.chat!({
        request_id: 'r',
        model,
        conversation,
        max_tokens: max_tokens ?? 4096,
        cacheControl: true,
        context_tokens: row.context_tokens,
        stream: false,
        hold: () => {},
        inShare: (work) => work(),
        signal: openSignal,
      });
      assert.ok(outcome.outcome === 'reply');
      const events = await Array.fromAsync(outcome.events);
      assert.ok(events.some(({ type }) => type === 'end'));
    });
  }
});
