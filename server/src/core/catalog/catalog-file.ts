/**
 * Turns the content of one catalog file into rows, or says in sentences what is wrong with it.
 * Pure.
 */

import { keysOf } from '../../lib/records.ts';
import { boundRule } from '../chat/tokens.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import fileSchema from '../../../../catalog/schema.json' with { type: 'json' };
import type {
  Extra,
  Kind,
  Modality,
  Model,
  ModelUpstream,
  OnDisconnect,
  PriceRules,
  Resolution,
  Task,
  Unit,
} from './catalog.ts';
import { checkRow } from './catalog-check.ts';
import { schemaFaults } from './catalog-words.ts';
import type { Fault } from './catalog-words.ts';
import { chatExample, chatInputSchema } from '../chat/chat-schema.ts';
import { isDay } from './checked-on.ts';
import { parseUsd } from '../price/money.ts';
import type { Rates } from '../price/rates.ts';
import { definitionOf } from './upstream-definition.ts';
import type { DefinitionForm, UpstreamDefinition } from './upstream-definition.ts';

export interface Problem {
  file: string;
  /** JSON pointer into the file; '' is the whole file. */
  path: string;
  /** A sentence that names the row and what is allowed. */
  message: string;
  /** From 1, if known. */
  line?: number;
}

export interface ParsedFile {
  /** The upstream that it defines. */
  upstream: UpstreamDefinition | null;
  rows: Model[];
  problems: Problem[];
}

interface UpstreamForm {
  upstream?: string;
  input_mapping?: Record<string, string>;
  input_defaults?: Record<string, unknown>;
  cost_usd?: string;
  cost_usd_by_resolution?: Partial<Record<Resolution, string>>;
  cost_input_usd?: string;
  cost_output_usd?: string;
  on_lost?: 'next' | 'wait';
  first_byte_seconds?: number;
}

interface ExtraForm {
  per_item?: string;
  free?: number;
  when?: string;
  equals?: string | number | boolean;
  default?: string | number | boolean;
  add_usd: string;
  cost_usd?: string;
  label: string;
}

interface PriceForm {
  unit: Unit;
  usd?: string;
  usd_by_resolution?: Partial<Record<Resolution, string>>;
  input_usd?: string;
  output_usd?: string;
  step?: number;
  reserve?: 'max';
  charged?: 'asked';
}

/** A row as written in the file, after it has passed the schema. */
interface RowForm extends UpstreamForm {
  id: string;
  kind: Kind;
  task: Task;
  name: string;
  description?: string;
  owned_by?: string;
  created?: string;
  checked_on?: string;
  price: PriceForm;
  extras?: ExtraForm[];
  max?: number;
  max_unit?: string;
  resolutions?: Resolution[];
  upstream_model?: string;
  upstreams?: (UpstreamForm & { model?: string; weight?: number })[];
  job_age_seconds?: number;
  max_prompt_tokens?: number;
  cost_may_exceed?: string;
  input_schema?: Record<string, unknown>;
  example?: Record<string, unknown>;
  on_disconnect?: OnDisconnect;
  hidden_tokens?: boolean;
  input_modalities?: Modality[];
  context_tokens?: number;
  refuse_longer_prompts?: boolean;
  max_output_tokens?: number;
  image_tokens?: number;
}

interface FileForm {
  upstream?: string | DefinitionForm;
  owned_by?: string;
  models: RowForm[];
}

/** More would only push the first ones off the screen. */
const PROBLEMS_MAX = 50;
/** Ids that two files share: enough to find the rest. */
const TAKEN_NAMED = 5;
const CREATED_DEFAULT = '2026-01-01';
const jobAgeSeconds: Record<Kind, number> = { image: 600, video: 3600, text: 600 };
/** Longer than any reply takes: the service would bill what we cut off. */
const finishedAgeSeconds = 3600;
/** The natural unit of each kind; a row priced by request may be of any kind. */
const maxUnits: Record<Kind, string> = { video: 'seconds', image: 'images', text: 'tokens' };

let validate: ValidateFunction | undefined;

/**
 * `content` is the file's parsed YAML. Rows are returned only if the whole file has the right form.
 */
