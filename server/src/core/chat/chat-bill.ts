import type { Model } from '../catalog/catalog.ts';
import type { CacheUse } from '../price/prompt-prices.ts';
import type { GatheredReply } from './gathered-reply.ts';
import { boundPromptTokens, countPromptTokens, type Prompt } from './prompt-tokens.ts';
import { boundTokens, countRule, countTokens, unfinishedRule } from './tokens.ts';
import { promptUsageOf, readUsage } from './usage.ts';

/** The result of a chat call: the reply as far as it arrived, and how it ended. */
export interface ChatDelivery {
  reply: Pick<GatheredReply, 'text' | 'usage' | 'end'>;
  end: DeliveryEnd;
}

/**
 * `complete`: the reply came to its end. `broken`: the upstream broke it off, or this server had to
 * stop. `given_up`: we stopped reading, because the caller left or the time limit was reached.
 * `oversized`: the reply was larger than we read, which only log probabilities can cause.
 */
export type DeliveryEnd = 'complete' | 'broken' | 'given_up' | 'oversized';

/** If the cache counts are missing, all prompt tokens are charged at the highest prompt price. */
export interface Bill extends CacheUse {
  prompt_tokens: number;
  completion_tokens: number;
}

const notCached = { cached_tokens: 0, cache_write_tokens: 0 };

/** The prompt, with the stored files in it. */
interface Said {
  prompt: Prompt;
  stream: boolean;
}

type Billed = Pick<Model, 'context_tokens' | 'image_tokens' | 'on_disconnect' | 'hidden_tokens'>;

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
  said: Said,
  max_tokens: number,
  model: Billed,
  { reply, end }: ChatDelivery,
): Bill | null {
  const text = reply.text();
  // guard: broken-chat-is-free
  if (text === '' && end === 'broken') return null;
  const isBound = model.on_disconnect === 'finish' && end !== 'broken';
  const hasFinished = reply.end() !== null;
  // A usage that came before the end of an abandoned reply does not cover all of it.
  const isCut = end === 'given_up' || end === 'oversized';
  const told = reply.usage(end === 'complete');
  const usage = told === null || (isBound && isCut && !hasFinished) ? null : readUsage(told);
  if (usage !== null) {
    const prompt_tokens = usage.prompt_tokens ?? promptTokens(said, model, 'complete', isBound);
    return { ...usage, prompt_tokens };
  }
  // A caller who leaves before the operator's own server has sent anything pays nothing.
  if (!isBound && text === '' && !hasFinished)
    return { prompt_tokens: 0, completion_tokens: 0, ...notCached };
  return {
    ...((told && promptUsageOf(told)) ?? {
      prompt_tokens: promptTokens(said, model, end, isBound),
      ...(!isBound && notCached),
    }),
    completion_tokens: !isBound
      ? countTokens(text)
      : end === 'oversized'
        ? max_tokens
        : boundCompletion(text, max_tokens, model),
  };
}

function promptTokens(
  { prompt, stream }: Said,
  model: Billed,
  end: DeliveryEnd,
  isBound: boolean,
): number {
  if (isBound) return boundPromptTokens(prompt, model);
  // Only a stream can be broken off on purpose, to make its images cheap.
  const isComplete = end === 'complete' || !stream;
  const rule = isComplete ? countRule : { ...unfinishedRule, per_image: model.image_tokens };
  return countPromptTokens(prompt, model.context_tokens, rule);
}

function boundCompletion(text: string, max_tokens: number, { hidden_tokens }: Billed): number {
  return hidden_tokens ? max_tokens : Math.min(boundTokens(text, max_tokens), max_tokens);
}
