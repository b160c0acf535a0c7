/**
 * Prints a catalog file made from a vendor's list of models and prices; docs/catalog.md explains
 * its use. Exits with 0 if there are rows, 1 if no model could become a row, 2 if the vendor could
 * not be read or the arguments are wrong.
 */
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { dayOf } from '../../server/src/core/catalog/checked-on.ts';
import { parseDecimal, parseUsd } from '../../server/src/core/price/money.ts';
import {
  definitionOf,
  settingsOf,
  type DefinitionForm,
} from '../../server/src/core/catalog/upstream-definition.ts';
import { isObject } from '../../server/src/lib/json.ts';
import { messageOf } from '../../server/src/lib/unknown.ts';
import { fal } from './fal.ts';
import { openrouter } from './openrouter.ts';
import { replicate } from './replicate.ts';
import { plain, problemOf } from './row.ts';
import {
  objectsIn,
  type FoundModel,
  type Json,
  type LeftOut,
  type Row,
  type Vendor,
  type ModelSelection,
} from './vendor.ts';
import { catalogYaml } from './yaml.ts';

const vendors: Readonly<Record<string, Vendor>> = { openrouter, fal, replicate };
const ownFolder = path.join(import.meta.dirname, '../../catalog');
const marginMax = 100_000n;

try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      margin: { type: 'string', default: '20' },
      price: { type: 'string' },
    },
  });
  const [name = ''] = positionals;
  const vendor = Object.hasOwn(vendors, name) ? vendors[name]! : null;
  if (vendor === null)
    throw new Error(`Name a vendor to import from: ${Object.keys(vendors).join(', ')}.`);
  if (values.only.length === 0 && vendor.needsNames) throw new Error(vendor.needsNames);
  if (values.price !== undefined && !vendor.takesPrice)
    throw new Error(`--price is for a vendor that lists no prices; ${name} lists them.`);
  const day = dayOf(new Date());
  const terms = {
    margin: parsed(values.margin, marginOf, 'a margin in percent, such as 20 or 12.5'),
    price: values.price === undefined ? null : parsed(values.price, parseUsd, 'an amount in USD'),
    source: `${vendor.source}, ${day}`,
    day,
  };
  const folder = readFolder(process.env.FAREBOX_CATALOG || ownFolder);
  const definition = folder.upstreams.get(name) ?? readFolder(ownFolder).upstreams.get(name)!;
  const call = callOf(definition, vendor);
  const found = Array.fromAsync(vendor.read(call, wantedOf(values.only), terms));
  const made = select(
    await found.catch((cause: Error) => {
      throw new Error(`${name} could not be read: ${cause.message}`, { cause });
    }),
    { taken: folder.ids, upstream: name, only: values.only },
  );
  const only = values.only.map((text) => ` --only ${plain(text, 200)}`).join('');
  const prices = vendor.takesPrice
    ? 'The prices are yours to set.'
    : `The prices are the costs plus ${plain(values.margin, 20)} %, rounded up: yours to set.`;
  const head = [`Imported on ${day} from ${name}${only}`, prices, ...vendor.notes];
  const upstream = folder.upstreams.has(name) ? name : { ...definition };
  console.log(catalogYaml({ head, upstream, ...made }).trimEnd());
  const unpriced = made.rows.filter((row) => row.unpriced).length;
  const waiting = unpriced > 0 ? `, ${unpriced} without a price` : '';
  const models = made.rows.length - unpriced;
  console.error(`models: ${models}${waiting}, left out: ${made.left_out.length}`);
  if (made.rows.length === 0) process.exitCode = 1;
}

interface Surroundings {
  /** The file of each id in use. */
  taken: Map<unknown, string>;
  upstream: string;
  only: string[];
}

/** The usable rows, and the reasons why other models have none. */
function select(found: FoundModel[], { taken, upstream, only }: Surroundings) {
  const rows: Row[] = [];
  const left_out: LeftOut[] = [];
  for (const each of found) {
    const reason = 'reason' in each ? each.reason : faultOf(each.row.row, taken, upstream);
    if (reason !== null) left_out.push({ model: each.model, reason });
    else if ('row' in each) {
      rows.push(each.row);
      taken.set(each.row.row.id, 'another imported model');
    }
  }
  // A model's name may be followed by a version.
  const names = found.flatMap(({ model }) => [model, model.replace(/:.*/, '')]);
  for (const model of only)
    if (!names.some(wantedOf([model]).matches))
      left_out.push({ model, reason: 'no model of this name is offered' });
  return { rows, left_out };
}

function faultOf(row: Json, taken: Map<unknown, string>, upstream: string): string | null {
  const owner = taken.get(row.id);
  if (owner !== undefined) return `${owner} has a row with the id ${String(row.id)}`;
  const problem = problemOf(row, upstream);
  return problem === null ? null : `no valid row can be made from it: ${problem}`;
}

/** The upstreams that a folder's files define, and the file of each row's id. */
function readFolder(folder: string) {
  const upstreams = new Map<unknown, DefinitionForm>();
  const ids = new Map<unknown, string>();
  for (const file of fs.readdirSync(folder).filter((each) => /^[^.].*\.ya?ml$/.test(each))) {
    const read: unknown = parse(fs.readFileSync(path.join(folder, file), 'utf8'));
    const { upstream, models }: Json = isObject(read) ? read : {};
    if (isObject(upstream)) upstreams.set(upstream.name, upstream as unknown as DefinitionForm);
    for (const { id } of objectsIn(models)) ids.set(id, file);
  }
  return { upstreams, ids };
}

function callOf(form: DefinitionForm, { isPublic = false }: Vendor) {
  const definition = definitionOf(form);
  const key_optional = definition.key_optional || isPublic;
  const settings = settingsOf({ ...definition, key_optional }, (name) => process.env[name] || null);
  if (typeof settings === 'string') throw new Error(`Nothing can be read: ${settings}.`);
  return settings;
}

function wantedOf(only: string[]): ModelSelection {
  const forms = only.map((text) => {
    const parts = text.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`);
  });
  const isNames = only.length > 0 && only.every((text) => !text.includes('*'));
  return {
    names: isNames ? [...new Set(only)] : null,
    matches: (model) => only.length === 0 || forms.some((form) => form.test(model)),
  };
}

function parsed<T>(text: string, read: (text: string) => T, form: string): T {
  try {
    return read(text);
  } catch {
    throw new Error(`"${text}" is not ${form}.`);
  }
}

function marginOf(text: string) {
  const margin = parseDecimal(text);
  if (margin.n > marginMax * margin.d) throw new RangeError('too much');
  return margin;
}
