import fileSchema from '../../../../catalog/schema.json' with { type: 'json' };
import { keysOf } from '../../lib/records.ts';
import { boundRule } from '../chat/tokens.ts';
import type {
  CancelRule,
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
import { schemaFaults, type RowFault } from './catalog-words.ts';
import { chatExample, chatInputSchema } from './chat-input.ts';
import { isDay } from './checked-on.ts';
import { inputTypes } from '../media/input-types.ts';
import { parseUsd } from '../price/money.ts';
import type { Rates } from '../price/rates.ts';
import {
  definitionOf,
  type DefinitionForm,
  type UpstreamDefinition,
} from './upstream-definition.ts';
import { objectOf } from '../../lib/json.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/**
 * Turns the content of one catalog file into rows, or describes in sentences what is wrong with it.
 * Pure.
 */

export interface FileProblem {
  file: string;
  /** JSON pointer into the file; '' is the whole file. */
  path: string;
  /** A sentence that names the row and what is allowed. */
  message: string;
  /** From 1, if known. */
  line?: number;
}

export interface ParsedFile {
  /** The upstream that the file defines, if any. */
  upstream: UpstreamDefinition | null;
  rows: Model[];
  problems: FileProblem[];
}

interface UpstreamForm {
  upstream?: string;
  input_mapping?: Record<string, string>;
  input_defaults?: Record<string, unknown>;
  cost_usd?: string;
  cost_usd_by_resolution?: Partial<Record<Resolution, string>>;
  cost_input_usd?: string;
  cost_output_usd?: string;
  cost_cached_input_usd?: string;
  cost_cache_write_usd?: string;
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
  cached_input_usd?: string;
  cache_write_usd?: string;
  step?: number;
  reserve?: 'max';
  charged?: 'asked';
}

/** A row as written in the file, after the schema check. */
interface RowForm extends UpstreamForm {
  id: string;
  kind: Kind;
  task: Task;
  name: string;
  description?: string;
  owned_by?: string;
  created?: string;
  checked_on?: string;
  sample?: string;
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
  on_cancel?: CancelRule;
  input_schema?: Record<string, unknown>;
  example?: Record<string, unknown>;
  on_disconnect?: OnDisconnect;
  hidden_tokens?: boolean;
  input_modalities?: Modality[];
  input_types?: string[];
  context_tokens?: number;
  refuse_longer_prompts?: boolean;
  max_output_tokens?: number;
  image_tokens?: number;
}

interface FileForm {
  upstream?: string | DefinitionForm;
  owned_by?: string;
  input_types?: string[];
  models: RowForm[];
}

/**
 * Maximum number of problems that are reported: with more, the first ones would scroll off the
 * screen.
 */
export const problemsMax = 50;
const createdDefault = '2026-01-01';
const jobAgeSeconds: Record<Kind, number> = { image: 600, video: 3600, text: 600 };
/**
 * Longer than any reply takes: the upstream would bill the operator even for a reply that we cut
 * off.
 */
const finishedAgeSeconds = 3600;
const maxUnits: Record<Kind, string> = { video: 'seconds', image: 'images', text: 'tokens' };

let validate: ValidateFunction<FileForm> | undefined;

/**
 * `content`: the file's parsed YAML. Returns no rows if the file breaks the schema, otherwise the
 * rows without a fault.
 */
export function parseCatalogFile(content: unknown, file: string): ParsedFile {
  validate ??= new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
  }).compile<FileForm>(fileSchema);
  if (!validate(content)) {
    const faults = schemaFaults(validate.errors ?? [], content).slice(0, problemsMax);
    const problems = faults.map(({ path, message }) => ({ file, path, message }));
    return { upstream: null, rows: [], problems };
  }
  const form = content;
  const upstream = typeof form.upstream === 'object' ? definitionOf(form.upstream) : null;
  const rows: Model[] = [];
  const problems: FileProblem[] = [];
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
  return { upstream, rows, problems: problems.slice(0, problemsMax) };
}

/** Checks that the schema cannot state and that must pass before a row can be built. */
function formFaults(row: RowForm, file: FileForm): RowFault[] {
  const faults: RowFault[] = [];
  for (const field of ['created', 'checked_on'] as const) {
    const day = row[field];
    if (day === undefined || isDay(day)) continue;
    const message = `${field} is not a calendar date: ${day}.`;
    faults.push({ path: `/${field}`, message });
  }
  (row.upstreams ?? [row]).forEach((form, i) => {
    const path = row.upstreams ? `/upstreams/${i}` : '';
    if (form.cost_usd !== undefined && form.cost_usd_by_resolution !== undefined) {
      const message = 'cost_usd is never used beside cost_usd_by_resolution; leave it out.';
      faults.push({ path: `${path}/cost_usd`, message });
    }
    if (row.kind === 'text') faults.push(...lonelyCosts(form, path));
    if (form.upstream !== undefined || file.upstream !== undefined) return;
    const message = 'upstream is missing; name it in the row or once at the top of the file.';
    faults.push({ path, message });
  });
  return faults;
}

