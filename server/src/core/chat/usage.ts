import { isCount, isObject, objectOf, type Json } from '../../lib/json.ts';
import type { CacheUse } from '../price/prompt-prices.ts';

/** Reads the usage that an upstream reports with a chat, as untrusted data. */

export interface Usage extends Required<CacheUse> {
  /** Null if the upstream counted only the completion. */
  prompt_tokens: number | null;
  completion_tokens: number;
}

/** More tokens than any model takes. One absurd report would spoil every sum that includes it. */
export const tokensMax = 100_000_000;

/** Whether this is a whole number of tokens, from 0 to `tokensMax`. */
export function isTokenCount(value: unknown): value is number {
  return isCount(value) && value <= tokensMax;
}

/** The prompt's part of a usage. */
export interface PromptUsage extends Required<CacheUse> {
  prompt_tokens: number;
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

/** Whether `usageOfReport` writes the field under a name of chat completions. */
function isMoved(name: string): boolean {
  const own = snake(name);
  return kindOf(own) !== undefined || [...promptDetails, ...completionDetails].includes(own);
}

type Kind = keyof typeof names | 'cached' | 'written';

const kinds: ReadonlyMap<string, Kind> = new Map(
  (Object.keys(names) as (keyof typeof names)[]).flatMap((kind) =>
    names[kind].map((name) => [name, kind] as const),
  ),
);

/** Nearly every service has its own names for the counts of its cache. */
function kindOf(name: string): Kind | undefined {
  if (!name.includes('cache')) return kinds.get(name);
  if (/creat|writ/.test(name)) return 'written';
  return /miss|details|discount|cost|rat(e|io)|percent|seconds|ttl|un_?cache|no(n|t)?_?cache/.test(
    name,
  )
    ? undefined
    : 'cached';
}

/** Undefined: not given. Null: given, but unusable. */
type Counts = Partial<Record<Kind, number | null>>;

interface Report extends Counts {
  /** The prompt may leave out the cached tokens, as in Anthropic's own usage. */
  isOwnForm: boolean;
  /** Cached tokens by Anthropic's names. */
  own: CacheCounts;
}

/** A bill reads the same usage several times. */
const reports = new WeakMap<Json, Report>();

function reportOf(usage: Json): Report {
  const known = reports.get(usage) ?? reportIn(usage);
  reports.set(usage, known);
  return known;
}

function reportIn(usage: Json): Report {
  const top = inSnakeCase(usage);
  const counts: Counts = {};
  addCounts(counts, top);
  for (const name of promptDetails) addCounts(counts, top[name], ['cached', 'written']);
  for (const name of completionDetails) addCounts(counts, top[name], ['reasoning']);
  const own = (...list: string[]) => Math.max(...list.map((name) => tokenCountIn(top[name]) ?? 0));
  const { total } = counts;
  const completion = completionOf(counts);
  // If only one part is missing, it is the rest of the total.
  if (isTokenCount(total)) {
    const { prompt } = counts;
    if (prompt === undefined && completion !== null && total > completion)
      counts.prompt = total - completion;
    if (isTokenCount(prompt) && counts.completion === undefined && total > prompt)
      counts.completion = total - prompt;
  }
  return {
    ...counts,
    reasoning: counts.thoughts ?? counts.reasoning,
    isOwnForm: !isTokenCount(top.prompt_tokens) && isTokenCount(top.input_tokens),
    own: {
      cached: own('cache_read_input_tokens'),
      written: own('cache_creation_input_tokens', 'cache_write_input_tokens'),
    },
  };
}

/** Adds the counts among some fields. `wanted`: only these kinds. */
function addCounts(counts: Counts, fields: unknown, wanted?: readonly Kind[]): void {
  if (!isObject(fields)) return;
  for (const name of Object.keys(fields)) {
    const [kind, value] = [kindOf(snake(name)), fields[name]];
    if (!kind || value === undefined || value === null || wanted?.includes(kind) === false)
      continue;
    const isOfCache = kind === 'cached' || kind === 'written';
    const count = isOfCache && isObject(value) ? sumIn(value) : tokenCountIn(value);
    counts[kind] = count === null ? (counts[kind] ?? null) : Math.max(count, counts[kind] ?? 0);
  }
}

function inSnakeCase(fields: Json): Json {
  if (!Object.keys(fields).some((name) => capital.test(name))) return fields;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snake(name), value]));
}

const capital = /[A-Z]/;

