import { roundLong } from '../../lib/long-integers.ts';
import { isCount, isObject, objectOf, type Json } from '../../lib/json.ts';
import { givenFields } from '../check.ts';
import type { CacheUse } from '../price/prompt-prices.ts';

/** Reads the usage that an upstream reports with a chat, as untrusted data. */

/**
 * A usage with the names of chat completions. The prompt includes all cached tokens, and the
 * completion all reasoning. A count that is missing is unknown. It may have other fields.
 */
export interface Usage extends Json {
  prompt_tokens?: number;
  completion_tokens?: number;
  /** The sum, or the only count that the upstream gave. */
  total_tokens?: number;
  prompt_tokens_details?: CacheUse;
  completion_tokens_details?: { reasoning_tokens?: number };
}

/** More tokens than any model takes. One absurd report would spoil every sum that includes it. */
export const tokensMax = 100_000_000;

/** Whether this is a whole number of tokens, from 0 to `tokensMax`. */
export function isTokenCount(value: unknown): value is number {
  return isCount(value) && value <= tokensMax;
}

/** The prompt's tokens that were read from the cache or written to it; 0 if none are told. */
export function cacheUseIn({ prompt_tokens_details = {} }: Usage): Required<CacheUse> {
  const { cached_tokens = 0, cache_write_tokens = 0 } = prompt_tokens_details;
  return { cached_tokens, cache_write_tokens };
}

/** The counts of a usage that covers the whole reply. */
export interface Counts extends Required<CacheUse> {
  /** Null if the upstream counted only the completion. */
  prompt_tokens: number | null;
  completion_tokens: number;
}

/** Null if the usage has no count of the completion. */
export function readUsage(usage: Usage): Counts | null {
  const { prompt_tokens = null, completion_tokens } = usage;
  if (completion_tokens === undefined) return null;
  return { prompt_tokens, completion_tokens, ...cacheUseIn(usage) };
}

/**
 * The prompt's part of a usage whose completion does not count. A prompt of zero gives null: some
 * servers report zero until they have counted.
 */
export function promptUsageOf(usage: Usage): Usage | null {
  const { prompt_tokens } = usage;
  return prompt_tokens ? { prompt_tokens, prompt_tokens_details: cacheUseIn(usage) } : null;
}

/**
 * Names of each count at various services, in snake case; other services write them in camel case.
 * If a report has several, the largest counts, because some servers fill the usual field with 0.
 */
const names = {
  prompt: [
    'prompt_tokens',
    'input_tokens',
    'prompt_token_count',
    'input_token_count',
    'prompt_eval_count',
  ],
  completion: [
    'completion_tokens',
    'output_tokens',
    'candidates_token_count',
    'output_token_count',
    'eval_count',
  ],
  total: ['total_tokens', 'total_token_count'],
  reasoning: ['reasoning_tokens', 'thinking_tokens', 'reasoning'],
  /** Gemini counts its thoughts beside the completion. */
  thoughts: ['thoughts_token_count'],
};

const promptDetails = [
  'prompt_tokens_details',
  'prompt_token_details',
  'input_tokens_details',
  'input_token_details',
];
const completionDetails = [
  'completion_tokens_details',
  'output_tokens_details',
  'output_token_details',
];

type Kind = keyof typeof names | 'cached' | 'written';

const kinds: ReadonlyMap<string, Kind> = new Map(
  (Object.keys(names) as (keyof typeof names)[]).flatMap((kind) =>
    names[kind].map((name) => [name, kind] as const),
  ),
);

/** Nearly every service has its own names for the counts of its cache. */
function kindOf(name: string): Kind | undefined {
  if (!name.includes('cache')) return kinds.get(name);
  if (/discount|cost|rat(e|io)|percent|seconds|ttl/.test(name)) return undefined;
  if (/creat|writ/.test(name)) return 'written';
  return /miss|details|un_?cache|no(n|t)?_?cache/.test(name) ? undefined : 'cached';
}

/** Whether the field has its own place in a `Usage`. */
function isMoved(name: string): boolean {
  const own = snake(name);
  return kindOf(own) !== undefined || [...promptDetails, ...completionDetails].includes(own);
}

