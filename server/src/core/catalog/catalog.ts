/**
 * The catalog as the rest of the service sees it: rows that have been checked and normalised.
 * `catalog/schema.json` describes a row's YAML form.
 */
import { keysOf } from '../../lib/records.ts';
import { taskWords } from '../task-words.ts';

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

export const tasks = keysOf(taskWords);
export type Task = keyof typeof taskWords;

/** A rule that adds to the rate of one unit. */
export type Extra =
  /**
   * Adds `add_usd_micro` for each item of the list field after the first `free` items. A single
   * string counts as one item.
   */
  | {
      kind: 'per_item';
      field: string;
      free: number;
      add_usd_micro: bigint;
      /** The operator's additional cost per item and unit; undefined if not stated. */
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

/** The rules that price a request. All amounts are micro-USD per unit. */
export interface PriceRules {
  unit: Unit;
  /** For media: the rate if it does not depend on the resolution. */
  unit_price_usd_micro?: bigint;
  /** For media: the rates by resolution. */
  by_resolution?: Partial<Record<Resolution, bigint>>;
  /** For text: per 1M tokens. */
  input_usd_micro?: bigint;
  output_usd_micro?: bigint;
  /** For prompt tokens that the upstream read from its cache; if not set, the input price. */
  cached_input_usd_micro?: bigint;
  /** For prompt tokens that the upstream wrote to its cache; if not set, the input price. */
  cache_write_usd_micro?: bigint;
  extras: Extra[];
  /** Largest amount in one request, in the row's `max_unit`; 0: not stated. */
  max: number;
  /** Offered values of `resolution`; empty: the price does not depend on it. */
  resolutions: Resolution[];
  /** Quantities are rounded up to multiples of this. */
  step?: number;
  /**
   * `max` is reserved whatever the input says, because the output is as long as a caller's file.
   */
  reserve?: 'max';
  /**
   * The requested amount is charged, whatever is delivered, because the upstream bills that way.
   */
  charged?: 'asked';
}

export type OnDisconnect = 'finish' | 'stop';

/** The charge of a job that was cancelled while it ran: nothing, the upstream's bill, or all. */
export const cancelRules = ['free', 'upstream', 'full'] as const;
export type CancelRule = (typeof cancelRules)[number];

export const modalities = ['text', 'image', 'audio', 'file'] as const;
export type Modality = (typeof modalities)[number];

export interface ModelUpstream {
  /** The name of an upstream that a catalog file defines, or `sandbox`. */
  upstream: string;
  /** The upstream's own name for the model. */
  model: string;
  /** Share of the requests that try this route first; null: only the order decides. */
  weight: number | null;
  /** Our input field → the upstream's; other fields keep their names. */
  input_mapping: Record<string, string>;
  /** Fixed fields that are added to every call. */
  input_defaults: Record<string, unknown>;
  /**
   * The operator's cost in micro-USD of one unit (for text, of 1M prompt tokens); null if unknown.
   * If resolutions have their own costs, this is the highest of them. If extras state their costs,
   * these are not included; otherwise it is the cost with the most costly choice of extras.
   */
  cost_usd_micro: bigint | null;
  /** The cost at each offered resolution, if stated separately. */
  cost_by_resolution?: Partial<Record<Resolution, bigint>>;
  cost_output_usd_micro: bigint | null;
  /** For prompt tokens that were read from the cache; if not set, the input cost. */
  cost_cached_input_usd_micro?: bigint;
  /** For prompt tokens that were written to the cache; if not set, the input cost. */
  cost_cache_write_usd_micro?: bigint;
  /**
   * Whether the next route is tried after this route's answer was lost. If not set, it is tried for
   * a chat, and if this route's upstream answers a start with the result.
   */
  on_lost?: 'next' | 'wait';
  /** How long the first byte of an answer may take before it counts as lost. */
  first_byte_seconds?: number;
}

export interface Model {
  id: string;
  /** Set while an operator has stopped its sale, with the operator's words to customers. */
  stopped?: { note: string | null };
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
  input_schema: Record<string, unknown>;
  example: Record<string, unknown>;
  /**
   * The content types of callers' files that the upstream reads. Others are converted or refused.
   */
  input_types?: readonly string[];
  /** The file of the operator's picture of what it makes, in the catalog's folder. */
  sample?: string;
  /** In order of preference; at least one. */
  upstreams: ModelUpstream[];
  /**
   * Time limit in seconds from the start; then the reservation is released and the request ends
   * FAILED with `timeout`.
   */
  job_age_seconds: number;
  /** Jobs only: callers may cancel a running job, at this cost. If not set, they cannot. */
  on_cancel?: CancelRule;
  /** Maximum number of tokens of the field `prompt`, counted by `boundTokens`; null: unlimited. */
  max_prompt_tokens: number | null;
  /** How a request can cost more than its charge, in the operator's words; null if it cannot. */
  cost_may_exceed: string | null;
  /**
   * Day on which the model and its price were last checked, such as 2026-11-22; null: not stated.
   */
  checked_on: string | null;
  /**
   * Chat only: what happens when the caller leaves. `finish` reads the rest of the reply in the
   * background to get its usage, because an outside service bills it anyway. `stop` aborts the
   * call, for the operator's own servers.
   */
  on_disconnect: OnDisconnect;
  /**
   * Chat only: the model can think without showing it, so only its usage shows what a reply cost.
   */
  hidden_tokens: boolean;
  /** Chat only: what a message may contain. The price does not cover other modalities. */
  input_modalities: Modality[];
  /**
   * Chat only: the model's limit of completion tokens (`max_output_tokens`) and of prompt tokens
   * (`context_tokens`).
   */
  max_output_tokens: number;
  context_tokens: number;
  /**
   * Chat only: a prompt is refused if its bound is above `context_tokens`, because the upstream
   * would accept and bill it.
   */
  refuse_longer_prompts: boolean;
  /** Chat only: the most tokens that one image in the prompt can cost. */
  image_tokens: number;
}

/** An immutable version of the whole catalog. */
export interface Catalog {
  models: ReadonlyMap<string, Model>;
  /** Rows that are not served and why, for the operator. */
  hidden: { id: string; reason: string }[];
  /** Changes whenever a row changes; used as the ETag of GET /models. */
  version: string;
}

/**
 * The rows that can be served, in the given order. A row keeps only its usable upstreams; if it has
 * none, it is hidden, with the reasons. If several rows have the same id, the first one counts. The
 * caller sets `version`.
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