export function parseCatalogFile(content: unknown, file: string): ParsedFile {
  validate ??= new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
  }).compile(fileSchema);
  if (!validate(content)) {
    const faults = schemaFaults(validate.errors ?? [], content).slice(0, PROBLEMS_MAX);
    const problems = faults.map(({ path, message }) => ({ file, path, message }));
    return { upstream: null, rows: [], problems };
  }
  const form = content as FileForm;
  const upstream = typeof form.upstream === 'object' ? definitionOf(form.upstream) : null;
  const rows: Model[] = [];
  const problems: Problem[] = [];
  form.models.forEach((row, i) => {
    const faults = formFaults(row, form);
    const model = faults.length === 0 ? modelOf(row, form) : undefined;
    if (model) faults.push(...checkRow(model));
    if (model && faults.length === 0) rows.push(deepFreeze(model));
    for (const fault of faults) {
      problems.push({
        file,
        path: `/models/${i}${fault.path}`,
        message: `${row.id}: ${fault.message}`,
      });
    }
  });
  return { upstream, rows, problems: problems.slice(0, PROBLEMS_MAX) };
}

/** The rows that name an upstream that no file defines. */
export function unknownUpstreams(
  file: string,
  rows: readonly Model[],
  known: readonly string[],
): Problem[] {
  const problems = rows.flatMap(({ id, upstreams }) => {
    const wrong = upstreams.find(({ upstream }) => !known.includes(upstream));
    if (!wrong) return [];
    const message = `${id}: there is no upstream ${wrong.upstream}; known are ${known.join(', ')}.`;
    return [{ file, path: `/models/${rows.findIndex((row) => row.id === id)}`, message }];
  });
  return problems.slice(0, PROBLEMS_MAX);
}

/** Why an upstream can never serve a row. */
export interface UnsupportedRow {
  /** JSON pointer into the row, as if it were in the long form: `/task`, `/model` … */
  path: string;
  /** About the upstream, without a full stop; says what is allowed. */
  message: string;
}

/** Null if nothing speaks against it. */
export type FindUnsupported = (row: Model, route: ModelUpstream) => UnsupportedRow | null;

/** The rows that one of their upstreams can never serve. `judges` are by upstream. */
export function unsupportedRows(
  file: string,
  rows: readonly Model[],
  judges: ReadonlyMap<string, FindUnsupported>,
): Problem[] {
  const problems = rows.flatMap((row, i) =>
    row.upstreams.flatMap((route, at): Problem[] => {
      const unsupported = judges.get(route.upstream)?.(row, route);
      if (!unsupported) return [];
      const path = `/models/${i}${pathOf(unsupported.path, at, row)}`;
      return [{ file, path, message: `${row.id}: ${route.upstream}: ${unsupported.message}.` }];
    }),
  );
  return problems.slice(0, PROBLEMS_MAX);
}

function pathOf(path: string, at: number, { upstreams }: Model): string {
  if (path === '/task') return path;
  if (upstreams.length > 1) return `/upstreams/${at}${path}`;
  return path === '/model' ? '/upstream_model' : path;
}

/** Which file's row counts for each id, or definition for each upstream. */
export type Owners = ReadonlyMap<string, string>;

/** Upstreams that need no file. */
const ownUpstreams: Owners = new Map([['sandbox', 'Farebox itself']]);

/**
 * The definitions that count, one for each upstream, in the given order. As with ids, a definition
 * stays with the file that it counted in `before`, so that a copy sends no running upstream to
 * another address. A file whose definition does not count has a problem, but its rows are read all
 * the same.
 */
export function settleUpstreams(
  files: { file: string; upstream: UpstreamDefinition | null }[],
  before: Owners = new Map(),
): { upstreams: UpstreamDefinition[]; upstreamOwners: Owners; problems: Problem[] } {
  const owners = new Map(ownUpstreams);
  for (const { file, upstream } of files) {
    if (upstream === null || ownUpstreams.has(upstream.name)) continue;
    const { name } = upstream;
    if (!owners.has(name) || before.get(name) === file) owners.set(name, file);
  }
  const upstreams: UpstreamDefinition[] = [];
  const problems: Problem[] = [];
  for (const { file, upstream } of files) {
    if (upstream === null) continue;
    const owner = owners.get(upstream.name)!;
    const message = `the upstream ${upstream.name} is defined by ${owner} already.`;
    if (owner === file) upstreams.push(upstream);
    else problems.push({ file, path: '/upstream', message });
  }
  return { upstreams, upstreamOwners: owners, problems };
}

