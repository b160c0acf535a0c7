/**
 * Checks a caller's input against the row's own JSON Schema. The operator wrote the schema, so it
 * is trusted; the input is not. The cost of a check and the length of its answer are limited, and
 * the input is never changed.
 */

import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isObject, objectOf } from '../../lib/json.ts';
import { exactJson, roundLong } from '../../lib/long-integers.ts';
import type { Model, ModelUpstream } from './catalog.ts';
import { fieldForm, formatValue } from './field-form.ts';
import type { ReasonDetails } from '../reasons.ts';
import type { InputError } from './input-error.ts';
import { longFaults, schemaForCheck } from './long-inputs.ts';
import { choiceWords, listOf, requiredByChoice, withoutOtherForms } from './input-choice.ts';
import { pointerSegment, invalid } from './media-input.ts';
import { metadataHeader } from '../request/metadata.ts';
import { nearest } from '../../lib/nearest.ts';
import { pricedFields } from '../price/priced-fields.ts';
import { boundTokens } from '../chat/tokens.ts';

type Schema = Record<string, unknown>;
type Input = Record<string, unknown>;
type Validator = (input: unknown) => InputError[] | null;

/** Enough to correct an input in one go; more would only make the reply longer. */
const errorsMax = 20;
/**
 * If an input has more values than this, only its first fault is reported, because collecting all
 * could take long.
 */
const valuesMax = 2000;
/** Far more than any model takes. */
const inputValuesMax = 20_000;
/** The caller's own text in an error is cut to this length. */
const wordsMax = 200;
const unknownMax = 20;
/** Longest text of a rule. It comes from the row and may list the allowed values. */
const ruleMax = 400;
/**
 * Longer texts do not match any pattern, so that even a pattern that takes quadratic time ends
 * within milliseconds.
 */
const patternTextMax = 4096;

/**
 * ajv demands a `code` text, but uses it only when it writes code to a file. It tells compiled
 * patterns apart by `toString`.
 */
const boundedRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const exp = new RegExp(pattern, flags);
    return {
      test: (text: string) => text.length <= patternTextMax && exp.test(text),
      toString: () => exp.toString(),
    };
  },
  { code: 'boundedRegExp' },
);

const options = {
  // In this draft, formats are only annotations. A URL field may hold a file_id, and checking
  // formats is slow for long texts.
  validateFormats: false,
  // Only an input's own fields count: "constructor" is not present just because objects inherit
  // one.
  ownProperties: true,
  // 4.2 must count as a multiple of 0.1 despite the rounding of doubles.
  multipleOfPrecision: 6,
  strictSchema: true,
  // Each error carries its schema, from which messages are made.
  verbose: true,
  strictTypes: false,
  strictTuple: false,
  strictRequired: false,
  addUsedSchema: false,
  logger: false,
  code: { regExp: boundedRegExp },
} as const;

const firstFault = new Ajv2020({ ...options, allErrors: false });
const allFaults = new Ajv2020({ ...options, allErrors: true });
const validators = new WeakMap<Schema, Validator>();

/**
 * Returns null if the input fits the row's schema and its limit of prompt tokens; otherwise at most
 * 20 faults.
 */
export function validateInput(
  model: Pick<Model, 'input_schema'> & Partial<Pick<Model, 'max_prompt_tokens'>>,
  input: unknown,
): InputError[] | null {
  return inputValidator(model)(input) ?? promptFault(model.max_prompt_tokens ?? null, input);
}

function promptFault(maximum: number | null, input: unknown): InputError[] | null {
  const { prompt } = objectOf(input);
  if (maximum === null || typeof prompt !== 'string') return null;
  const tokens = boundTokens(prompt);
  if (tokens <= maximum) return null;
  const message =
    `counts as ${tokens} tokens, and this model takes at most ${maximum}; ` +
    'shorten it, or use fewer digits, signs and rare characters';
  return [{ path: '/prompt', message, rule: { reason: 'prompt_too_long', tokens, maximum } }];
}

/**
 * The row's validator, compiled once per schema. Throws an Error if the schema does not compile.
 */
export function inputValidator(model: Pick<Model, 'input_schema'>): Validator {
  const schema = model.input_schema;
  let validator = validators.get(schema);
  if (!validator) {
    // An input may have fields that the model does not know: a closed row just does not send them.
    validator = validatorOf(isClosed(model) ? { ...schema, additionalProperties: true } : schema);
    validators.set(schema, validator);
  }
  return validator;
}

