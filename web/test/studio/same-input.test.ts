/** Which models one form can run, and what that form takes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '../../src/api-types.ts';
import { commonModel, takeSameInput } from '../../src/studio/same-input.ts';
import type { Schema } from '../../src/studio/form/schema.ts';

const prompt: Schema = { type: 'string', maxLength: 500 };

/** A model with these fields; only `kind` and the schema are read. */
function taking(properties: Record<string, Schema>, required = ['prompt'], kind = 'image'): Model {
  const input_schema = { type: 'object', properties, required };
  return { kind, input_schema, example: { prompt: 'a cat', mode: 'x' } } as unknown as Model;
}

const plain = taking({ prompt });

const cases: [name: string, models: Model[], same: boolean][] = [
  ['one model', [plain], true],
  ['two that need a prompt', [plain, taking({ prompt, seed: { type: 'integer' } })], true],
  [
    'one that needs a picture besides',
    [plain, taking({ prompt, image_url: { type: 'string' } }, ['prompt', 'image_url'])],
    false,
  ],
  ['another kind of output', [plain, taking({ prompt }, ['prompt'], 'video')], false],
  ['a prompt that is a list', [plain, taking({ prompt: { type: 'array' } })], false],
  [
    'needed choices that share none',
    [
      taking({ prompt, mode: { enum: ['a', 'b'] } }, ['prompt', 'mode']),
      taking({ prompt, mode: { enum: ['c'] } }, ['prompt', 'mode']),
    ],
    false,
  ],
  ['nothing in common', [taking({ prompt }, []), taking({ text: prompt }, [])], false],
  ['a third that differs', [plain, plain, taking({ words: prompt }, ['words'])], false],
];

describe('models take the same input', () => {
  for (const [name, models, same] of cases)
    test(`${same ? 'yes' : 'no'}: ${name}`, () => {
      assert.equal(takeSameInput(models), same);
      assert.equal(takeSameInput(models.toReversed()), same);
    });
});

test('the common form has the shared fields, as narrow as the strictest model', () => {
  const a = taking({
    prompt,
    resolution: { enum: ['1k', '2k', '4k'], default: '4k' },
    num_images: { type: 'integer', minimum: 1, maximum: 8, default: 1 },
    own: { type: 'string' },
    style: { type: 'string', pattern: 'a' },
  });
  const b = taking(
    {
      num_images: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
      prompt: { type: 'string', maxLength: 200 },
      resolution: { enum: ['1k', '2k'], default: '2k' },
      style: { type: 'string', pattern: 'b' },
    },
    ['prompt', 'num_images'],
  );
  const { input_schema, example } = commonModel([a, b]);
  assert.deepEqual(input_schema, {
    type: 'object',
    required: ['prompt', 'num_images'],
    properties: {
      prompt: { type: 'string', maxLength: 200 },
      resolution: { enum: ['1k', '2k'] },
      num_images: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
      style: { type: 'string' },
    },
  });
  assert.deepEqual(example, { prompt: 'a cat' });
});