/**
 * The rows that count, one for each id, in the given order. An id stays with the file that it
 * counted in `before`, as long as that file has it, so that a new file changes no live price;
 * otherwise the first file that has it gets it. Each pair of files with the same ids is one
 * problem, of the file whose rows do not count.
 */
export function settleIds(
  files: { file: string; rows: readonly Model[] }[],
  before: Owners = new Map(),
): { rows: Model[]; owners: Owners; problems: Problem[] } {
  const owners = new Map<string, string>();
  for (const { file, rows } of files) {
    for (const { id } of rows) {
      if (!owners.has(id) || before.get(id) === file) owners.set(id, file);
    }
  }
  const counting = new Map<string, Model>();
  const problems: Problem[] = [];
  for (const { file, rows } of files) {
    const taken = new Map<string, string[]>();
    for (const row of rows) {
      const owner = owners.get(row.id)!;
      if (owner === file && !counting.has(row.id)) counting.set(row.id, row);
      else if (taken.has(owner)) taken.get(owner)!.push(row.id);
      else taken.set(owner, [row.id]);
    }
    for (const [owner, ids] of taken) {
      problems.push({ file, path: '', message: takenBy(owner, ids) });
    }
  }
  return { rows: [...counting.values()], owners, problems };
}

function takenBy(owner: string, ids: string[]): string {
  if (ids.length === 1) return `${ids[0]}: the id is taken by a row of ${owner}.`;
  const named = ids.slice(0, TAKEN_NAMED).join(', ');
  const more = ids.length > TAKEN_NAMED ? ', …' : '';
  return `${ids.length} ids are taken by rows of ${owner}: ${named}${more}.`;
}

/** What the schema cannot state and what must hold before a row can be built. */
function formFaults(row: RowForm, file: FileForm): Fault[] {
  const faults: Fault[] = [];
  for (const field of ['created', 'checked_on'] as const) {
    const day = row[field];
    if (day === undefined || isDay(day)) continue;
    const message = `${field} is not a calendar date: ${day}.`;
    faults.push({ path: `/${field}`, message });
  }
  (row.upstreams ?? [row]).forEach((form, i) => {
    if (form.cost_usd !== undefined && form.cost_usd_by_resolution !== undefined) {
      const message = 'cost_usd is never used beside cost_usd_by_resolution; leave it out.';
      faults.push({ path: `${row.upstreams ? `/upstreams/${i}` : ''}/cost_usd`, message });
    }
    if (form.upstream !== undefined || file.upstream !== undefined) return;
    const message = 'upstream is missing; name it in the row or once at the top of the file.';
    faults.push({ path: row.upstreams ? `/upstreams/${i}` : '', message });
  });
  return faults;
}

function modelOf(row: RowForm, file: FileForm): Model {
  const text = row.kind === 'text';
  const { on_lost, first_byte_seconds } = row;
  const ofRow = { ...(on_lost && { on_lost }), ...(first_byte_seconds && { first_byte_seconds }) };
  const upstreams = row.upstreams?.map((form) =>
    upstreamOf({ ...ofRow, ...form }, form.model ?? row.id, file),
  ) ?? [upstreamOf(row, row.upstream_model ?? row.id, file)];
  const input_schema = row.input_schema ?? chatInputSchema;
  const on_disconnect = row.on_disconnect ?? 'finish';
  return {
    id: row.id,
    kind: row.kind,
    task: row.task,
    name: row.name,
    description: row.description ?? '',
    owned_by: row.owned_by ?? file.owned_by ?? upstreams[0]!.upstream,
    created: Date.parse(`${row.created ?? CREATED_DEFAULT}T00:00:00Z`) / 1000,
    uncensored: row.id.includes('uncensored'),
    price: priceOf(row, input_schema),
    max_unit: row.max_unit ?? maxUnits[row.kind],
    input_schema,
    example: row.example ?? (text && !row.input_schema ? chatExample : {}),
    upstreams,
    job_age_seconds: row.job_age_seconds ?? jobAgeOf(row.kind, on_disconnect),
    on_disconnect,
    hidden_tokens: row.hidden_tokens ?? false,
    input_modalities: row.input_modalities ?? ['text', 'image'],
    max_prompt_tokens: row.max_prompt_tokens ?? null,
    cost_may_exceed: row.cost_may_exceed ?? null,
    checked_on: row.checked_on ?? null,
    max_output_tokens: row.max_output_tokens ?? 0,
    context_tokens: row.context_tokens ?? 0,
    refuse_longer_prompts: row.refuse_longer_prompts ?? false,
    image_tokens: row.image_tokens ?? boundRule.per_image,
  };
}