function snake(name: string): string {
  if (!capital.test(name)) return name;
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The sum of the counts of several lifetimes in the cache. */
function sumIn(lifetimes: Json): number {
  return Object.values(lifetimes).reduce<number>(
    (sum, value) => sum + (tokenCountIn(value) ?? 0),
    0,
  );
}

/** A count, perhaps as a text; otherwise null. */
function tokenCountIn(value: unknown): number | null {
  const isText = typeof value === 'string' && /^\d{1,9}(\.0+)?$/.test(value);
  const number = isText ? Number(value) : value;
  return isTokenCount(number) ? number : null;
}

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

/**
 * A report with the names of chat completions, in which the prompt includes all cached tokens and
 * the completion all reasoning. `readUsage` and `promptUsageOf` give the same for it. Other details
 * stay. Null if it has neither a usable count nor a cost. A total alone stays as it is.
 */
export function usageOfReport(report: Json): Json | null {
  const counts = reportOf(report);
  const usage = usageIn(counts);
  const prompt = usage ?? promptUsageIn(counts);
  const others = Object.entries(report).filter(([name]) => !isMoved(name));
  if (prompt === null) {
    const total_tokens = totalAlone(report);
    const counted = total_tokens !== null && { total_tokens };
    return counted || 'cost' in report ? { ...Object.fromEntries(others), ...counted } : null;
  }
  const { cached, written, reasoning } = counts;
  const { prompt_tokens, cached_tokens, cache_write_tokens } = prompt;
  const ofPrompt = {
    ...detailsIn(report, promptDetails),
    ...(isTokenCount(cached) && { cached_tokens }),
    ...(isTokenCount(written) && { cache_write_tokens }),
  };
  const reasoned = isTokenCount(reasoning) && { reasoning_tokens: reasoning };
  const ofCompletion = { ...detailsIn(report, completionDetails), ...reasoned };
  return {
    ...Object.fromEntries(others),
    ...(prompt_tokens !== null && { prompt_tokens }),
    ...(usage && { completion_tokens: usage.completion_tokens }),
    ...(usage &&
      prompt_tokens !== null && { total_tokens: prompt_tokens + usage.completion_tokens }),
    ...(Object.keys(ofPrompt).length > 0 && { prompt_tokens_details: ofPrompt }),
    ...(Object.keys(ofCompletion).length > 0 && { completion_tokens_details: ofCompletion }),
  };
}

function detailsIn(report: Json, list: readonly string[]): Json {
  return Object.assign({}, ...list.map((name) => objectOf(report[name]))) as Json;
}

/**
 * The usage in a report; zero is a valid count. Null if the prompt or the completion has an
 * unusable count. A missing `prompt_tokens` is allowed.
 */
export function readUsage(usage: Json): Usage | null {
  return usageIn(reportOf(usage));
}

function usageIn(report: Report): Usage | null {
  const prompt = promptOf(report);
  const completion_tokens = completionOf(report);
  return prompt === null || !isTokenCount(completion_tokens)
    ? null
    : { ...prompt, completion_tokens };
}

/**
 * The prompt's part of a report whose completion is missing or incomplete. A prompt of zero gives
 * null, because some servers report zero until they have counted.
 */
export function promptUsageOf(usage: Json): PromptUsage | null {
  return promptUsageIn(reportOf(usage));
}

/** The total of a report that has neither of its parts. */
export function totalAlone(usage: Json): number | null {
  const { prompt, completion, total } = reportOf(usage);
  const isAlone = prompt === undefined && completion === undefined;
  return isAlone && isTokenCount(total) && total > 0 ? total : null;
}

function promptUsageIn(report: Report): PromptUsage | null {
  if (report.completion === null) return null;
  const prompt = promptOf(report);
  return prompt?.prompt_tokens ? { ...prompt, prompt_tokens: prompt.prompt_tokens } : null;
}

function promptOf(report: Report): Omit<Usage, 'completion_tokens'> | null {
  if (report.prompt === null) return null;
  const statedPrompt = report.prompt ?? null;
  const beside = statedPrompt === null ? null : cacheBeside(statedPrompt, report);
  const { cached, written } = beside ?? {
    cached: report.cached ?? 0,
    written: report.written ?? 0,
  };
  const prompt_tokens = beside === null ? statedPrompt : statedPrompt! + cached + written;
  if (prompt_tokens !== null && !isTokenCount(prompt_tokens)) return null;
  const cached_tokens = Math.min(prompt_tokens ?? Infinity, cached);
  const room = (prompt_tokens ?? Infinity) - cached_tokens;
  return { prompt_tokens, cached_tokens, cache_write_tokens: Math.min(room, written) };
}

/**
 * The completion with its reasoning. Some upstreams do not count reasoning as completion: xAI
 * reports it separately, Gemini's older form shows it only in the total.
 */
function completionOf(counts: Counts): number | null {
  const { prompt, completion, total, thoughts, cached, written } = counts;
  const reasoning = thoughts ?? counts.reasoning;
  if (isTokenCount(thoughts)) return completion === null ? null : (completion ?? 0) + thoughts;
  if (!isTokenCount(completion)) return null;
  const beside = isTokenCount(total) && isTokenCount(prompt) ? total - prompt - completion : 0;
  if (!isTokenCount(reasoning)) {
    // The rest of the total may be the cached part of the prompt.
    const [read, wrote] = [cached ?? 0, written ?? 0];
    const isOfCache = [read, wrote, read + wrote].includes(beside);
    return completion + (isOfCache ? 0 : Math.max(0, beside));
  }
  return beside === reasoning ? completion + reasoning : Math.max(completion, reasoning);
}

interface CacheCounts {
  /** Tokens that were read from the cache (`cached`) and written to it (`written`). */
  cached: number;
  written: number;
}

/**
 * The cache counts to add to the prompt; null: it includes them. Anthropic's own usage leaves them
 * out. Servers that pass it on under other names do so, too, if a count is larger than the prompt.
 */
function cacheBeside(prompt: number, { isOwnForm, own }: Report): CacheCounts | null {
  const most = Math.max(own.cached, own.written);
  return most > prompt || (isOwnForm && most > 0) ? own : null;
}