const capital = /[A-Z]/g;
const snake = (name: string) => name.replace(capital, (letter) => `_${letter.toLowerCase()}`);

/** Whether an object looks like the report of a usage. */
export function isReport(value: unknown): value is Json {
  if (!isObject(value)) return false;
  return Object.keys(value).some((name) => reported.has(snake(name)));
}

const reported = new Set([
  'cost',
  ...names.prompt,
  ...names.completion,
  ...names.total,
  ...names.thoughts,
]);

/** Fields of a report that other APIs have, too. */
const ofMoney = new Set(['cost', 'cost_details', 'is_byok']);

/** As `usageOfReport`, of another API, without the fields that only that API has. */
export function foreignUsage(report: Json): Usage | null {
  return usageIn(report, (name) => ofMoney.has(name));
}

/** The usage in a report, with its other fields; null without a usable count and a cost. */
export function usageOfReport(report: Json): Usage | null {
  return usageIn(report, (name) => !isMoved(name));
}

function usageIn(given: Json, isKept: (name: string) => boolean): Usage | null {
  const report = objectOf(roundLong(given));
  const fields = inSnakeCase(report);
  const counts = countsIn(fields);
  const others = Object.fromEntries(Object.entries(report).filter(([name]) => isKept(name)));
  const prompt = promptOf(counts, fields);
  const completion = prompt && completionOf(counts);
  const completion_tokens = isTokenCount(completion) ? completion : null;
  // Some servers report a prompt of zero until they have counted.
  const isPromptAlone = counts.completion !== null && Boolean(prompt?.prompt_tokens);
  if (prompt === null || (completion_tokens === null && !isPromptAlone)) {
    const total_tokens = totalAlone(counts);
    if (total_tokens === null && !('cost' in report)) return null;
    return givenFields({ ...others, total_tokens });
  }
  const { prompt_tokens, ...cacheUse } = prompt;
  const isWhole = prompt_tokens !== undefined && completion_tokens !== null;
  const reasoning_tokens = tokenCountIn(counts.thoughts ?? counts.reasoning);
  return givenFields({
    ...others,
    prompt_tokens,
    completion_tokens,
    total_tokens: isWhole ? prompt_tokens + completion_tokens : null,
    prompt_tokens_details: detailsIn(report, promptDetails, cacheUse),
    completion_tokens_details: detailsIn(report, completionDetails, { reasoning_tokens }),
  });
}

/** The details of a report with our own counts in place of its own; null if there are none. */
function detailsIn(report: Json, places: readonly string[], counts: Json): Json | null {
  const stated = Object.assign({}, ...places.map((name) => objectOf(report[name]))) as Json;
  const details = givenFields({ ...stated, ...counts });
  return Object.keys(details).length > 0 ? details : null;
}

function inSnakeCase(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snake(name), value]));
}

/** Undefined: not given. Null: given, but unusable. */
type KindCounts = Partial<Record<Kind, number | null>>;

/** The counts among the fields of a report, which have names in snake case. */
function countsIn(fields: Json): KindCounts {
  const counts: KindCounts = {};
  addCounts(counts, fields);
  for (const name of promptDetails) addCounts(counts, fields[name], ['cached', 'written']);
  for (const name of completionDetails) addCounts(counts, fields[name], ['reasoning']);
  const { prompt, completion, total } = counts;
  if (!isTokenCount(total)) return counts;
  // If only one part is missing, it is the rest of the total.
  const written = completionOf(counts);
  if (prompt === undefined && written !== null && total > written) counts.prompt = total - written;
  if (completion === undefined && isTokenCount(prompt) && total > prompt)
    counts.completion = total - prompt;
  return counts;
}

/** Adds the counts among some fields. `wanted`: only these kinds. */
function addCounts(counts: KindCounts, fields: unknown, wanted?: readonly Kind[]): void {
  for (const [name, value] of Object.entries(givenFields(objectOf(fields)))) {
    const kind = kindOf(snake(name));
    if (!kind || wanted?.includes(kind) === false) continue;
    const isOfCache = kind === 'cached' || kind === 'written';
    const count = isOfCache && isObject(value) ? sumIn(value) : tokenCountIn(value);
    counts[kind] = count === null ? (counts[kind] ?? null) : Math.max(count, counts[kind] ?? 0);
  }
}