/** Finds a cost that has no effect: without the cost of its prompt, a chat books no cost. */
function lonelyCosts(form: UpstreamForm, path: string): RowFault[] {
  if ((form.cost_usd ?? form.cost_input_usd) !== undefined) return [];
  const others = ['cost_output_usd', 'cost_cached_input_usd', 'cost_cache_write_usd'] as const;
  const field = others.find((name) => form[name] !== undefined);
  if (field === undefined) return [];
  const message =
    `${field} is never used without cost_input_usd; add cost_input_usd, ` +
    'or requests book no cost.';
  return [{ path: `${path}/${field}`, message }];
}

function modelOf(row: RowForm, file: FileForm): Model {
  const { id, kind, task, name, sample, on_cancel } = row;
  const { description = '', created = createdDefault, max_unit = maxUnits[kind] } = row;
  const { input_schema = chatInputSchema, input_types: types = file.input_types } = row;
  const { on_disconnect = 'finish', job_age_seconds = jobAgeOf(kind, on_disconnect) } = row;
  const { hidden_tokens = false, input_modalities = ['text', 'image'] } = row;
  const { max_prompt_tokens = null, cost_may_exceed = null, checked_on = null } = row;
  const { max_output_tokens = 0, context_tokens = 0, refuse_longer_prompts = false } = row;
  const upstreams = upstreamsOf(row, file);
  return {
    id,
    kind,
    task,
    name,
    description,
    owned_by: row.owned_by ?? file.owned_by ?? upstreams[0]!.upstream,
    created: Date.parse(`${created}T00:00:00Z`) / 1000,
    uncensored: id.includes('uncensored'),
    price: priceOf(row, input_schema),
    max_unit,
    input_schema,
    ...(types && { input_types: inputTypes(types) }),
    ...(sample !== undefined && { sample }),
    example: row.example ?? (kind === 'text' && !row.input_schema ? chatExample : {}),
    upstreams,
    job_age_seconds,
    ...(on_cancel && { on_cancel }),
    on_disconnect,
    hidden_tokens,
    input_modalities,
    max_prompt_tokens,
    cost_may_exceed,
    checked_on,
    max_output_tokens,
    context_tokens,
    refuse_longer_prompts,
    image_tokens: row.image_tokens ?? boundRule.per_image,
  };
}

/** A row with one upstream says in its own fields what others say for each. */
function upstreamsOf(row: RowForm, file: FileForm): ModelUpstream[] {
  const { id, on_lost, first_byte_seconds } = row;
  if (!row.upstreams) return [upstreamOf(row, row.upstream_model ?? id, file)];
  const ofAll = { ...(on_lost && { on_lost }), ...(first_byte_seconds && { first_byte_seconds }) };
  return row.upstreams.map((form) => upstreamOf({ ...ofAll, ...form }, form.model ?? id, file));
}

function jobAgeOf(kind: Kind, on_disconnect: OnDisconnect): number {
  return kind === 'text' && on_disconnect === 'finish' ? finishedAgeSeconds : jobAgeSeconds[kind];
}

function priceOf(row: RowForm, input_schema: Record<string, unknown>): PriceRules {
  const { unit, usd, usd_by_resolution, input_usd, output_usd } = row.price;
  const { cached_input_usd, cache_write_usd, step, reserve, charged } = row.price;
  const rates = ratesIn(usd_by_resolution);
  return {
    unit,
    ...(usd !== undefined && { unit_price_usd_micro: parseUsd(usd) }),
    ...(rates && { by_resolution: rates }),
    ...(input_usd !== undefined && { input_usd_micro: parseUsd(input_usd) }),
    ...(output_usd !== undefined && { output_usd_micro: parseUsd(output_usd) }),
    ...(cached_input_usd !== undefined && { cached_input_usd_micro: parseUsd(cached_input_usd) }),
    ...(cache_write_usd !== undefined && { cache_write_usd_micro: parseUsd(cache_write_usd) }),
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

/**
 * The schema's default for a field, if it is a scalar. An omitted field is sent with this value,
 * and so priced with it.
 */
function defaultOf(input_schema: Record<string, unknown>, field: string) {
  const given = fieldOf(objectOf(input_schema.properties)[field], 'default');
  const isScalar =
    typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean';
  return isScalar ? given : undefined;
}

function upstreamOf(
  form: UpstreamForm & { weight?: number },
  model: string,
  file: FileForm,
): ModelUpstream {
  const cost = form.cost_usd ?? form.cost_input_usd;
  const own = ratesIn(form.cost_usd_by_resolution);
  const { cost_cached_input_usd: cached, cost_cache_write_usd: written } = form;
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
    ...(cached !== undefined && { cost_cached_input_usd_micro: parseUsd(cached) }),
    ...(written !== undefined && { cost_cache_write_usd_micro: parseUsd(written) }),
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
