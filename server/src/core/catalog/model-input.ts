/**
 * Checks a caller's input against the row's own JSON Schema. The schema is the operator's and
 * trusted; the input is not: what a check costs and how much it answers are bounded, and the input
 * is never changed.
 */

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { isObject, objectOf } from '../../lib/json.ts';
import type { Model, ModelUpstream } from './catalog.ts';
import { fieldForm, formed } from './field-form.ts';
import type { Why } from '../reasons.ts';
import { choiceWords, listOf, requiredByChoice, withoutOtherForms } from './input-choice.ts';
import { escaped } from './media-input.ts';
import { nearest } from '../../lib/nearest.ts';
import { pricedFields } from '../price/priced-fields.ts';
import { boundTokens } from '../chat/tokens.ts';

export interface InputError {
  /** JSON pointer into the input; '' is the input itself. */
  path: string;
  message: string;
  /** The broken rule in values. */
  rule: Why;
}

type Schema = Record<string, unknown>;
type Input = Record<string, unknown>;
type Validator = (input: unknown) => InputError[] | null;

/** Enough to correct an input in one go; more would only make the reply long. */
const ERRORS_MAX = 20;
/**
 * For an input with more values only the first fault is reported: collecting all could take long.
 */
const VALUES_MAX = 2000;
/** A caller's own words in an error are cut to this length. */
const WORDS_MAX = 200;
const UNKNOWN_MAX = 20;
/** A rule in words comes from the row, and may list what is allowed. */
const RULE_MAX = 400;
/** No pattern sees a longer text: even a quadratic one then ends within milliseconds. */
const PATTERN_TEXT_MAX = 4096;

/**
 * ajv asks for an engine with its own source text, needed only where code is written to a file. The
 * key in `toString` keeps compiled patterns apart.
 */
const boundedRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const exp = new RegExp(pattern, flags);
    return {
      test: (text: string) => text.length <= PATTERN_TEXT_MAX && exp.test(text),
      toString: () => exp.toString(),
    };
  },
  { code: 'boundedRegExp' },
);

const options = {
  // In this draft formats are only notes: a URL field may hold a file_id, and format checks take
  // long on long texts.
  validateFormats: false,
  // Own fields only: "constructor" is not there just because every object inherits one.
  ownProperties: true,
  // 4.2 is a multiple of 0.1, whatever doubles say.
  multipleOfPrecision: 6,
  strictSchema: true,
  // An error brings its rule along, to be put in words.
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
 * Null if the input fits the row's schema and its limit of prompt tokens; otherwise what to
 * correct, at most 20 entries.
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
 * The row's compiled check; compiled once per schema. Throws Error if the schema does not compile.
 */
export function inputValidator(model: Pick<Model, 'input_schema'>): Validator {
  const schema = model.input_schema;
  let validator = validators.get(schema);
  if (!validator) {
    // A field that the model does not know is not a fault of the input; a closed row does not send
    // it.
    validator = validatorOf(isClosed(model) ? { ...schema, additionalProperties: true } : schema);
    validators.set(schema, validator);
  }
  return validator;
}

/** A field that the model does not know, and the one that was likely meant. */
export interface UnknownInput {
  field: string;
  did_you_mean: string | null;
}

/** The fields of an input that its model does not know; none if the row lists no fields. */
export function unknownInputs(
  model: Pick<Model, 'input_schema' | 'price'>,
  input: Input,
): UnknownInput[] {
  const listed = Object.keys(propertiesOf(model));
  if (listed.length === 0) return [];
  const known = [...listed, ...pricedFields(model.price)];
  const free = known.filter((field) => !Object.hasOwn(input, field));
  return Object.keys(input)
    .filter((field) => !known.includes(field))
    .slice(0, UNKNOWN_MAX)
    .map((field) => ({ field: cut(field), did_you_mean: nearest(field, free) }));
}

/** A copy without null fields, at any depth: null is the same as leaving a field out. */
export function withoutNulls(input: Input): Input {
  const entries = Object.entries(input).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([field, value]) => [field, nullsGone(value)]));
}

function nullsGone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nullsGone);
  return isObject(value) ? withoutNulls(value) : value;
}

/** A copy of the input in which omitted fields hold the schema's defaults (top level only). */
export function withDefaults(model: Pick<Model, 'input_schema'>, input: Input): Input {
  const defaults: [string, unknown][] = [];
  for (const [field, schema] of Object.entries(propertiesOf(model))) {
    if (hasDefault(schema)) defaults.push([field, structuredClone(schema.default)]);
  }
  // Entries and spread define fields and do not assign them: "__proto__" stays a plain field.
  return { ...Object.fromEntries(defaults), ...input };
}

