import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { ApiError } from '../../core/errors.ts';
import type { ReasonDetails } from '../../core/reasons.ts';
import { isCalendarDay } from '../../lib/calendar-day.ts';
import { isUuid } from '../../lib/id.ts';
import * as s from './schema.ts';
import { objectOf } from '../../lib/json.ts';

/** Reads query and body of a call by their schemas. Refuses an invalid field with `bad_request`. */

const ajv = new Ajv({
  strict: false,
  useDefaults: true,
  verbose: true,
  formats: {
    uuid: isUuid,
    cursor: isUuid,
    'date-time': isTime,
    moment: isMoment,
    micro_usd: isMicroUsd,
    uri: true,
  },
});

const nothing = s.object({});

/** Compiled at first use and kept as long as their schema. */
const compiled = new WeakMap<s.TSchema, ValidateFunction>();

/** A JSON body. Fields that are left out get their default. */
export function readBody<S extends s.TObject>(
  schema: S,
  body: Record<string, unknown>,
): s.Static<S> {
  let validate = compiled.get(schema);
  if (!validate) compiled.set(schema, (validate = ajv.compile(schema)));
  // `Static` is the type of what the schema lets through.
  if (validate(body)) return body as s.Static<S>;
  throw refusal(validate.errors![0]!);
}

/**
 * The query of a call. Its values come as strings, from which numbers and flags are read. A closed
 * schema (`form`) refuses unknown parameters, because a list whose filter is ignored shows too
 * much. `more` are parameters that the handler reads itself.
 */
export function readQuery<S extends s.TObject>(
  schema: S,
  query: unknown,
  more: s.TObject = nothing,
): s.Static<S> {
  const given = objectOf(query);
  const names = Object.keys(given);
  const { additionalProperties, properties }: s.Schema = schema;
  if (additionalProperties === false && names.length > 0) {
    const allowed = Object.keys({ ...properties, ...more.properties });
    const odd = names.find((name) => !allowed.some((each) => isNamed(name, each)));
    if (odd !== undefined) throw unknownName('parameter', odd.slice(0, 50), allowed);
  }
  const read: Record<string, unknown> = {};
  for (const name of names) {
    const value = given[name];
    if (!Object.hasOwn(properties, name) || value === undefined) continue;
    // The values of a parameter that is given more than once.
    if (Array.isArray(value)) throw badField(name, 'given once');
    // PostgreSQL cannot store NUL.
    if (typeof value === 'string' && value.includes('\0'))
      throw badField(name, 'a string without NUL');
    read[name] = fromText(value, properties[name]!);
  }
  return readBody(schema, read);
}

/** Whether a parameter is the allowed one; `metadata.NAME` stands for any name after the dot. */
function isNamed(name: string, allowed: string): boolean {
  return allowed.endsWith('.NAME') ? name.startsWith(allowed.slice(0, -4)) : name === allowed;
}

function fromText(value: unknown, { type }: s.Schema): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'integer' && /^(0|[1-9]\d{0,14})$/.test(value)) return Number(value);
  if (type === 'number' && /^\d{1,15}(\.\d{1,3})?$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

function refusal(error: ErrorObject): ApiError {
  const { keyword, params } = error;
  // `verbose` adds our own schema to the error.
  const rule = (error.parentSchema ?? {}) as s.Schema;
  const { properties = {} } = rule;
  const at = error.instancePath.slice(1).split('/').filter(Boolean).map(unescaped);
  if (keyword === 'additionalProperties') {
    const odd = String(params.additionalProperty).slice(0, 50);
    const allowed = Object.keys(properties);
    return unknownName('field', fieldName([...at, odd]), allowed);
  }
  if (keyword === 'required') {
    const missing = String(params.missingProperty);
    const param = fieldName([...at, missing]);
    const [words, details] = ruleOf(properties[missing] ?? {});
    const message = `${param} is missing. It must be ${words}.`;
    return new ApiError('bad_request', { message, param, details });
  }
  return badField(fieldName(at), ...ruleOf(rule));
}

function unknownName(what: string, name: string, allowed: string[]): ApiError {
  return new ApiError('bad_request', {
    message: `There is no ${what} ${name}. Allowed: ${allowed.join(', ')}.`,
    reason: 'field_unknown',
    param: name,
    details: { allowed },
  });
}

/** `bad_request` for a field that is not what it must be. */
export function badField(name: string, rule: string, details?: ReasonDetails): ApiError {
  const message = `${name} must be ${rule}.`;
  return new ApiError('bad_request', { message, param: name, details });
}

/** `models`, `0` → `models[0]` */
function fieldName(path: string[]): string {
  return path.map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i ? `.${part}` : part)).join('');
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The rule for a field, in words and as values. */
function ruleOf(rule: s.Schema): [words: string, limits: ReasonDetails | undefined] {
  const words = valueRule(rule);
  return [rule.nullable ? `${words}, or null` : words, rule.rule ? undefined : limitsOf(rule)];
}