/** The sum of the counts of several lifetimes in the cache. */
function sumIn(lifetimes: Json): number {
  return Object.values(lifetimes)
    .map((value) => tokenCountIn(value) ?? 0)
    .reduce((sum, each) => sum + each, 0);
}

/** A count, perhaps as a text; otherwise null. */
function tokenCountIn(value: unknown): number | null {
  const isText = typeof value === 'string' && /^\d{1,9}(\.0+)?$/.test(value);
  const number = isText ? Number(value) : value;
  return isTokenCount(number) ? number : null;
}

/** The total of a report that has neither of its parts. */
function totalAlone({ prompt, completion, total }: KindCounts): number | null {
  const isAlone = prompt === undefined && completion === undefined;
  // A total of zero means that nothing has been counted.
  return (isAlone && total) || null;
}

/**
 * The completion with its reasoning. Some upstreams do not count reasoning as completion: xAI
 * reports it separately, Gemini's older form shows it only in the total.
 */
function completionOf(counts: KindCounts): number | null {
  const { prompt, completion, total, thoughts, reasoning, cached, written } = counts;
  if (isTokenCount(thoughts)) return completion === null ? null : (completion ?? 0) + thoughts;
  if (!isTokenCount(completion)) return null;
  const beside = isTokenCount(total) && isTokenCount(prompt) ? total - prompt - completion : 0;
  if (isTokenCount(reasoning))
    return beside === reasoning ? completion + reasoning : Math.max(completion, reasoning);
  // The rest of the total may be the cached part of the prompt.
  const [read, wrote] = [cached ?? 0, written ?? 0];
  const isOfCache = [read, wrote, read + wrote].includes(beside);
  return completion + (isOfCache ? 0 : Math.max(0, beside));
}

/** The prompt's part of a usage; null if its count is unusable. */
function promptOf({ prompt, ...counts }: KindCounts, fields: Json) {
  if (prompt === null) return null;
  const own =
    prompt === undefined
      ? null
      : (cacheBeside(prompt, fields) ?? countedBeside(prompt, counts, fields));
  const { cached, written } = own ?? { cached: counts.cached ?? 0, written: counts.written ?? 0 };
  const prompt_tokens = own === null ? prompt : prompt! + cached + written;
  if (prompt_tokens !== undefined && !isTokenCount(prompt_tokens)) return null;
  const cached_tokens = Math.min(prompt_tokens ?? Infinity, cached);
  const room = (prompt_tokens ?? Infinity) - cached_tokens;
  return {
    prompt_tokens,
    cached_tokens: counts.cached && cached_tokens,
    cache_write_tokens: counts.written && Math.min(room, written),
  };
}

/** The same for OpenAI's details, only if the total has room for just them. */
function countedBeside(prompt: number, counts: KindCounts, fields: Json) {
  const told = promptDetails.map((name) => tokenCountIn(objectOf(fields[name]).cached_tokens) ?? 0);
  const cached = Math.max(...told);
  const written = counts.written ?? 0;
  const rest = (counts.total ?? 0) - prompt - (completionOf({ ...counts, prompt }) ?? 0);
  return cached > 0 && rest === cached + written ? { cached, written } : null;
}

/**
 * The counts of the cache to add to the prompt; null: it includes them. Anthropic's own usage
 * leaves them out. Servers that pass it on under other names do so, too, if a count is larger than
 * the prompt.
 */
function cacheBeside(prompt: number, fields: Json): { cached: number; written: number } | null {
  const most = (...list: string[]) =>
    Math.max(...list.map((name) => tokenCountIn(fields[name]) ?? 0));
  const cached = most('cache_read_input_tokens', 'cache_read_input_token_count');
  const written = most(
    'cache_creation_input_tokens',
    'cache_write_input_tokens',
    'cache_write_input_token_count',
  );
  const isOwnForm =
    !isTokenCount(fields.prompt_tokens) &&
    isTokenCount(fields.input_tokens ?? fields.input_token_count);
  const isBeside = Math.max(cached, written) > (isOwnForm ? 0 : prompt);
  return isBeside ? { cached, written } : null;
}
