import { itemsOf, objectOf } from '../../lib/json.ts';
import type { Model } from '../catalog/catalog.ts';
import type { Chat } from './chat.ts';
import { deliveredText, usageOf } from './completion.ts';
import {
  boundPromptTokens,
  boundTokens,
  countPromptTokens,
  countRule,
  countTokens,
  unfinishedRule,
  type StoredSizes,
} from './tokens.ts';

/** The result of a chat call: the completion as far as it got, and how it ended. */
export interface ChatDelivery {
  completion: Record<string, unknown>;
  end: DeliveryEnd;
}

/**
 * `whole`: the reply came to its end. `broken`: the upstream broke it off, or this server had to
 * stop. `given_up`: we stopped reading, because the caller left or the time was up. `oversized`: it
 * was larger than we read, which only log probabilities cause.
 */
export type DeliveryEnd = 'complete' | 'broken' | 'given_up' | 'oversized';

export interface Bill {
  prompt_tokens: number;
  completion_tokens: number;
}

/** The body of the call, and the files that it names. */
type Said = Pick<Chat, 'body'> & { files: StoredSizes; stream?: boolean };

type Billed = Pick<Model, 'context_tokens' | 'image_tokens' | 'on_disconnect' | 'hidden_tokens'>;

/**
 * The tokens to charge; null: nothing is charged, because the reply broke off before any output.
 *
 * The upstream's own usage counts if it gave one, and 0 is a figure. Without it, a reply of an
 * outside service (`on_disconnect: finish`) is charged by its bound, as the service bills more than
 * can be seen, and an oversized one by its reservation; a reply of a server of one's own, and one
 * that broke off through no fault of the caller, by a count of what was delivered and of the
 * prompt.
 */
export function chargeableUsage(
  chat: Said,
  max_tokens: number,
  model: Billed,
  { completion, end }: ChatDelivery,
): Bill | null {
  const text = deliveredText(completion);
  // guard: broken-chat-is-free
  if (text === '' && (end === 'broken' || finishedInError(completion))) return null;
  const isBound = model.on_disconnect === 'finish' && end !== 'broken';
  const hasFinished = finishOf(completion) !== null;
  // A usage that came before the end of an abandoned reply does not cover all of it.
  const isCut = end === 'given_up' || end === 'oversized';
  const usage = isBound && isCut && !hasFinished ? null : usageOf(completion);
  if (usage !== null) {
    const prompt_tokens = usage.prompt_tokens ?? promptTokens(chat, model, 'complete', isBound);
    return { prompt_tokens, completion_tokens: usage.completion_tokens };
  }
  // A caller who left the operator's own server before anything came pays nothing.
  if (!isBound && text === '' && !hasFinished) return { prompt_tokens: 0, completion_tokens: 0 };
  return {
    prompt_tokens: promptTokens(chat, model, end, isBound),
    completion_tokens: !isBound
      ? countTokens(text)
      : end === 'oversized'
        ? max_tokens
        : boundCompletion(text, max_tokens, model),
  };
}

function promptTokens(
  { body, files, stream }: Said,
  model: Billed,
  end: DeliveryEnd,
  isBound: boolean,
): number {
  if (isBound) return boundPromptTokens({ ...body, files }, model);
  // Only a stream can be broken off to make its images cheap.
  const isComplete = end === 'complete' || stream === false;
  const rule = isComplete ? countRule : { ...unfinishedRule, per_image: model.image_tokens };
  return countPromptTokens({ ...body, files }, model.context_tokens, rule);
}

function boundCompletion(text: string, max_tokens: number, { hidden_tokens }: Billed): number {
  return hidden_tokens ? max_tokens : Math.min(boundTokens(text, max_tokens), max_tokens);
}

function finishOf(completion: Record<string, unknown>): unknown {
  const [first] = itemsOf(completion.choices);
  return objectOf(first).finish_reason ?? null;
}

function finishedInError(completion: Record<string, unknown>): boolean {
  return 'error' in completion || finishOf(completion) === 'error';
}
