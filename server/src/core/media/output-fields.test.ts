import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eachOnce, namedByKind } from './output-fields.ts';

const png = (field: string | null) => ({ field, content_type: 'image/png' });
const mp4 = (field: string | null) => ({ field, content_type: 'video/mp4' });
const m4a = (field: string | null) => ({ field, content_type: 'audio/mp4' });

describe('outputs are named by their kind', () => {
  const cases: [
    what: string,
    outputs: ReturnType<typeof png>[],
    fields: string[],
    sold?: 'none',
  ][] = [
    ['without a name', [png(null), mp4(null), m4a(null)], ['images', 'video', 'audio']],
    ['several of a kind', [mp4(null), mp4(null), png(null)], ['videos', 'videos', 'images']],
    ['a film under images', [mp4('images')], ['video']],
    ['a sound under video', [m4a('video')], ['audio']],
    ['a picture under video', [png('video'), mp4('video')], ['images', 'video']],
    ['a name of another kind that is not sold', [mp4('images')], ['images'], 'none'],
    ['a name of the right kind', [png('image'), mp4('videos')], ['image', 'videos']],
    ['a name of its own', [png('mask'), mp4('result')], ['mask', 'result']],
    ['a name that several share', [png('mask'), png('mask')], ['masks', 'masks']],
  ];
  for (const [what, outputs, fields, sold] of cases)
    test(what, () =>
      assert.deepEqual(
        namedByKind(outputs, sold ? [] : outputs).map(({ field }) => field),
        fields,
      ),
    );
});

test('an address counts once, under its most telling name; bytes count each time', () => {
  const at = (field: string | null, url: string) => ({ field, source: { url } });
  const bytes = { field: 'images', source: { bytes: Buffer.from('x') } };
  const media = [at('preview', 'a'), at('images', 'a'), at('masks', 'b'), at('images', 'a')];
  assert.deepEqual(eachOnce(media), [at('images', 'a'), at('masks', 'b')]);
  assert.deepEqual(eachOnce([bytes, bytes]), [bytes, bytes]);
  assert.deepEqual(eachOnce([at(null, 'a'), at('result', 'a')]), [at(null, 'a')]);
});
