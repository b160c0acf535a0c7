/** Checks of a catalog row that its schema cannot state. Pure. */

import { objectOf } from '../../lib/json.ts';
import { keysOf } from '../../lib/records.ts';
import { messageOf } from '../../lib/unknown.ts';
import type { Kind, Model, Task, Unit } from './catalog.ts';
import { defaultFaults, omissionFaults, propertyOf } from './catalog-omissions.ts';
import type { RowFault } from './catalog-words.ts';
import { ApiError } from '../errors.ts';
import { inputValidator, validateInput } from './model-input.ts';
import { price } from '../price/price.ts';
import { countMax, durationSecondsMax } from '../price/priced-fields.ts';

const units: Record<Kind, readonly Unit[]> = {
  video: ['sec', 'request'],
  image: ['image', 'request', 'MP'],
  text: ['1M tokens'],
};

/**
 * Tasks that make images. `reframe` and `upscale` make images or videos, `chat` makes text, and all
 * other tasks make videos.
 */
const imageTasks = new Set<Task>([
  'text-to-image',
  'edit',
  'layer-decomposition',
  'text-to-vector',
]);
const eitherTasks = new Set<Task>(['reframe', 'upscale']);

/** For each price unit, the values of `max_unit` that limit a request. */
const boundingWords: Partial<Record<Unit, readonly string[]>> = {
  sec: ['seconds'],
  image: ['images', 'count'],
  MP: ['images', 'count', 'megapixels'],
  '1M tokens': ['tokens'],
};

/** Highest `maxItems` allowed beside `uniqueItems`: comparing all pairs takes quadratic time. */
const uniqueItemsMax = 1000;

/** A limit on the field `prompt` has no effect if the row has no such field. */
function promptFaults({ max_prompt_tokens, input_schema }: Model): RowFault[] {
  if (max_prompt_tokens === null || propertyOf(input_schema, 'prompt')) return [];
  const message = 'max_prompt_tokens limits the field prompt, which is not in input_schema.';
  return [{ path: '/max_prompt_tokens', message }];
}

/** Everything that is wrong with a row; empty if it may be sold. */
export function checkRow(model: Model): RowFault[] {
  const faults = [...kindFaults(model), ...maxFaults(model), ...resolutionFaults(model)];
  faults.push(...costFaults(model), ...promptFaults(model));
  faults.push(...schemaFaults(model.input_schema, '/input_schema'), ...extraFaults(model));
  // Each of these relies on the checks before it, and would only repeat their faults.
  for (const next of [defaultFaults, exampleFaults, omissionFaults])
    if (faults.length === 0) faults.push(...next(model));
  return faults;
}

function kindFaults({ kind, task, price: { unit } }: Model): RowFault[] {
  const faults: RowFault[] = [];
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

function maxFaults({ price: { max, unit, reserve }, max_unit }: Model): RowFault[] {
  const words = boundingWords[unit];
  if (reserve === 'max' && (max === 0 || max_unit !== words?.at(-1))) {
    const message = `reserve: max also needs the field max, in ${words?.at(-1) ?? 'a unit other than request'}.`;
    return [{ path: '/price/reserve', message }];
  }
  if (max > 0 && words && !words.includes(max_unit)) {
    const message = `max_unit must be ${words.join(' or ')} for ${unit}, not ${max_unit}.`;
    return [{ path: '/max_unit', message }];
  }
  const ceiling =
    max_unit === 'seconds'
      ? durationSecondsMax
      : max_unit === 'images' || max_unit === 'count'
        ? countMax
        : Infinity;
  if (max <= ceiling) return [];
  const message = `max must be at most ${ceiling} ${max_unit}, the ceiling of the service.`;
  return [{ path: '/max', message }];
}

function resolutionFaults({ price: rules, input_schema }: Model): RowFault[] {
  const faults: RowFault[] = [];
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
      'add it to usd_by_resolution, or set usd.';
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
      `input_schema allows the resolution ${unknown.join(', ')}, but the field resolutions ` +
      'does not list it.';
    faults.push({ path: '/input_schema/properties/resolution/enum', message });
  }
  return faults;
}

/**
 * A row states a cost for each offered resolution, or for none: otherwise a resolution without one
 * would be booked at the cost of another.
 */
function costFaults({ price: { resolutions: offered }, upstreams }: Model): RowFault[] {
  return upstreams.flatMap(({ cost_by_resolution: own }, at): RowFault[] => {
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

function extraFaults({ price: { extras }, input_schema }: Model): RowFault[] {
  const faults: RowFault[] = [];
  const silent = extras.findIndex(({ cost_usd_micro }) => cost_usd_micro === undefined);
  if (silent >= 0 && extras.some(({ cost_usd_micro }) => cost_usd_micro !== undefined)) {
    const message = 'other extras of the row have a cost_usd; this one needs it too.';
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
    // `extra.default` leaves out a default that is a list or an object, so it is checked here.
    const given = extra.default ?? property.default;
    if (given === undefined) return;
    if (typeof given !== typeof extra.equals) {
      const message = `the extra's default must be a ${typeof extra.equals}, like the value of equals.`;
      faults.push({ path, message });
    } else if (property.default !== undefined && property.default !== given) {
      const message =
        `the extra's default differs from the default of ${extra.field} in input_schema; the ` +
        'upstream gets the latter.';
      faults.push({ path, message });
    }
  });
  return faults;
}

function exampleFaults(model: Model): RowFault[] {
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
  // A chat's example is a conversation; its price depends on the tokens counted later.
  const priced = model.kind === 'text' ? { input_tokens: 1, output_tokens: 1 } : model.example;
  try {
    price(model, priced);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [{ path: '/example', message: `the example has no price: ${error.message}` }];
  }
  return [];
}

/** Finds keywords that could make checking a caller's input slow. */
function schemaFaults(schema: unknown, path: string): RowFault[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const faults: RowFault[] = [];
  const { pattern, uniqueItems, maxItems, patternProperties } = objectOf(schema);
  const patterns = typeof pattern === 'string' ? [pattern] : [];
  if (typeof patternProperties === 'object') patterns.push(...Object.keys(patternProperties ?? {}));
  for (const text of patterns.filter(isExplosive)) {
    const message =
      `the pattern ${text} repeats a group that holds a repetition or alternatives; ` +
      'a caller could make the check very slow with it.';
    faults.push({ path: `${path}/pattern`, message });
  }
  if (uniqueItems === true && !(typeof maxItems === 'number' && maxItems <= uniqueItemsMax)) {
    const message = `where uniqueItems is true, maxItems must be given and be at most ${uniqueItemsMax}.`;
    faults.push({ path, message });
  }
  for (const [key, child] of Object.entries(schema)) {
    if (key === 'default' || key === 'examples' || key === 'const' || key === 'enum') continue;
    faults.push(...schemaFaults(child, `${path}/${key}`));
  }
  return faults;
}

/**
 * Whether a repeated group contains a repetition, as in `(a+)+`, or alternatives, as in `(a|a)+`.
 * The pattern may then try every way to divide a text; each further character doubles their number.
 * Some harmless patterns are refused as well.
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
