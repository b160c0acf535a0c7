import type { Model } from '../catalog/catalog.ts';
import type { CacheUse } from '../price/prompt-prices.ts';
import type { GatheredReply } from './reply.ts';
import * as counts from './tokens.ts';
import { cacheUseIn, isTokenCount, readUsage, tokensMax, type Usage } from './usage.ts';
import { isCount, isObject, objectOf, type Json } from '../../lib/json.ts';

/** The result of a chat call: the reply as far as it arrived, and how it ended. */
export interface ChatDelivery {
  reply: Pick<GatheredReply, 'text' | 'usage' | 'end'>;
  end: DeliveryEnd;
}

/**
 * `complete`: the reply came to its end. `broken`: the upstream broke it off, or this server had to
 * stop. `abandoned`: we stopped reading, because the caller left or the time limit was reached.
 * `oversized`: the reply was larger than we read, which only log probabilities can cause.
 */
export type DeliveryEnd = 'complete' | 'broken' | 'abandoned' | 'oversized';

/** If the cache counts are missing, all prompt tokens are charged at the highest prompt price. */
export interface TokenBill extends CacheUse {
  prompt_tokens: number;
  completion_tokens: number;
}

const notCached = { cached_tokens: 0, cache_write_tokens: 0 };

/** The prompt, with the stored files in it. */
type CountedCall = { prompt: counts.Prompt; stream: boolean };
type BillingModel = Pick<
  Model,
  'context_tokens' | 'image_tokens' | 'on_disconnect' | 'hidden_tokens'
>;

/**
 * The tokens to charge; null: nothing is charged, because the reply broke off or failed before any
 * output.
 *
 * A usage that the upstream reported is charged, even 0. If it does not cover the whole
 * completion, only its counts of the prompt are used. Missing counts are replaced in one of two
 * ways. For an outside service (`on_disconnect: finish`), an upper bound is charged, because the
 * service bills more than can be seen. The bound of the completion is all reserved tokens if the
 * reply was oversized or the model has hidden tokens. For the operator's own server, and for a
 * reply that broke off through no fault of the caller, the prompt and the delivered text are
 * counted.
 */
export function chargeableUsage(
  call: CountedCall,
  max_tokens: number,
  model: BillingModel,
  { reply, end }: ChatDelivery,
): TokenBill | null {
  const text = reply.text();
  // guard: broken-chat-is-free
  if (text === '' && end === 'broken') return null;
  const isBound = model.on_disconnect === 'finish' && end !== 'broken';
  const hasFinished = reply.end() !== null;
  const isCut = (end === 'abandoned' || end === 'oversized') && !hasFinished;
  const reported = reportedUsageOf({ reply, end }, call.stream) ?? {};

  // A usage that came before the end of a cut reply does not cover all of it.
  const usage = isBound && isCut ? null : readUsage(reported);
  if (usage !== null) {
    const prompt_tokens = usage.prompt_tokens ?? promptTokens(call, model, 'complete', isBound);
    return { ...usage, prompt_tokens };
  }

  // A caller who leaves before the operator's own server has sent anything pays nothing.
  if (!isBound && text === '' && !hasFinished)
    return { prompt_tokens: 0, completion_tokens: 0, ...notCached };

  const isHidden = end === 'oversized' || model.hidden_tokens;
  const bound = isHidden ? max_tokens : counts.boundTokens(text, max_tokens);
  const written = isBound ? Math.min(bound, max_tokens) : counts.countTokens(text);
  const unknownCache = isBound ? {} : notCached;
  const { prompt_tokens, total_tokens } = reported;
  // Here a usage has a total only if it has nothing else.
  if (total_tokens !== undefined && !isCut) {
    const completion_tokens = Math.min(written, total_tokens);
    return { prompt_tokens: total_tokens - completion_tokens, completion_tokens, ...unknownCache };
  }
  return prompt_tokens
    ? { prompt_tokens, completion_tokens: written, ...cacheUseIn(reported) }
    : {
        prompt_tokens: promptTokens(call, model, end, isBound),
        completion_tokens: written,
        ...unknownCache,
      };
}

/** The usage that counts. A reply that comes whole reports it once, so that 0 is a count there. */
export function reportedUsageOf({ reply, end }: ChatDelivery, stream: boolean): Usage | null {
  return reply.usage(end === 'complete' || !stream);
}

