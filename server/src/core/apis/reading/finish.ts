import type { FinishReason } from '../../chat/reply.ts';

/** The words with which services end a reply, in lower case and with underscores. */
const words: Readonly<Record<FinishReason | 'broken' | 'none', string>> = {
  stop: 'stop stopped end end_turn stop_sequence stop_token eos eos_token complete completed done finished finish normal pause_turn other',
  length:
    'length max_length max_tokens max_output_tokens max_new_tokens max_completion_tokens max_token model_length token_limit tokens_limit context_length context_length_exceeded context_window_exceeded model_context_window_exceeded error_limit incomplete truncated',
  tools: 'tool_calls tool_call tool_use tools function_call function_calls tool function',
  filter:
    'content_filter content_filtered content_filtering filter filtered safety language recitation blocklist prohibited_content spii image_safety image_prohibited_content image_recitation model_armor refusal refused sensitive error_toxic guardrail_intervened guardrails blocked moderation policy content_policy content_policy_violation',
  broken:
    'error errored failed failure abort aborted cancel canceled cancelled user_cancel network_error internal_error server_error timeout insufficient_system_resource malformed_function_call malformed_tool_call unexpected_tool_call too_many_tool_calls',
  none: 'null none undefined unspecified in_progress',
};

const meanings = new Map(
  Object.entries(words).flatMap(([meaning, list]) =>
    list.split(' ').map((word) => [word, meaning] as const),
  ),
);

/**
 * The meaning of a finish reason. Null: the reply goes on. `broken`: it failed. Words that no
 * service is known to use mean `stop`.
 */
export function finishOf(reason: unknown): FinishReason | 'broken' | null {
  if (typeof reason !== 'string') return null;
  const word = reason
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^(?:finish|stop)_reason_/, '');
  if (word === '') return null;
  const meaning = meanings.get(word) ?? 'stop';
  return meaning === 'none' ? null : (meaning as FinishReason | 'broken');
}

/**
 * The reason of an end, from the last one that was told. Some servers tell none, or `stop` after
 * tool calls, or tool calls without any.
 */
export function reasonOf(told: FinishReason | null, hasCalled: boolean): FinishReason {
  if (told === 'length' || told === 'filter') return told;
  return hasCalled ? 'tools' : 'stop';
}