/** A field that the model does not know, and the known field that was probably meant. */
export interface UnknownInput {
  field: string;
  did_you_mean: string | null;
}

/** The fields of an input that the model does not know; always empty if the row lists no fields. */
export function unknownInputs(
  model: Pick<Model, 'input_schema' | 'price'>,
  input: Input,
): UnknownInput[] {
  const listed = propertiesOf(model);
  const priced = pricedFields(model.price);
  const unknown = Object.keys(input).filter(
    (field) => !Object.hasOwn(listed, field) && !priced.includes(field),
  );
  const known = Object.keys(listed);
  if (unknown.length === 0 || known.length === 0) return [];
  const free = [...known, ...priced].filter((field) => !Object.hasOwn(input, field));
  return unknown
    .slice(0, unknownMax)
    .map((field) => ({ field: cut(field), did_you_mean: meant(field, free) }));
}

/**
 * The body of a submit is the model's input, so `metadata` comes in a header. OpenAI's `n` is too
 * short to be similar to our name.
 */
function meant(field: string, free: readonly string[]): string | null {
  if (field === 'metadata') return metadataHeader;
  return nearest(field === 'n' ? 'num_images' : field, free);
}

/**
 * A copy without null fields, at any depth, because null means the same as omitting a field. Throws
 * `invalid_input` if the input has very many values: each costs time at every later check.
 */
export function withoutNulls(input: Input): Input {
  if (!holdsFew(input, inputValuesMax)) {
    const why = { reason: 'values_too_many', limit: inputValuesMax } as const;
    throw invalid('', `holds more than ${inputValuesMax} values`, why);
  }
  return nullsLeftOut(input);
}

function nullsLeftOut(input: Input): Input {
  const entries = Object.entries(input).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([field, value]) => [field, nullsGone(value)]));
}

function nullsGone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nullsGone);
  return isObject(value) ? nullsLeftOut(value) : value;
}

/** A copy of the input with the schema's defaults for omitted fields (top level only). */
export function withDefaults(model: Pick<Model, 'input_schema'>, input: Input): Input {
  const defaults: [string, unknown][] = [];
  for (const [field, schema] of Object.entries(propertiesOf(model))) {
    if (hasDefault(schema)) defaults.push([field, copied(schema.default)]);
  }
  // Both steps define properties instead of assigning them, so "__proto__" stays an ordinary field.
  return { ...Object.fromEntries(defaults), ...input };
}

/**
 * The input for an upstream, under the upstream's names, with everything that the price depends on.
 * An omitted field gets the value that the quote assumed, if the schema has the field; otherwise
 * the schema's default. For the duration the schema's default comes first, because it may be
 * shorter than what is reserved. A caller's field is not sent under a name that the row fills
 * itself, because it would change what was priced.
 */
export function upstreamInput(
  model: Pick<Model, 'input_schema'>,
  { input_mapping, input_defaults }: Pick<ModelUpstream, 'input_mapping' | 'input_defaults'>,
  input: Input,
  assumptions: Input = {},
): Input {
  const properties = propertiesOf(model);
  const assumed = Object.entries(assumptions).filter(([field]) => Object.hasOwn(properties, field));
  const { duration_seconds, ...fixed } = Object.fromEntries(assumed);
  const full = {
    ...(duration_seconds !== undefined && { duration_seconds }),
    ...withDefaults(model, { ...fixed, ...input }),
  };
  const taken = new Set(Object.values(input_mapping).map((target) => fieldForm(target).name));
  const closed = isClosed(model);
  const sent: [string, unknown][] = [];
  for (const [field, value] of Object.entries(full)) {
    if (Object.hasOwn(input_mapping, field)) {
      const target = fieldForm(input_mapping[field]!);
      if (target.name !== '') sent.push([target.name, formatValue(target, value)]);
    } else if (!taken.has(field) && (!closed || Object.hasOwn(properties, field)))
      sent.push([field, value]);
  }
  return { ...Object.fromEntries(sent), ...input_defaults };
}

/**
 * The part of an input that is stored: for a closed row, only the fields that it knows, and those
 * that state a size.
 */
export function keptInput(
  model: Pick<Model, 'input_schema' | 'upstreams'>,
  input: Input,
  stated: readonly string[] = [],
): Input {
  if (!isClosed(model)) return input;
  const properties = propertiesOf(model);
  const isKnown = (field: string) =>
    Object.hasOwn(properties, field) ||
    stated.includes(field) ||
    model.upstreams.some(({ input_mapping }) => Object.hasOwn(input_mapping, field));
  return Object.fromEntries(Object.entries(input).filter(([field]) => isKnown(field)));
}

