import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countedQuantity, deliveredQuantity, isDelivered } from './delivered.ts';
import type { Kind, Task, Unit } from '../catalog/catalog.ts';

const image = (width: number | null = 1000, height: number | null = 500) => ({
  field: 'images',
  content_type: 'image/png',
  width,
  height,
  duration_seconds: null,
});
const clip = (duration_seconds: number | null) => ({
  field: 'video',
  content_type: 'video/mp4',
  width: 64,
  height: 64,
  duration_seconds,
});
const sound = (duration_seconds: number | null) => ({
  field: 'audio',
  content_type: 'audio/mpeg',
  width: null,
  height: null,
  duration_seconds,
});
const under = <T>(field: string, output: T) => ({ ...output, field });
type Media = Parameters<typeof deliveredQuantity>[1];

const cases: [what: string, unit: Unit, outputs: Media, asked: number, delivered: number | null][] =
  [
    ['a request is one, whatever came', 'request', [], 1, 1],
    ['a request with four pictures is one', 'request', [image(), image(), image(), image()], 1, 1],
    ['images are counted', 'image', [image(), image(), image()], 4, 3],
    [
      'masks and previews beside images are not counted',
      'image',
      [image(), under('masks', image()), under('masks', image()), under('preview', image())],
      4,
      1,
    ],
    [
      'what has no name of a kind counts, its thumbnail does not',
      'image',
      [under('result', image()), under('result_thumbnail', image())],
      2,
      1,
    ],
    [
      'masks alone are what is sold',
      'image',
      [under('masks', image()), under('masks', image())],
      2,
      2,
    ],
    [
      'what comes along is not counted in camel case either',
      'image',
      [under('result', image()), under('previewImage', image()), under('depthMap', image())],
      4,
      1,
    ],
    ['a preview of a film has no seconds', 'sec', [clip(4), under('preview_video', clip(2))], 8, 4],
    ['a mask that is a film counts for no image', 'image', [image(), clip(3)], 1, 1],
    ['no image among the outputs tells nothing', 'image', [clip(3)], 2, null],
    ['no output tells nothing', 'image', [], 2, null],
    ['seconds are summed', 'sec', [clip(2), clip(3.5)], 8, 5.5],
    ['sound has seconds too', 'sec', [sound(2.5)], 8, 2.5],
    ['a clip a frame shorter counts as whole', 'sec', [clip(4.96)], 5, 5],
    ['a clip a frame longer counts as whole', 'sec', [clip(5.04)], 5, 5],
    ['shorter by more than a frame is shorter', 'sec', [clip(4.94)], 5, 4.94],
    ['short by 2 % of a short clip counts as whole', 'sec', [clip(0.491)], 0.5, 0.5],
    ['a short clip shorter by more is shorter', 'sec', [clip(0.48)], 0.5, 0.48],
    ['longer is told as it is: the charge has its own ceiling', 'sec', [clip(6)], 5, 6],
    ['one clip of unknown length makes the sum unknown', 'sec', [clip(2), clip(null)], 5, null],
    ['no clip tells nothing', 'sec', [], 5, null],
    ['megapixels are summed over the images', 'MP', [image(1000, 500), image(2000, 1000)], 4, 2.5],
    ['a film counts for no megapixel', 'MP', [image(1000, 1000), clip(1)], 4, 1],
    [
      'one image of unknown size makes the sum unknown',
      'MP',
      [image(), image(null, null)],
      4,
      null,
    ],
    ['half a size is none', 'MP', [image(1000, null)], 4, null],
    ['tokens are not measured from media', '1M tokens', [image()], 1, null],
  ];

describe('deliveredQuantity', () => {
  for (const [what, unit, outputs, asked, delivered] of cases) {
    test(`${unit}: ${what}`, () =>
      assert.equal(deliveredQuantity({ unit }, outputs, asked), delivered));
  }

  test('sec: the pictures and sounds beside a film are not sold', () => {
    const of = (task: Task, ...media: Media) => deliveredQuantity({ unit: 'sec', task }, media, 10);
    assert.equal(of('text-to-video', clip(2), image(), sound(2)), 2);
    assert.equal(of('text-to-video', clip(null), sound(2)), null);
    assert.equal(of('video-analyze', image()), null);
    assert.equal(of('video-to-audio', sound(3), image()), 3);
    assert.equal(of('video-to-audio', clip(2), sound(3)), 2);
  });

  test('image: of vectors only those are counted', () => {
    const svg = { ...image(), content_type: 'image/svg+xml' };
    const came = [svg, image(), svg, image()];
    assert.equal(deliveredQuantity({ unit: 'image', task: 'text-to-vector' }, came, 4), 2);
    assert.equal(deliveredQuantity({ unit: 'image', task: 'text-to-image' }, came, 4), 4);
  });

  test('sec: a film made longer does not tell how much was added', () => {
    const extended = { unit: 'sec', task: 'video-extend' } as const;
    assert.equal(deliveredQuantity(extended, [clip(9)], 5), null);
  });
});

describe('what is sold is delivered by', () => {
  const svg = { field: 'images', content_type: 'image/svg+xml' };
  const sold: [kind: Kind, task: Task | undefined, png: boolean, mp4: boolean, mp3: boolean][] = [
    ['image', 'text-to-image', true, false, false],
    ['image', 'layer-decomposition', true, false, false],
    ['image', 'text-to-vector', false, false, false],
    ['image', 'upscale', true, false, false],
    ['video', 'upscale', false, true, false],
    ['image', 'reframe', true, false, false],
    ['video', 'reframe', false, true, false],
    ['video', 'talking-avatar', false, true, false],
    ['video', 'video-to-audio', false, true, true],
    ['video', 'video-analyze', false, true, false],
    ['video', undefined, false, true, true],
    ['image', undefined, true, false, false],
  ];
  for (const [kind, task, ...by] of sold) {
    const words = kind === 'video' && (task === 'video-analyze' || task === undefined);
    test(`${kind}, ${task ?? 'of a row that is gone'}`, () => {
      const media = [image(), clip(2), sound(2)];
      const told = media.map((each) => isDelivered({ kind, task }, [each], 'words'));
      assert.deepEqual(
        told,
        by.map((fits) => fits || words),
      );
      assert.deepEqual(
        media.map((each) => isDelivered({ kind, task }, [each], undefined)),
        by,
      );
      assert.equal(isDelivered({ kind, task }, [svg], ''), kind === 'image');
      assert.equal(isDelivered({ kind, task }, [], 'words'), words);
      for (const nothing of ['', ' \n', 5, null, ['words'], undefined])
        assert.equal(isDelivered({ kind, task }, [], nothing), false);
    });
  }

  test('one that fits, whatever else came beside it', () => {
    const row = { kind: 'video', task: 'text-to-video' } as const;
    assert.equal(isDelivered(row, [image(), sound(1), clip(1)], undefined), true);
  });
});

describe("an upstream's own count", () => {
  const cases: [unit: Unit, told: number | null, shown: number | null, counted: number | null][] = [
    ['image', 4, 2, 2],
    ['image', 1, 2, 1],
    ['image', 0, 2, 2],
    ['image', null, 2, 2],
    ['sec', 5, 4.9, 5],
    ['sec', 0, 4.9, 4.9],
    ['sec', 0, null, 0],
  ];
  for (const [unit, told, shown, counted] of cases)
    test(`of ${told} beside ${shown}, by the ${unit}, is ${counted}`, () =>
      assert.equal(countedQuantity(unit, told, shown), counted));
});