function jobAgeOf(kind: Kind, on_disconnect: OnDisconnect): number {
  return kind === 'text' && on_disconnect === 'finish' ? finishedAgeSeconds : jobAgeSeconds[kind];
}

function priceOf(row: RowForm, input_schema: Record<string, unknown>): PriceRules {
  const { unit, usd, usd_by_resolution, input_usd, output_usd } = row.price;
  const { step, reserve, charged } = row.price;
  const rates = ratesIn(usd_by_resolution);
  return {
    unit,
    ...(usd !== undefined && { unit_price_usd_micro: parseUsd(usd) }),
    ...(rates && { by_resolution: rates }),
    ...(input_usd !== undefined && { input_usd_micro: parseUsd(input_usd) }),
    ...(output_usd !== undefined && { output_usd_micro: parseUsd(output_usd) }),
    extras: (row.extras ?? []).map((form) => extraOf(form, input_schema)),
    max: row.max ?? 0,
    resolutions: row.resolutions ?? keysOf(rates ?? {}),
    ...(step !== undefined && { step }),
    ...(reserve !== undefined && { reserve }),
    ...(charged !== undefined && { charged }),
  };
}

function extraOf(form: ExtraForm, input_schema: Record<string, unknown>): Extra {
  const { label } = form;
  const adds = {
    add_usd_micro: parseUsd(form.add_usd),
    ...(form.cost_usd !== undefined && { cost_usd_micro: parseUsd(form.cost_usd) }),
    label,
  };
  if (form.per_item !== undefined)
    return { kind: 'per_item', field: form.per_item, free: form.free ?? 0, ...adds };
  const field = form.when!;
  const fallback = form.default ?? defaultOf(input_schema, field);
  return {
    kind: 'when',
    field,
    equals: form.equals!,
    ...adds,
    ...(fallback !== undefined && { default: fallback }),
  };
}

/** An omitted field goes upstream with its schema default, so it is priced as that default. */
function defaultOf(input_schema: Record<string, unknown>, field: string) {
  const properties = (input_schema.properties ?? {}) as Record<
    string,
    { default?: string | boolean }
  >;
  return Object.hasOwn(properties, field) ? properties[field]!.default : undefined;
}

function upstreamOf(
  form: UpstreamForm & { weight?: number },
  model: string,
  file: FileForm,
): ModelUpstream {
  const cost = form.cost_usd ?? form.cost_input_usd;
  const own = ratesIn(form.cost_usd_by_resolution);
  return {
    upstream: form.upstream ?? nameOf(file)!,
    model,
    weight: form.weight ?? null,
    input_mapping: form.input_mapping ?? {},
    input_defaults: form.input_defaults ?? {},
    cost_usd_micro: own ? highestOf(own) : cost === undefined ? null : parseUsd(cost),
    ...(own && { cost_by_resolution: own }),
    cost_output_usd_micro:
      form.cost_output_usd === undefined ? null : parseUsd(form.cost_output_usd),
    ...(form.on_lost && { on_lost: form.on_lost }),
    ...(form.first_byte_seconds && { first_byte_seconds: form.first_byte_seconds }),
  };
}

function ratesIn(form: Partial<Record<Resolution, string>> | undefined): Rates | undefined {
  if (form === undefined) return undefined;
  return Object.fromEntries(Object.entries(form).map(([name, rate]) => [name, parseUsd(rate)]));
}

function highestOf(rates: Rates): bigint {
  return Object.values(rates).reduce((most, rate) => (rate > most ? rate : most), 0n);
}

function nameOf({ upstream }: FileForm): string | undefined {
  return typeof upstream === 'object' ? upstream.name : upstream;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}
