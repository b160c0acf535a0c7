import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { resolutions, tasks } from '../../src/core/catalog.ts';
import type { Model } from '../../src/core/catalog.ts';
import { upstreamInput } from '../../src/core/model-input.ts';
import { price } from '../../src/core/price.ts';
import { parseCatalogText } from '../../src/storage/catalog-text.ts';
import { SIGNAL, fileOf, make, makeMedia, openSandbox } from './sandbox-kit.ts';
import type { Opened } from './sandbox-kit.ts';

const text = await readFile(new URL('../../../catalog/sandbox.yaml', import.meta.url), 'utf8');
const { rows, problems } = parseCatalogText(text, 'sandbox.yaml');

let opened: Opened;

before(async () => {
  const maker = await openSandbox();
  const media = await makeMedia(maker.sandbox);
  await maker.close();
  const byEnding: Record<string, Buffer> = { jpg: media.photo, mp4: media.film, mp3: media.voice };
  opened = await openSandbox({
    download: async (url) => fileOf(byEnding[url.slice(-3)]!),
  });
});
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
    assert.deepEqual([...valuesOf((row) => (row.kind === 'text' ? [row.disconnect] : []))].sort(), [
      'abort',
      'drain',
    ]);
  });

  test('has ids of one to four segments, one uncensored, one that ends in two words', () => {
    const segments = valuesOf((row) => [row.id.split('/').length]);
    for (const count of [1, 2, 3, 4]) assert.ok(segments.has(count), `${count} segments`);
    assert.equal(rows.filter((row) => row.uncensored).length, 1);
    assert.ok(rows.some((row) => row.id.endsWith('/video-to-video/edit')));
    assert.ok(rows.some((row) => row.price.max === 0));
  });

  for (const row of rows.filter(({ kind }) => kind !== 'text')) {
    test(`the example of ${row.id} works and is worth its price`, async () => {
      const quote = price(row, row.example);
      const input = upstreamInput(row, row.upstreams[0]!, row.example, quote.assumptions);
      // The same, but short and small: this is not about how long it takes.
      const brief = row.kind === 'video' ? { duration_seconds: 0.5, resolution: '480p' } : {};
      const made = await make(opened.sandbox, row.task, { ...input, ...brief });
      if (row.task === 'video-analyze') return assert.equal(made.files.length, 0);
      assert.ok(made.files.every(({ bytes }) => bytes.length > 0));
      if (row.price.unit !== 'image') return;
      assert.equal(made.files.length, Number(quote.quantity));
    });
  }

  test('what a row does not price cannot be slipped past it', async () => {
    const row = rows.find(({ id }) => id === 'sandbox/canvas/text-to-image')!;
    const asked = { prompt: 'x', resolution: '1k', width: 2000, height: 2000, image_size: '9x9' };
    const input = upstreamInput(row, row.upstreams[0]!, asked);
    const { files } = await make(opened.sandbox, row.task, input);
    const { width, height } = await sharp(files[0]!.bytes).metadata();
    assert.deepEqual({ width, height }, { width: 1024, height: 1024 });
  });

  for (const row of rows.filter(({ kind }) => kind === 'text')) {
    test(`the example of ${row.id} works`, async () => {
      const body = { max_tokens: 4096, ...row.example };
      const model = row.upstreams[0]!.model;
      const call = { request_id: 'r', model, body, stream: false, signal: SIGNAL };
      assert.equal((await opened.sandbox.chat!(call)).outcome, 'reply');
    });
  }
});
