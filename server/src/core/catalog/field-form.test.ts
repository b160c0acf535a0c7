import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fieldForm, formatValue } from './field-form.ts';
import { upstreamFields, upstreamInput } from './model-input.ts';

describe("a value in the form that the upstream's field wants", () => {
  const cases: [target: string, value: unknown, name: string, sent: unknown][] = [
    ['duration', 8, 'duration', 8],
    ['duration:{}s', 8, 'duration', '8s'],
    ['duration:{}', 8, 'duration', '8'],
    ['resolution:{A}', '2k', 'resolution', '2K'],
    ['size:{}', '$& {A}', 'size', '$& {A}'],
    ['a:{}x{}', 2, 'a', '2x2'],
    ['a:', 2, 'a', ''],
    [':', 2, '', ''],
  ];
  for (const [target, value, name, sent] of cases) {
    test(`${target} of ${JSON.stringify(value)}`, () => {
      const form = fieldForm(target);
      assert.deepEqual([form.name, formatValue(form, value)], [name, sent]);
    });
  }
});

test('what a mapping fills, a caller cannot fill, and what it leaves out is not sent', () => {
  const row = {
    input_schema: { type: 'object', properties: { prompt: {}, duration_seconds: {}, quiet: {} } },
  };
  const route = {
    input_mapping: { duration_seconds: 'duration:{}s', quiet: ':' },
    input_defaults: {},
  };
  const callers = { prompt: 'p', duration_seconds: 8, quiet: true, duration: '60s', other: 1 };
  assert.deepEqual(upstreamInput(row, route, callers), { prompt: 'p', duration: '8s', other: 1 });
  assert.deepEqual(upstreamFields(row, route), ['prompt', 'duration', '']);
});
