import { numberIn } from '../exact-json.ts';
import type { Model } from '../api-types.ts';
import { fieldsOf, type Field, type Schema } from './form/schema.ts';

/** Which models take the same input, and the form that fills in all of them. */

export const comparedMax = 4;

/** Whether one form can run all of these: each field that one of them needs is taken by all. */
export function takeSameInput(models: Model[]): boolean {
  const [first, ...others] = models;
  if (!first || others.some(({ kind }) => kind !== first.kind)) return false;
  const common = new Set(Object.keys(commonProperties(models)));
  const needed = models.flatMap(({ input_schema }) => fieldsOf(input_schema).filter(isRequired));
  return common.size > 0 && needed.every(({ name }) => common.has(name));
}

/**
 * The input that all of these models take, as one of them with a schema of its own: the common
 * fields, each with the limits of the strictest model.
 */
export function commonModel(models: Model[]): Model {
  const [first] = models;
  const properties = commonProperties(models);
  const required = models.flatMap(({ input_schema }) =>
    fieldsOf(input_schema).flatMap((field) => (isRequired(field) ? [field.name] : [])),
  );
  const example = Object.entries(first!.example).filter(([name]) => name in properties);
  const { price_by_resolution: _rates, ...rest } = first!;
  return {
    ...rest,
    // Each model has prices of its own; the bar below the form adds them up.
    extras: [],
    example: Object.fromEntries(example),
    input_schema: { type: 'object', properties, required: [...new Set(required)] },
  };
}

function isRequired({ required }: Field): boolean {
  return required;
}

function commonProperties(models: Model[]): Record<string, Schema> {
  const [first = [], ...others] = models.map(({ input_schema }) => fieldsOf(input_schema));
  const common = first.flatMap(({ name, schema }): [string, Schema][] => {
    let narrow: Schema | null = schema;
    for (const fields of others) {
      const other = fields.find((each) => each.name === name);
      narrow = narrow && other ? intersection(narrow, other.schema) : null;
    }
    return narrow ? [[name, narrow]] : [];
  });
  return Object.fromEntries(common);
}

/** Forms that are kept only if both models have the same. */
const comparedWhole = ['type', 'items', 'anyOf', 'oneOf', 'const', 'multipleOf'] as const;

/** A schema of what both allow; null if that is nothing, or one schema cannot say it. */
function intersection(a: Schema, b: Schema): Schema | null {
  if (comparedWhole.some((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name])))
    return null;
  const { pattern, default: fallback, enum: choices, ...rest } = a;
  const both = choices && b.enum ? choices.filter((each) => b.enum!.includes(each)) : undefined;
  const allowed = both ?? choices ?? b.enum;
  if (allowed?.length === 0) return null;
  const isSame = fallback !== undefined && fallback === b.default;
  return {
    ...rest,
    ...limits(a, b, ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'], Math.max),
    ...limits(a, b, ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'], Math.min),
    ...(allowed && { enum: allowed }),
    ...(pattern !== undefined && pattern === b.pattern && { pattern }),
    ...(isSame && (allowed?.includes(fallback) ?? true) && { default: fallback }),
  };
}

type Limit = 'minimum' | 'exclusiveMinimum' | 'minLength' | 'minItems';
type UpperLimit = 'maximum' | 'exclusiveMaximum' | 'maxLength' | 'maxItems';

function limits(
  a: Schema,
  b: Schema,
  names: (Limit | UpperLimit)[],
  strictest: (...values: number[]) => number,
): Schema {
  const found = names.flatMap((name): [string, number][] => {
    const given = [a[name], b[name]].flatMap((each) => numberIn(each) ?? []);
    return given.length === 0 ? [] : [[name, strictest(...given)]];
  });
  return Object.fromEntries(found);
}
