/** Rules between the fields of a catalog row, beyond what its schema can state. Pure. */

import { objectOf } from '../../lib/json.ts';
import { keysOf } from '../../lib/records.ts';
import { messageOf } from '../../lib/unknown.ts';
import type { Kind, Model, Task, Unit } from './catalog.ts';
import { defaultFaults, omissionFaults, propertyOf } from './catalog-omissions.ts';
import type { Fault } from './catalog-words.ts';
import { ApiError } from '../errors.ts';
import { inputValidator, validateInput } from './model-input.ts';
import { price } from '../price/price.ts';
import { COUNT_MAX, DURATION_SECONDS_MAX } from '../price/priced-fields.ts';

const units: Record<Kind, readonly Unit[]> = {
  video: ['sec', 'request'],
  image: ['image', 'request', 'MP'],
  text: ['1M tokens'],
};

/**
 * Tasks that make images; `reframe` and `upscale` make either, `chat` makes text, all others video.
 */
const imageTasks = new Set<Task>([
  'text-to-image',
  'edit',
  'layer-decomposition',
  'text-to-vector',
]);
const eitherTasks = new Set<Task>(['reframe', 'upscale']);

/** The words of `max_unit` that really bound a row of this unit. */
const boundingWords: Partial<Record<Unit, readonly string[]>> = {
  sec: ['seconds'],
  image: ['images', 'count'],
  MP: ['images', 'count', 'megapixels'],
  '1M tokens': ['tokens'],
};

/** Comparing the items of a list with each other costs its length squared. */
const UNIQUE_ITEMS_MAX = 1000;

/** A limit on a field that the row does not have bounds nothing. */
function promptFaults({ max_prompt_tokens, input_schema }: Model): Fault[] {
  if (max_prompt_tokens === null || propertyOf(input_schema, 'prompt')) return [];
  const message = 'max_prompt_tokens limits the field prompt, which is not in input_schema.';
  return [{ path: '/max_prompt_tokens', message }];
}

/** Everything wrong with a row; empty if it may be sold. */
export function checkRow(model: Model): Fault[] {
  const faults = [...kindFaults(model), ...maxFaults(model), ...resolutionFaults(model)];
  faults.push(...costFaults(model), ...promptFaults(model));
  faults.push(...schemaFaults(model.input_schema, '/input_schema'), ...extraFaults(model));
  // Each of these needs what the ones before it have checked, and would only repeat their faults.
  for (const next of [defaultFaults, exampleFaults, omissionFaults])
    if (faults.length === 0) faults.push(...next(model));
  return faults;
}

function kindFaults({ kind, task, price: { unit } }: Model): Fault[] {
  const faults: Fault[] = [];
  if (!kindsOf(task).includes(kind)) {
    const allowed = kindsOf(task).join(' or ');
    faults.push({ path: '/task', message: `the task ${task} needs kind ${allowed}, not ${kind}.` });
  }
  if (!units[kind].includes(unit)) {
    const allowed = units[kind].join(', ');
    faults.push({
      path: '/price/unit',
      message: `kind ${kind} is priced by ${allowed}, not by ${unit}.`,
    });
  }
  return faults;
}

function kindsOf(task: Task): Kind[] {
  if (task === 'chat') return ['text'];
  if (eitherTasks.has(task)) return ['image', 'video'];
  return imageTasks.has(task) ? ['image'] : ['video'];
}

function maxFaults({ price: { max, unit, reserve }, max_unit }: Model): Fault[] {
  const words = boundingWords[unit];
  if (reserve === 'max' && (max === 0 || max_unit !== words?.at(-1))) {
    const message = `reserve: max needs a max, in ${words?.at(-1) ?? 'a unit other than request'}.`;
    return [{ path: '/price/reserve', message }];
  }
  if (max > 0 && words && !words.includes(max_unit)) {
    const message = `max_unit must be ${words.join(' or ')} for ${unit}, not ${max_unit}.`;
    return [{ path: '/max_unit', message }];
  }
  const ceiling =
    max_unit === 'seconds'
      ? DURATION_SECONDS_MAX
      : max_unit === 'images' || max_unit === 'count'
        ? COUNT_MAX
        : Infinity;
  if (max <= ceiling) return [];
  const message = `max must be at most ${ceiling} ${max_unit}, the ceiling of the service.`;
  return [{ path: '/max', message }];
}

function resolutionFaults({ price: rules, input_schema }: Model): Fault[] {
  const faults: Fault[] = [];
  const priced = keysOf(rules.by_resolution ?? {});
  for (const name of priced) {
    if (rules.resolutions.includes(name)) continue;
    const message = `usd_by_resolution has ${name}, which is not in resolutions.`;
    faults.push({ path: `/price/usd_by_resolution/${name}`, message });
  }
  const unpriced = rules.resolutions.filter((name) => !priced.includes(name));
  if (priced.length > 0 && rules.unit_price_usd_micro === undefined && unpriced.length > 0) {
    const message =
      `${unpriced.join(', ')} in resolutions has no price; ` +
      'add it to usd_by_resolution, or usd.';
    faults.push({ path: '/price/usd_by_resolution', message });
  }
  if (priced.length > 0 && rules.unit_price_usd_micro !== undefined && unpriced.length === 0) {
    const message =
      'usd is never used, since usd_by_resolution names every resolution; leave it out.';
    faults.push({ path: '/price/usd', message });
  }
  const allowed = propertyOf(input_schema, 'resolution')?.enum;
  const unknown =
    rules.resolutions.length > 0 && Array.isArray(allowed)
      ? allowed.filter((name) => !rules.resolutions.includes(name))
      : [];
  if (unknown.length > 0) {
    const message =
      `input_schema lets resolution be ${unknown.join(', ')}, ` +
      'which resolutions does not offer.';
    faults.push({ path: '/input_schema/properties/resolution/enum', message });
  }
  return faults;
}

