import type { Chat } from './chat.ts';
import { deliveredText, usageOf } from './completion.ts';
import { countPromptTokens, countRule, countTokens, unfinishedRule } from './tokens.ts';

/** What came of a chat call: the completion as far as it got, and whether it broke off. */
export interface Delivered {
  completion: Record<string, unknown>;
  failed: boolean;
  /** It came to its end: the caller did not leave, nor did it break off. */
  whole: boolean;
}

/**
 * The tokens to charge. The upstream's own usage counts where it gave one, and 0 is a figure; else
 * what was delivered is counted, and the prompt, which the model had whole.
 * Null: nothing is charged, because it broke off before any output.
 */
export function chargeableUsage(
  chat: Pick<Chat, 'body'>,
  model: { context_tokens: number; image_tokens: number },
  delivered: Delivered,
): { prompt_tokens: number; completion_tokens: number } | null {
  const text = deliveredText(delivered.completion);
  const usage = usageOf(delivered.completion);
  if (text === '' && (delivered.failed || finishedInError(delivered.completion))) return null;
  if (usage !== null) {
    const prompt_tokens = usage.prompt_tokens ?? countPromptTokens(chat.body, model.context_tokens);
    return { prompt_tokens, completion_tokens: usage.completion_tokens };
  }
  // A caller who left before anything came got nothing, and pays nothing.
  if (text === '' && finishOf(delivered.completion) === null)
    return { prompt_tokens: 0, completion_tokens: 0 };
  return {
    prompt_tokens: countPromptTokens(
      chat.body,
      model.context_tokens,
      delivered.whole ? countRule : { ...unfinishedRule, per_image: model.image_tokens },
    ),
    completion_tokens: countTokens(text),
  };
}

function finishOf(completion: Record<string, unknown>): unknown {
  const { choices } = completion;
  const [first] = Array.isArray(choices) ? choices : [];
  return (first as { finish_reason?: unknown } | undefined)?.finish_reason ?? null;
}

function finishedInError(completion: Record<string, unknown>): boolean {
  return 'error' in completion || finishOf(completion) === 'error';
}