/**
 * The input for an upstream: in the upstream's names, including everything that the price depends
 * on. An omitted field is sent as the quote assumed it if the schema knows it, otherwise with the
 * schema's default; a default length takes precedence, because it may be shorter than what is
 * reserved. A caller's field never passes under a name that the row itself fills, or the caller
 * would get what was not priced.
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
      if (target.name !== '') sent.push([target.name, formed(target, value)]);
    } else if (!taken.has(field) && (!closed || Object.hasOwn(properties, field)))
      sent.push([field, value]);
  }
  return { ...Object.fromEntries(sent), ...input_defaults };
}

/** The part of an input that is kept: for a closed row, the fields that it knows. */
export function keptInput(model: Pick<Model, 'input_schema' | 'upstreams'>, input: Input): Input {
  if (!isClosed(model)) return input;
  const properties = propertiesOf(model);
  const isKnown = (field: string) =>
    Object.hasOwn(properties, field) ||
    model.upstreams.some(({ input_mapping }) => Object.hasOwn(input_mapping, field));
  return Object.fromEntries(Object.entries(input).filter(([field]) => isKnown(field)));
}

/** The fields of `upstreamInput` that the row itself knows, in the upstream's names. */
export function upstreamFields(
  model: Pick<Model, 'input_schema'>,
  { input_mapping, input_defaults }: Pick<ModelUpstream, 'input_mapping' | 'input_defaults'>,
): string[] {
  const named = Object.keys(propertiesOf(model)).map((field) =>
    Object.hasOwn(input_mapping, field) ? fieldForm(input_mapping[field]!).name : field,
  );
  return [...named, ...Object.keys(input_defaults ?? {})];
}

/** A closed row sends the fields that it names, and no others. */
function isClosed({ input_schema }: Pick<Model, 'input_schema'>): boolean {
  return input_schema.additionalProperties === false;
}

function propertiesOf(model: Pick<Model, 'input_schema'>): Schema {
  return objectOf(model.input_schema.properties);
}

function hasDefault(schema: unknown): schema is { default: unknown } {
  return typeof schema === 'object' && schema !== null && Object.hasOwn(schema, 'default');
}

function validatorOf(schema: Schema): Validator {
  const first = compile(firstFault, schema);
  let all: ValidateFunction | undefined;
  return (input) => {
    if (first(input)) return null;
    if (!isSmall(input)) return sentences(first.errors);
    all ??= compile(allFaults, schema);
    all(input);
    return sentences(all.errors);
  };
}

/** Compiles without leaving the schema in ajv's own cache, which would grow with every reload. */
function compile(ajv: Ajv2020, schema: Schema): ValidateFunction {
  const validate = ajv.compile(schema);
  ajv.removeSchema(schema);
  return validate;
}

function isSmall(input: unknown): boolean {
  let left = VALUES_MAX;
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
  return found.slice(0, ERRORS_MAX).map((error) => {
    const message = cut(messageOf(error), RULE_MAX);
    return { path: cut(pathOf(error)), message, rule: ruleOf(error) };
  });
}

/** For a missing or an unknown field, the field itself rather than the object around it. */
function pathOf(error: ErrorObject): string {
  const params = objectOf(error.params);
  const field = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  if (typeof field !== 'string') return error.instancePath;
  return `${error.instancePath}/${escaped(field)}`;
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
      return `must match ${String(params.pattern)}, in at most ${PATTERN_TEXT_MAX} characters`;
    default:
      return error.message ?? 'does not fit the schema';
  }
}

/** The broken rule in values, named as in the details of other errors. */
function ruleOf({ keyword, params, schema }: ErrorObject): Why {
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
      return { one_of: cut(listOf(allowedValues ?? [allowedValue]), RULE_MAX) };
    case 'anyOf':
    case 'oneOf':
      if (fields === null) return { reason: 'form_unknown' };
      return { reason: 'field_needed', fields: cut(fields.join(', '), RULE_MAX) };
    case 'type':
      return { type };
    case 'multipleOf':
      return { multiple_of: multipleOf };
    default:
      // For example maxLength with its limit.
      return typeof limit === 'number' ? { [snakeCase(keyword)]: limit } : {};
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function cut(text: string, most = WORDS_MAX): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