/** A cost for each offered resolution, or for none: a missing one would be booked at another's. */
function costFaults({ price: { resolutions: offered }, upstreams }: Model): Fault[] {
  return upstreams.flatMap(({ cost_by_resolution: own }, at): Fault[] => {
    if (own === undefined) return [];
    const path = `${upstreams.length > 1 ? `/upstreams/${at}` : ''}/cost_usd_by_resolution`;
    const unknown = keysOf(own).find((name) => !offered.includes(name));
    if (unknown !== undefined) {
      const message = `cost_usd_by_resolution has ${unknown}, which the row does not offer.`;
      return [{ path: `${path}/${unknown}`, message }];
    }
    const missing = offered.filter((name) => own[name] === undefined);
    if (missing.length === 0) return [];
    const message = `${missing.join(', ')} in resolutions has no cost in cost_usd_by_resolution.`;
    return [{ path, message }];
  });
}

function extraFaults({ price: { extras }, input_schema }: Model): Fault[] {
  const faults: Fault[] = [];
  const silent = extras.findIndex(({ cost_usd_micro }) => cost_usd_micro === undefined);
  if (silent >= 0 && extras.some(({ cost_usd_micro }) => cost_usd_micro !== undefined)) {
    const message = 'cost_usd is stated by other extras of the row; state it here as well.';
    faults.push({ path: `/extras/${silent}/cost_usd`, message });
  }
  extras.forEach((extra, i) => {
    const path = `/extras/${i}`;
    const property = propertyOf(input_schema, extra.field);
    if (!property) {
      const message = `the extra's field ${extra.field} is not in input_schema.properties.`;
      faults.push({ path, message });
      return;
    }
    if (extra.kind === 'per_item') return;
    // A schema default of another type does not get into the extra.
    const given = extra.default ?? property.default;
    if (given === undefined) return;
    if (typeof given !== typeof extra.equals) {
      const message = `the extra's default must be a ${typeof extra.equals}, as equals is.`;
      faults.push({ path, message });
    } else if (property.default !== undefined && property.default !== given) {
      const message =
        `the extra's default differs from that of ${extra.field} in input_schema, which is what ` +
        'the upstream gets.';
      faults.push({ path, message });
    }
  });
  return faults;
}

function exampleFaults(model: Model): Fault[] {
  try {
    inputValidator(model);
  } catch (error) {
    const message = `input_schema does not compile: ${messageOf(error)}.`;
    return [{ path: '/input_schema', message }];
  }
  const errors = validateInput(model, model.example) ?? [];
  if (errors.length > 0) {
    return errors.map(({ path, message }) => ({
      path: `/example${path}`,
      message: `the example does not fit input_schema: ${path.slice(1) || 'it'} ${message}.`,
    }));
  }
  // A chat's example is a conversation; its price is that of counted tokens.
  const priced = model.kind === 'text' ? { input_tokens: 1, output_tokens: 1 } : model.example;
  try {
    price(model, priced);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [{ path: '/example', message: `the example has no price: ${error.message}` }];
  }
  return [];
}

/** Keywords that could make a caller's input expensive to check. */
function schemaFaults(schema: unknown, path: string): Fault[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const faults: Fault[] = [];
  const { pattern, uniqueItems, maxItems, patternProperties } = objectOf(schema);
  const patterns = typeof pattern === 'string' ? [pattern] : [];
  if (typeof patternProperties === 'object') patterns.push(...Object.keys(patternProperties ?? {}));
  for (const text of patterns.filter(isExplosive)) {
    const message =
      `the pattern ${text} repeats a group that holds a repetition or alternatives; ` +
      'a caller could stall the check with it.';
    faults.push({ path: `${path}/pattern`, message });
  }
  if (uniqueItems === true && !(typeof maxItems === 'number' && maxItems <= UNIQUE_ITEMS_MAX)) {
    const message = `uniqueItems needs a maxItems of at most ${UNIQUE_ITEMS_MAX} beside it.`;
    faults.push({ path, message });
  }
  for (const [key, child] of Object.entries(schema)) {
    if (key === 'default' || key === 'examples' || key === 'const' || key === 'enum') continue;
    faults.push(...schemaFaults(child, `${path}/${key}`));
  }
  return faults;
}

/**
 * Whether a repeated group contains a repetition or alternatives, as in (a+)+ and (a
 *
 * a)+ : such a pattern may try every way to divide a text, which doubles with each character. Some
 * harmless patterns are caught too.
 */
export function isExplosive(pattern: string): boolean {
  const text = pattern.replace(/\\./gs, '_').replace(/\[[^\]]*\]/g, '_');
  const open = [false];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') open.push(false);
    const inner = text[i] === ')' && open.pop() === true;
    const repeated = /^\)?(?:[*+]|\{\d+,\})/.test(text.slice(i, i + 12));
    if (inner && repeated) return true;
    if (inner || repeated || text[i] === '|') open[open.length - 1] = true;
  }
  return false;
}
