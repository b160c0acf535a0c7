import { basename, dirname, resolve } from 'node:path';
import { catalogDir, type Config } from '../config.ts';
import { importRow, plain } from '../core/catalog/imported-row.ts';
import { dayOf } from '../core/catalog/checked-on.ts';
import type { ImportedRow, ImportTerms } from '../core/catalog/imported-row.ts';
import { parseDecimal, type Fraction } from '../core/price/money.ts';
import type { LeftOut, Offers } from '../core/catalog/offer.ts';
import { definitionOf, settingsOf } from '../core/catalog/upstream-definition.ts';
import { Refused } from '../operations/refused.ts';
import { parseCatalogText } from '../storage/catalog-text.ts';
import { catalogYaml, exists, writeWhole } from '../storage/catalog-yaml.ts';
import type { CheckedFolder } from '../storage/catalog.ts';
import { usd } from './account.ts';
import { sources, type Source, type Wanted } from './catalog-sources.ts';
import { readFolder, withUpstreams, type Opened } from './live-look.ts';
import { counted, print, type Context } from './output.ts';

interface Options {
  only?: string[];
  margin: string;
  price?: string;
  out?: string;
  force?: boolean;
}

/** Some list thousands of models, page by page. */
const readMs = 900_000;
const marginMax = 100_000n;

/** Writes rows of the catalog from what an upstream tells of its models and prices. */
export async function importModels(
  context: Context,
  name: string,
  options: Options,
): Promise<void> {
  const source = Object.hasOwn(sources, name) ? sources[name]! : null;
  const known = Object.keys(sources).join(', ');
  if (source === null) throw new Refused(`There is no import from "${name}"; there is ${known}.`);
  const wanted = wantedOf(options.only ?? []);
  if (wanted.patterns.length === 0 && source.needsNames) throw new Refused(source.needsNames);
  const margin = marginOf(options.margin);
  const price = options.price === undefined ? null : usd(options.price);
  if (price !== null && !source.takesPrice)
    throw new Refused(`--price is for an upstream that tells no prices; ${name} tells them.`);
  const out = options.out === undefined ? null : resolve(options.out);
  if (out !== null && !options.force && exists(out)) throw taken(out);
  const found = await withUpstreams(context.config, async (opened) => {
    const folder = await readFolder(catalogDir(context.config), opened);
    return read(context.config, source, wanted, withoutFile(folder, context.config, out), opened);
  });
  const day = dayOf(new Date());
  const terms = {
    ...found,
    prefix: source.prefix,
    margin,
    price,
    source: `${source.says}, ${day}`,
    day,
  };
  const made = rowsOf(found.offers, wanted, { ...terms, upstream: name }, found.owners);
  const head = headOf(name, source, options, day);
  const text = catalogYaml({ head, upstream: found.defines ? found.definition : name, ...made });
  const [problem] = parseCatalogText(text, name).problems;
  if (problem) throw new Error(`the import is no good catalog: ${problem.path} ${problem.message}`);
  if (out !== null && !(await writeWhole(out, text, options.force ?? false))) throw taken(out);
  tell(context, name, made, { text, out });
}

interface Made {
  rows: ImportedRow[];
  left_out: LeftOut[];
}

function tell(
  context: Context,
  name: string,
  { rows, left_out }: Made,
  { text, out }: { text: string; out: string | null },
): void {
  const ids = (some: ImportedRow[]) => some.map(({ row }) => String(row.id));
  const unpriced = rows.filter((row) => row.unpriced);
  const models = rows.filter((row) => !row.unpriced);
  const ok = rows.length > 0;
  const shown = { ok, upstream: name, models: ids(models), unpriced: ids(unpriced), left_out };
  const needs = unpriced.length > 0 ? `, ${unpriced.length} wait for a price` : '';
  const summary = `${counted(models.length, 'model')}${needs}, ${left_out.length} left out.`;
  if (out !== null) print(context, { ...shown, file: out }, `${out}: ${summary}`);
  else print(context, { ...shown, yaml: text }, text.trimEnd());
  // Not on stdout, which is the file's text.
  if (out === null && !context.json) console.error(summary);
  if (!ok) process.exitCode = 1;
}

