import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestLine, type LineOutput } from './line.ts';

const links = {
  baseUrl: 'https://api.test/v1',
  secret: Buffer.from('a secret of at least thirty-two characters'),
  outputTtlSeconds: 86_400,
  isPublic: false,
};
const done = {
  id: '01890f5e-27c1-7d3a-9e4f-0123456789ab',
  completed_at: new Date('2026-03-01T10:00:04.999Z'),
  error_code: null,
  error_message: null,
  error_details: null,
  prompt: 'a cat',
  favorite: false,
  output_count: 0,
  kept: null,
};
const output = (index: number, content_type: string, field = 'images'): LineOutput => ({
  index,
  field,
  content_type,
  size: 5,
  width: null,
  height: null,
  duration_seconds: null,
  file_name: `f-${index}`,
});
const shown = (...kept: LineOutput[]) =>
  requestLine({ ...done, kept, output_count: kept.length }, links).outputs;

describe('a line of a list', () => {
  const types: [content_type: string, has: boolean][] = [
    ['image/png', true],
    ['image/gif', true],
    ['image/avif', true],
    ['image/svg+xml', false],
    ['image/heic', false],
    ['audio/mpeg', false],
    ['video/mp4', false],
  ];
  for (const [type, has] of types)
    test(`has ${has ? 'a' : 'no'} thumbnail of ${type}`, () => {
      const [{ url, thumbnail_url }] = shown(output(0, type)) as [any];
      assert.equal(thumbnail_url, has ? `${url}&size=card` : null);
    });

  test("shows a film by the picture that its model sent with it, and by nobody else's", () => {
    const film = output(0, 'video/mp4', 'video');
    const [first, poster] = shown(film, output(3, 'image/jpeg', 'thumbnail'));
    assert.equal(first!.thumbnail_url, poster!.thumbnail_url);
    const [alone] = shown(film, output(3, 'image/jpeg', 'images'));
    assert.equal(alone!.thumbnail_url, null);
    const [sound] = shown(output(0, 'audio/mpeg'), output(1, 'image/png', 'cover'));
    assert.equal(sound!.thumbnail_url, null);
  });

  test('without kept outputs says how many there were, and until when nothing is kept', () => {
    const gone = requestLine({ ...done, output_count: 2 }, links);
    assert.deepEqual([gone.outputs, gone.output_count, gone.expires_at], [[], 2, null]);
  });

  test('of a failure has its message and what it concerns', () => {
    const failed = {
      ...done,
      error_code: 'output_unusable' as const,
      error_message: null,
      error_details: { reason: 'damaged' as const },
    };
    const { error } = requestLine(failed, links);
    assert.equal(error?.code, 'output_unusable');
    assert.ok(error.message.length > 0);
    assert.deepEqual(error.details, { reason: 'damaged' });
  });
});
