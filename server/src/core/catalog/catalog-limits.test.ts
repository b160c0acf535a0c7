import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { catalogEntry } from './catalog-entry.ts';
import { parseCatalogFile } from './catalog-file.ts';
import { validateInput } from './model-input.ts';

/** Statements of a row that keep a request from costing more than it brings. */

const parsed = (more: Record<string, unknown>) =>
  parseCatalogFile(
    {
      upstream: 'sandbox',
      models: [
        {
          id: 'a/row',
          kind: 'image',
          task: 'text-to-image',
          name: 'Row',
          price: { unit: 'image', usd: '0.01' },
          input_schema: {
            type: 'object',
            properties: { prompt: { type: 'string' }, sound: { type: 'boolean' } },
          },
          example: { prompt: 'a boat' },
          ...more,
        },
      ],
    },
    'a.yaml',
  );
const faults = (more: Record<string, unknown>) =>
  parsed(more).problems.map(({ path, message }) => `${path} ${message}`);

describe('max_prompt_tokens', () => {
  const [row] = parsed({ max_prompt_tokens: 100 }).rows;
  const verdict = (prompt: string) => validateInput(row!, { prompt });

  const taken = ['', 'a boat in a storm', 'a'.repeat(100), '\u{13000}'.repeat(25)];
  for (const prompt of taken)
    test(`${prompt.length} units are taken`, () => assert.equal(verdict(prompt), null));

  test('more are refused, and the message names the limit', () => {
    const [error, ...others] = verdict('\u{13000}'.repeat(26))!;
    assert.equal(error!.path, '/prompt');
    assert.match(error!.message, /^counts as 104 tokens, and this model takes at most 100;/);
    assert.deepEqual(others, []);
    assert.equal(verdict('7'.repeat(101))!.length, 1);
  });

  test('callers see it, where the row has it', () => {
    assert.equal(catalogEntry(row!).max_prompt_tokens, 100);
    assert.ok(!('max_prompt_tokens' in catalogEntry(parsed({}).rows[0]!)));
  });

  test('a row without the field prompt cannot have it', () => {
    const input_schema = { type: 'object', properties: { text: { type: 'string' } } };
    const [fault] = faults({ input_schema, example: { text: 'a' }, max_prompt_tokens: 100 });
    assert.match(fault!, /^\/models\/0\/max_prompt_tokens .*the field prompt, which is not in/);
  });
});

test('costs of extras are stated by all of a row, or by none', () => {
  const extra = { when: 'sound', add_usd: '0.01', label: 'sound' };
  const told = { ...extra, equals: true, cost_usd: '0.005' };
  const silent = { ...extra, equals: false };
  assert.deepEqual(faults({ extras: [told] }), []);
  assert.deepEqual(faults({ extras: [silent] }), []);
  assert.match(
    faults({ extras: [told, silent] })[0]!,
    /^\/models\/0\/extras\/1\/cost_usd .*this one needs it/,
  );
});

test('a reserved max has to be there, in what the price counts', () => {
  const price = { unit: 'MP', usd: '0.001', reserve: 'max' };
  assert.deepEqual(faults({ price, max: 100, max_unit: 'megapixels' }), []);
  const expected = /^\/models\/0\/price\/reserve .*also needs the field max, in megapixels/;
  assert.match(faults({ price })[0]!, expected);
  assert.match(faults({ price, max: 100, max_unit: 'images' })[0]!, expected);
});

test('a row may say how it loses money', () => {
  const cost_may_exceed = 'A prompt of rare characters costs more than the price holds.';
  assert.equal(parsed({ cost_may_exceed }).rows[0]!.cost_may_exceed, cost_may_exceed);
});