function limitsOf(rule: s.Schema): ReasonDetails {
  const { type, minimum, maximum, minItems: min_items, maxItems: max_items } = rule;
  const { minLength: min_length, maxLength: max_length } = rule;
  const one_of = rule.enum?.filter((each) => each !== null);
  const format = s.isMoney(rule) ? 'usd_micro' : rule.format;
  return { type, format, one_of, minimum, maximum, min_length, max_length, min_items, max_items };
}

function valueRule(rule: s.Schema): string {
  if (rule.rule) return rule.rule;
  if (rule.enum) return `one of ${rule.enum.filter((each) => each !== null).join(', ')}`;
  switch (rule.type) {
    case 'integer':
      return `an integer${range(rule.minimum, rule.maximum)}`;
    case 'number':
      return `a number${range(rule.minimum, rule.maximum)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${range(rule.minItems, rule.maxItems, 'entries')}`;
    case 'object':
      return 'an object';
    default:
      return textRule(rule);
  }
}

function textRule(rule: s.Schema): string {
  const { format, pattern, minLength, maxLength } = rule;
  if (format === 'date-time') return 'a time with Z or an offset, such as 2027-01-31T00:00:00.000Z';
  // A plus sign in a query is read as a space.
  if (format === 'moment')
    return 'a date, or a time with Z or an offset (write + as %2B), such as 2026-01-31T00:00:00Z';
  if (format === 'uuid') return 'an id';
  if (format === 'uri') return 'an address';
  if (format === 'micro_usd')
    return `whole micro-USD as a decimal string, such as "2500000" for 2.50 USD, and at most "${microUsdMax}"`;
  if (s.isMoney(rule))
    return `whole micro-USD${pattern!.includes('0|') ? '' : ' above 0'} as a decimal string, such as "2500000" for 2.50 USD`;
  return `a string${range(minLength, maxLength, 'characters')}`;
}

function range(min: number | undefined, max: number | undefined, unit?: string): string {
  const what = unit === undefined ? '' : ` ${unit}`;
  if (min === undefined && max === undefined) return '';
  if (max === undefined) return ` of at least ${min}${what}`;
  if (min === undefined) return ` of at most ${max}${what}`;
  return unit === undefined ? ` from ${min} to ${max}` : ` of ${min} to ${max}${what}`;
}

/** A time with its zone, from 1970 to 2199: PostgreSQL can store it and plan queries with it. */
function isTime(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text)) return false;
  const year = new Date(text).getUTCFullYear();
  return year >= 1970 && year < 2200;
}

/** PostgreSQL's `bigint`. */
const microUsdMax = 2n ** 63n - 1n;

function isMicroUsd(text: string): boolean {
  return text.length <= 19 && /^[0-9]+$/.test(text) && BigInt(text) <= microUsdMax;
}

const momentForm = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** A date, or a time with its zone, from 1970 on. */
function isMoment(text: string): boolean {
  const day = momentForm.exec(text)?.[1];
  const ms = day !== undefined && isCalendarDay(day) ? Date.parse(text) : NaN;
  return ms >= 0 && ms < 2 ** 48;
}

/** A future `expires_at`, or null if none is given. Throws `bad_request`. */
export function endToCome(expires_at: string | null | undefined): Date | null {
  const time = expires_at ? new Date(expires_at) : null;
  if (time === null || time.getTime() > Date.now()) return time;
  throw badField('expires_at', 'a future time in UTC, such as 2027-01-31T00:00:00.000Z', {
    reason: 'end_passed',
  });
}
