/**
 * The catalog as the rest of the service sees it: rows already checked and normalised. The YAML
 * form of a row is described by `catalog/schema.json`.
 */

export type Kind = 'video' | 'image' | 'text';
export type Unit = 'sec' | 'image' | 'request' | 'MP' | '1M tokens';

export const resolutions = [
  '0.5k',
  '1k',
  '1.5k',
  '2k',
  '4k',
  '480p',
  '540p',
  '720p',
  '768p',
  '1080p',
] as const;
export type Resolution = (typeof resolutions)[number];

export const tasks = [
  'text-to-video',
  'image-to-video',
  'reference-to-video',
  'video-edit',
  'video-extend',
  'video-analyze',
  'video-to-video/edit',
  'character-animation',
  'talking-avatar',
  'lip-sync',
  'video-to-audio',
  'motion-control',
  'reframe',
  'upscale',
  'text-to-image',
  'edit',
  'layer-decomposition',
  'text-to-vector',
  'chat',
] as const;
export type Task = (typeof tasks)[number];

/** Something that adds to the rate of one unit. */
export type Extra =
  /**
   * Adds `add_usd_micro` per item of the list field beyond the first `free` items. A single string
   * counts as one item.
   */
  | {
      kind: 'per_item';
      field: string;
      free: number;
      add_usd_micro: bigint;
      /** Added by each to the operator's cost of one unit; undefined: not stated. */
      cost_usd_micro?: bigint;
      label: string;
    }
  /**
   * Adds `add_usd_micro` when the field holds `equals` (an omitted field counts as its `default`).
   */
  | {
      kind: 'when';
      field: string;
      equals: string | number | boolean;
      default?: string | number | boolean;
      add_usd_micro: bigint;
      cost_usd_micro?: bigint;
      label: string;
    };

/**
 * The rules that price a request: kept with each request as its snapshot. All amounts are
 * micro-USD per unit.
 */
export interface PriceRules {
  unit: Unit;
  /** For media: the rate if no resolution decides it. */
  unit_price_usd_micro?: bigint;
  /** For media: rates that differ by resolution. */
  by_resolution?: Partial<Record<Resolution, bigint>>;
  /** For text: per 1M tokens. */
  input_usd_micro?: bigint;
  output_usd_micro?: bigint;
  extras: Extra[];
  /** Longest duration or largest count of one request; 0: none stated. */
  max: number;
  /** Offered values of `resolution`; empty: the field does not decide the price. */
  resolutions: Resolution[];
  /** Quantities are rounded up to multiples of it: a begun block counts as a whole one. */
  step?: number;
  /** `max` is reserved whatever the input says, because the output follows a caller's file. */
  reserve?: 'max';
  /**
   * The requested amount is charged, whatever is delivered, because its upstream bills that way.
   */
  charged?: 'asked';
}

export type OnDisconnect = 'finish' | 'stop';

export const modalities = ['text', 'image', 'audio', 'file'] as const;
export type Modality = (typeof modalities)[number];

export interface ModelUpstream {
  /** Name of the upstream, as in `upstreams/index.ts`. */
  upstream: string;
  /** The upstream's own name for the model. */
  model: string;
  /** Share of the requests that try it first; null: only the order decides. */
  weight: number | null;
  /** Our input field → the upstream's; other fields keep their own name. */
  input_mapping: Record<string, string>;
  /** Fixed fields added to what is sent. */
  input_defaults: Record<string, unknown>;
  /**
   * The operator's cost of one unit, micro-USD; null if unknown. For text per 1M tokens. If
   * resolutions have their own costs, the highest of them. Without the cost of extras if those
   * state it; otherwise that of the most costly choice of extras.
   */
  cost_usd_micro: bigint | null;
  /** The cost of each offered resolution, if stated one by one. */
  cost_by_resolution?: Partial<Record<Resolution, bigint>>;
  cost_output_usd_micro: bigint | null;
  /**
   * Whether the next route is tried after a lost answer of this one; otherwise `goesOn` decides.
   */
  on_lost?: 'next' | 'wait';
  /** How long the first byte of an answer may take before it counts as lost. */
  first_byte_seconds?: number;
}

export interface Model {
  id: string;
  kind: Kind;
  task: Task;
  name: string;
  description: string;
  owned_by: string;
  /** Unix seconds. */
  created: number;
  uncensored: boolean;
  price: PriceRules;
  max_unit: string;
  /** JSON Schema 2020-12 of the input. */
  input_schema: Record<string, unknown>;
  example: Record<string, unknown>;
  /** In order of preference; at least one. */
  upstreams: ModelUpstream[];
  /** From start; then the reservation is released and the request ends FAILED `timeout`. */
  job_age_seconds: number;
  /** Most tokens of the field `prompt`, counted as `boundTokens` does; null: unlimited. */
  max_prompt_tokens: number | null;
  /** How a request can cost more than it is charged, in the operator's words; or null. */
  cost_may_exceed: string | null;
  /** Day on which its model and price were last checked, 2026-11-22; null: not stated. */
  checked_on: string | null;
  /**
   * Chat only: what happens when the caller leaves. `finish` reads the reply on to its usage in the
   * background, because an outside service bills it anyway; `stop` aborts, for servers of the
   * operator's own.
   */
  on_disconnect: OnDisconnect;
  /** Chat only: it can think without showing it, so only its usage tells what a reply cost. */
  hidden_tokens: boolean;
  /** Chat only: what a message may contain. Other modalities are not in its price. */
  input_modalities: Modality[];
  /** Chat only: the model's own ceiling of completion tokens, and of prompt tokens. */
  max_output_tokens: number;
  context_tokens: number;
  /**
   * Chat only: a prompt whose bound is longer is refused, because the model would take and bill it.
   */
  refuse_longer_prompts: boolean;
  /** Chat only: what one image in the prompt costs at most. */
  image_tokens: number;
}

/** One immutable version of the whole catalog. */
export interface Catalog {
  models: ReadonlyMap<string, Model>;
  /** Rows left out and why, for the operator. */
  hidden: { id: string; reason: string }[];
  /** Changes when any row does; the ETag of GET /models. */
  version: string;
}

/**
 * The rows that can be served, in the given order. A row keeps only its usable upstreams; a row
 * without any is hidden, with the reasons. The first of several rows with the same id counts.
 * `version` is set by the caller.
 */
export function assembleCatalog(
  rows: readonly Model[],
  usable: (upstream: string) => true | string,
): Omit<Catalog, 'version'> {
  const models = new Map<string, Model>();
  const hidden: Catalog['hidden'] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    if (seen.has(row.id)) continue;
    seen.add(row.id);
    const verdicts = row.upstreams.map(({ upstream }) => usable(upstream));
    const upstreams = row.upstreams.filter((_, i) => verdicts[i] === true);
    if (upstreams.length === row.upstreams.length) models.set(row.id, row);
    else if (upstreams.length > 0) models.set(row.id, Object.freeze({ ...row, upstreams }));
    else hidden.push({ id: row.id, reason: [...new Set(verdicts)].join('; ') });
  }
  return { models, hidden };
}