function promptTokens(
  { prompt, stream }: CountedCall,
  model: BillingModel,
  end: DeliveryEnd,
  isBound: boolean,
): number {
  if (isBound) return counts.boundPromptTokens(prompt, model);
  // Only a stream can be broken off on purpose, to make its images cheap.
  const isComplete = end === 'complete' || !stream;
  const rule = isComplete
    ? counts.countRule
    : { ...counts.unfinishedRule, per_image: model.image_tokens };
  return counts.countPromptTokens(prompt, model.context_tokens, rule);
}

/**
 * The usage that this service charges and shows, with the names of chat completions: our tokens and
 * cost (micro-USD). Other details of the upstream's usage stay, such as the kinds of tokens, but no
 * fields about money.
 */
export function usageOf(reported: Usage | null, bill: TokenBill, cost: bigint): Json {
  const isWhole = reported?.completion_tokens !== undefined;
  const said = isWhole ? objectOf(withoutMoney(reported)) : {};
  const { prompt_tokens, completion_tokens, cached_tokens = 0, cache_write_tokens = 0 } = bill;
  const cacheUse = {
    ...(cached_tokens > 0 && { cached_tokens }),
    ...(cache_write_tokens > 0 && { cache_write_tokens }),
  };
  return {
    ...said,
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...(cached_tokens + cache_write_tokens > 0 && {
      prompt_tokens_details: { ...objectOf(said.prompt_tokens_details), ...cacheUse },
    }),
    cost_usd_micro: String(cost),
  };
}

const ofMoney = /cost|price|usd|credit|charge|balance|byok/i;

/** Leaves out every field whose name looks like money, at any depth. */
function withoutMoney(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMoney);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !ofMoney.test(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutMoney(inner)]));
}

/** Fields of a usage that the stored token counts and the charge contain already. */
const counted = new Set(['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost_usd_micro']);

/** The stored output of a reply that is not kept: its usage, if that has more than the counts. */
export function detailsOf(usage: Json): Json | null {
  return Object.keys(usage).every((name) => counted.has(name)) ? null : { usage };
}

/** The charged usage of a reply, as this service wrote it. */
interface ChargedCounts extends Required<CacheUse> {
  prompt_tokens: number;
  completion_tokens: number;
  /** Part of the completion. Null if the model's server does not count it. */
  reasoning_tokens: number | null;
  cost_usd_micro: unknown;
}

/** Reads a charged usage with the names of chat completions. Missing counts are 0. */
export function countsIn(usage: Json): ChargedCounts {
  const { reasoning_tokens: reasoning } = objectOf(usage.completion_tokens_details);
  const details = objectOf(usage.prompt_tokens_details);
  const prompt_tokens = countOf(usage.prompt_tokens);
  const completion_tokens = countOf(usage.completion_tokens);
  const cached_tokens = Math.min(prompt_tokens, countOf(details.cached_tokens));
  const room = prompt_tokens - cached_tokens;
  return {
    prompt_tokens,
    completion_tokens,
    cached_tokens,
    cache_write_tokens: Math.min(room, countOf(details.cache_write_tokens)),
    reasoning_tokens: isTokenCount(reasoning) ? Math.min(reasoning, completion_tokens) : null,
    cost_usd_micro: usage.cost_usd_micro,
  };
}

function countOf(value: unknown): number {
  return isCount(value) ? value : 0;
}

/** The tokens of a chat, as they are stored with its end. */
export interface TokenCounts {
  input_tokens: number;
  output_tokens: number;
  /** Parts of the input and of the output; 0 if the upstream reported none. */
  cached_tokens: number;
  reasoning_tokens: number;
}

export function tokensIn(usage: Json): TokenCounts {
  const { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = countsIn(usage);
  const input_tokens = Math.min(prompt_tokens, tokensMax);
  const output_tokens = Math.min(completion_tokens, tokensMax);
  return {
    input_tokens,
    output_tokens,
    cached_tokens: Math.min(cached_tokens, input_tokens),
    reasoning_tokens: Math.min(reasoning_tokens ?? 0, output_tokens),
  };
}

/** A chat's usage, rebuilt from its stored counts. `charged` is in micro-USD. */
export function usageOfTokens(tokens: TokenCounts, charged: bigint) {
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = tokens;
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: input_tokens + output_tokens,
    ...(cached_tokens > 0 && { prompt_tokens_details: { cached_tokens } }),
    ...(reasoning_tokens > 0 && { completion_tokens_details: { reasoning_tokens } }),
    cost_usd_micro: String(charged),
  };
}
