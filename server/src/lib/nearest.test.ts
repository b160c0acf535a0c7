import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

const fields = ['prompt', 'resolution', 'duration_seconds', 'aspect_ratio', 'num_images', 'seed'];
const models = ['acme/canvas/text-to-image', 'acme/film/text-to-video', 'gpt-5.4', 'acme/chat'];
const cases: [name: string, known: string[], expected: string | null][] = [
  ['resolutoin', fields, 'resolution'],
  ['Resolution', fields, 'resolution'],
  ['aspectRatio', fields, 'aspect_ratio'],
  ['duration', fields, 'duration_seconds'],
  ['num_image', fields, 'num_images'],
  ['prompts', fields, 'prompt'],
  ['guidance', fields, null],
  ['x', fields, null],
  ['', fields, null],
  ['prompt', [], null],
  ['a'.repeat(10_000), fields, null],
  ['acme/canvas', models, 'acme/canvas/text-to-image'],
  ['canvas/text-to-image', models, 'acme/canvas/text-to-image'],
  ['gpt-54', models, 'gpt-5.4'],
  ['claude', models, null],
];

for (const [name, known, expected] of cases) {
  test(`"${name.slice(0, 30)}" means ${expected}`, () =>
    assert.equal(nearest(name, known), expected));
}
