import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import type { Model } from './catalog.ts';
import { pointerSegment } from './media-input.ts';
import { validateInput } from './model-input.ts';

/** Input fields of a row, for APIs that call them by other names. */

type Row = Pick<Model, 'input_schema'>;

export function hasField(model: Row, field: string): boolean {
  return Object.hasOwn(objectOf(model.input_schema.properties), field);
}

export function acceptsValue(model: Row, field: string, value: unknown): boolean {
  return hasField(model, field) && brokenRule(model, field, value) === null;
}

/** The rule that this value of a field breaks; null: none. */
export function brokenRule(model: Row, field: string, value: unknown): string | null {
  const path = `/${pointerSegment(field)}`;
  const faults = validateInput({ input_schema: model.input_schema }, { [field]: value }) ?? [];
  return faults.find((fault) => fault.path.startsWith(path))?.message ?? null;
}

interface FieldOptions {
  /**
   * The texts in the enums of the field and of its `anyOf` and `oneOf` forms; empty if there are
   * none.
   */
  values: string[];
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  maxItems?: number;
}

export function optionsOf(model: Row, field: string): FieldOptions {
  const schema = objectOf(objectOf(model.input_schema.properties)[field]);
  const forms = [schema, ...itemsOf(schema.anyOf), ...itemsOf(schema.oneOf)].filter(isObject);
  const values = forms.flatMap((form) => itemsOf(form.enum)).filter((each) => isText(each));
  return { values, ...numbersOf(schema) };
}

function numbersOf(schema: Json): Omit<FieldOptions, 'values'> {
  const names = ['minimum', 'maximum', 'multipleOf', 'maxItems'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (typeof schema[name] === 'number' ? [[name, schema[name]]] : [])),
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** The JSON Schema type of a field, such as `integer`, or of its values; null: several or none. */
export function typeOf(model: Row, field: string): string | null {
  const { type, enum: values } = objectOf(objectOf(model.input_schema.properties)[field]);
  if (isText(type)) return type;
  const types = new Set(itemsOf(values).map((value) => typeof value));
  return types.size === 1 ? [...types][0]! : null;
}