/** The names of all fields that the row itself can send, as the upstream calls them. */
export function upstreamFields(
  model: Pick<Model, 'input_schema'>,
  { input_mapping, input_defaults }: Pick<ModelUpstream, 'input_mapping' | 'input_defaults'>,
): string[] {
  const named = Object.keys(propertiesOf(model)).map((field) =>
    Object.hasOwn(input_mapping, field) ? fieldForm(input_mapping[field]!).name : field,
  );
  return [...named, ...Object.keys(input_defaults ?? {})];
}

/** Whether the row sends only the fields that it lists. */
function isClosed({ input_schema }: Pick<Model, 'input_schema'>): boolean {
  return input_schema.additionalProperties === false;
}

function propertiesOf(model: Pick<Model, 'input_schema'>): Schema {
  return objectOf(model.input_schema.properties);
}

function copied(value: unknown): unknown {
  return isObject(value) || Array.isArray(value) ? exactJson(JSON.stringify(value)) : value;
}

function hasDefault(schema: unknown): schema is { default: unknown } {
  return typeof schema === 'object' && schema !== null && Object.hasOwn(schema, 'default');
}

function validatorOf(exact: Schema): Validator {
  const schema = schemaForCheck(exact);
  const first = compile(firstFault, schema);
  let all: ValidateFunction | undefined;
  return (given) => {
    const input = roundLong(given);
    const isExact = input === given && schema === exact;
    if (first(input)) return isExact ? null : longFaults(exact, given);
    if (!holdsFew(input, valuesMax)) return sentences(first.errors);
    all ??= compile(allFaults, schema);
    all(input);
    return sentences(all.errors);
  };
}

/** Removes the schema from ajv's own cache again, because that would grow with every reload. */
function compile(ajv: Ajv2020, schema: Schema): ValidateFunction {
  const validate = ajv.compile(schema);
  ajv.removeSchema(schema);
  return validate;
}

function holdsFew(input: unknown, most: number): boolean {
  let left = most;
  const stack = [input];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value !== 'object' || value === null) continue;
    const children = Array.isArray(value) ? value : Object.values(value);
    left -= children.length;
    if (left < 0) return false;
    for (const child of children) stack.push(child);
  }
  return true;
}

function sentences(errors: ErrorObject[] | null | undefined): InputError[] {
  const found = withoutOtherForms(errors ?? []).filter((error) => error.keyword !== 'if');
  return found.slice(0, errorsMax).map((error) => {
    const message = cut(messageOf(error), ruleMax);
    return { path: cut(pathOf(error)), message, rule: ruleOf(error) };
  });
}

/** For a missing or unknown field: the path of the field, not of the object around it. */
function pathOf(error: ErrorObject): string {
  const params = objectOf(error.params);
  const field = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  if (typeof field !== 'string') return error.instancePath;
  return `${error.instancePath}/${pointerSegment(field)}`;
}

function messageOf(error: ErrorObject): string {
  const params = objectOf(error.params);
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'is not a field of this model';
    case 'enum':
      return `must be one of ${listOf(params.allowedValues)}`;
    case 'anyOf':
    case 'oneOf':
      return choiceWords(error);
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case 'pattern':
      return `must match ${String(params.pattern)}, in at most ${patternTextMax} characters`;
    default:
      return error.message ?? 'does not fit the schema';
  }
}

/** The broken rule as data, with the same names as in the details of other errors. */
function ruleOf({ keyword, params, schema }: ErrorObject): ReasonDetails {
  const values: Record<string, unknown> = params;
  const { limit, type, multipleOf, allowedValues, allowedValue } = values;
  const fields = requiredByChoice(schema);
  switch (keyword) {
    case 'required':
      return { reason: 'field_missing' };
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return { reason: 'field_unknown' };
    case 'enum':
    case 'const':
      return { one_of: cut(listOf(allowedValues ?? [allowedValue]), ruleMax) };
    case 'anyOf':
    case 'oneOf':
      if (fields === null) return { reason: 'form_unknown' };
      return { reason: 'field_needed', fields: cut(fields.join(', '), ruleMax) };
    case 'type':
      return { type };
    case 'multipleOf':
      return { multiple_of: multipleOf };
    default:
      // For example `max_length` with its limit.
      return typeof limit === 'number' ? { [snakeCase(keyword)]: limit } : {};
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function cut(text: string, most = wordsMax): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