function taken(file: string): Refused {
  return new Refused(`${file} is there already; --force replaces it.`);
}

/** The folder as it would be without the file that is to be written. */
function withoutFile(folder: CheckedFolder, config: Config, out: string | null): CheckedFolder {
  const isOwn = out !== null && dirname(out) === catalogDir(config);
  if (!isOwn) return folder;
  const own = basename(out);
  return {
    ...folder,
    upstreams: folder.upstreams.filter(({ file }) => file !== own),
    owners: new Map([...folder.owners].filter(([, file]) => file !== own)),
  };
}

async function read(
  { variable }: Config,
  source: Source,
  wanted: Wanted,
  { upstreams, owners }: CheckedFolder,
  { tools }: Opened,
) {
  const { name } = source.definition;
  const defined = upstreams.find((each) => each.definition.name === name)?.definition;
  const definition = defined ?? definitionOf(source.definition);
  if (definition.adapter !== source.definition.adapter)
    throw new Refused(`The upstream ${name} of your catalog is no ${source.definition.adapter}.`);
  const key_optional = definition.key_optional || source.isPublic;
  const settings = settingsOf({ ...definition, key_optional }, variable);
  if (typeof settings === 'string') throw new Refused(`Nothing can be read: ${settings}.`);
  const offers = await source
    .read(settings, tools, wanted, AbortSignal.timeout(readMs))
    .catch((cause: Error) => {
      throw new Refused(`${name} could not be read: ${cause.message}`, { cause });
    });
  return { offers, definition: source.definition, defines: defined === undefined, owners };
}

function rowsOf(
  { offers, left_out }: Offers,
  { patterns }: Wanted,
  terms: ImportTerms,
  owners: ReadonlyMap<string, string>,
): Made {
  const made: Made = { rows: [], left_out: [...left_out] };
  const ids = new Set<unknown>();
  for (const offer of offers) {
    const row = importRow(offer, terms);
    const reason = typeof row === 'string' ? row : takenBy(String(row.row.id), ids, owners);
    if (reason !== null) made.left_out.push({ model: offer.model, reason });
    else if (typeof row === 'object') made.rows.push(row);
    if (typeof row === 'object') ids.add(row.row.id);
  }
  const models = [
    ...offers.flatMap(({ model, id }) => [model, id]),
    ...left_out.map((each) => each.model),
  ];
  for (const { text, matches } of patterns)
    if (!models.some(matches))
      made.left_out.push({ model: text, reason: 'no model of this name is offered' });
  return made;
}

function takenBy(id: string, ids: Set<unknown>, owners: ReadonlyMap<string, string>) {
  if (ids.has(id)) return `another model here has the id ${id}`;
  const owner = owners.get(id);
  return owner === undefined ? null : `${owner} has a row with the id ${id}`;
}

function wantedOf(only: string[]): Wanted {
  const texts = [...new Set(only.map((text) => text.trim()).filter((text) => text !== ''))];
  const patterns = texts.map((text) => {
    const parts = text.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    const form = new RegExp(`^${parts.join('.*')}$`);
    return { text, matches: (model: string) => form.test(model) };
  });
  const isWhole = texts.length > 0 && texts.every((text) => !text.includes('*'));
  const matches = (model: string) =>
    texts.length === 0 || patterns.some((each) => each.matches(model));
  return { patterns, names: isWhole ? texts : null, matches };
}

function marginOf(text: string): Fraction {
  try {
    const margin = parseDecimal(text);
    if (margin.n <= marginMax * margin.d) return margin;
  } catch {
    // Said below.
  }
  throw new Refused(`"${text}" is no margin in percent, such as 20 or 12.5.`);
}

function headOf(name: string, source: Source, options: Options, day: string): string[] {
  const only = (options.only ?? []).map((text) => ` --only ${plain(text, 200)}`).join('');
  const prices = source.takesPrice
    ? 'The prices are yours to set.'
    : `The prices are the costs plus ${plain(options.margin, 20)} %, rounded up: yours to set.`;
  return [`Imported on ${day}: farebox catalog import ${name}${only}`, prices, ...source.notes];
}
