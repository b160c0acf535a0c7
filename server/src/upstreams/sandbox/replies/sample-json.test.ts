import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { sampleOf } from './sample-json.ts';

const text = { type: 'string' };
const ajv = new Ajv2020({ strict: false, validateFormats: false });

describe('a sample fits its schema', () => {
  const schemas: Record<string, Record<string, unknown>> = {
    'with every type': {
      type: 'object',
      properties: {
        a: text,
        b: { type: 'integer', minimum: 5, maximum: 5 },
        c: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 },
        d: { type: 'boolean' },
        e: { type: ['string', 'null'] },
        f: { type: 'null' },
        g: { type: 'array', items: text, minItems: 3, uniqueItems: true },
      },
      required: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
      additionalProperties: false,
    },
    'with lengths': { type: 'string', minLength: 90, maxLength: 100 },
    'with a short length': { type: 'string', maxLength: 3 },
    'with a step': { type: 'integer', exclusiveMinimum: 10, multipleOf: 5 },
    'below zero': { type: 'number', maximum: -3 },
    'with choices': { anyOf: [{ type: 'null' }, { enum: ['x', 'y'] }] },
    'with a constant': { oneOf: [{ type: 'object', properties: { k: { const: 'z' } } }] },
    'of parts': {
      type: 'object',
      properties: { a: text },
      required: ['a'],
      allOf: [{ properties: { b: { type: 'integer' } }, required: ['b'] }],
    },
    'with a tuple': { type: 'array', prefixItems: [text, { type: 'integer' }], items: false },
    'with an empty list': { type: 'array', items: text, maxItems: 0 },
    'that names itself': {
      type: 'object',
      properties: {
        value: { $ref: '#/$defs/value' },
        next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
      },
      required: ['value', 'next'],
      $defs: { value: text },
    },
    'with lists of itself': {
      type: 'object',
      properties: { name: text, kids: { type: 'array', items: { $ref: '#' } } },
      required: ['name', 'kids'],
    },
    'that is itself or a text': {
      type: 'object',
      properties: { part: { anyOf: [{ $ref: '#' }, { type: 'array', items: text }, text] } },
      required: ['part'],
    },
    'that is itself or another that ends': {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: { next: { oneOf: [{ $ref: '#/$defs/node' }, { $ref: '#/$defs/leaf' }] } },
          required: ['next'],
          additionalProperties: false,
        },
        leaf: { type: 'object', properties: { value: text }, required: ['value'] },
      },
    },
    'that is itself or null, by its type': {
      type: ['object', 'null'],
      properties: { next: { $ref: '#' } },
      required: ['next'],
    },
  };
  for (const [name, schema] of Object.entries(schemas)) {
    test(name, () => {
      const value = sampleOf(schema);
      assert.ok(ajv.validate(schema, value), `${JSON.stringify(value)} ${ajv.errorsText()}`);
      assert.deepEqual(sampleOf(schema), value);
    });
  }
});

describe('a sample ends soon, whatever the schema says', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, i) => [`f${i}`, { $ref: '#' }]),
  );
  const hostile: Record<string, unknown> = {
    'a reference to itself': { $ref: '#' },
    'itself or itself': {
      type: 'object',
      properties: { a: { anyOf: [{ $ref: '#' }, { $ref: '#' }] }, b: { $ref: '#' } },
      required: ['a', 'b'],
    },
    'a choice of wide objects of itself': {
      anyOf: [1, 2].map(() => ({
        type: 'object',
        properties: wide,
        required: Object.keys(wide),
      })),
    },
    'a reference to nowhere': { $ref: '#/$defs/none' },
    'twenty of itself each': {
      type: 'array',
      minItems: 20,
      items: { $ref: '#' },
    },
    'a wide object of itself': { type: 'object', properties: wide, required: Object.keys(wide) },
    'a text without end': { type: 'string', minLength: 1e12 },
    'parts of itself': { allOf: Array.from({ length: 5_000 }, () => ({ $ref: '#' })) },
    'no schema': 7,
    'fields of the wrong type': { type: 'object', properties: [], required: 'x', enum: {} },
  };
  for (const [name, schema] of Object.entries(hostile)) {
    test(name, () => {
      const work = { reads: 0 };
      const value = JSON.stringify(sampleOf(counted(schema, work))) ?? '';
      assert.ok(work.reads < 1_000_000, `${work.reads} fields read`);
      assert.ok(value.length < 500_000, `${value.length}`);
    });
  }
});

/** The value, which counts how many of its fields, at any depth, were read. */
function counted(value: unknown, work: { reads: number }): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, name) {
      work.reads++;
      return counted(Reflect.get(target, name), work);
    },
  });
}
