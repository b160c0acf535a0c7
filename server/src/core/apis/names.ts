import type { ApiName } from '../chat/conversation.ts';

/** The names that callers of each API know for what an upstream cannot be told. */
const names = {
  completions: {
    effort: 'reasoning_effort',
    format: 'response_format',
    parallel: 'parallel_tool_calls',
    thought: 'messages[].reasoning_content',
    name: 'messages[].name',
    refusal: 'messages[].refusal',
    audio: 'messages[].audio',
    detail: 'messages[].content[].image_url.detail',
    strict: 'tools[].function.strict',
  },
  messages: {
    effort: 'output_config.effort',
    format: 'output_config.format',
    parallel: 'tool_choice.disable_parallel_tool_use',
    stop: 'stop_sequences',
    user: 'metadata.user_id',
    thought: 'messages[].content[].thinking',
    strict: 'tools[].strict',
  },
  responses: {
    effort: 'reasoning.effort',
    format: 'text.format',
    parallel: 'parallel_tool_calls',
    verbosity: 'text.verbosity',
    logprobs: 'include',
    thought: 'input[].encrypted_content',
    phase: 'input[].phase',
    detail: 'input[].content[].detail',
    strict: 'tools[].strict',
  },
} satisfies Record<ApiName, Record<string, string>>;

/** `what`: a setting, an extra field, or a part of a turn. */
export function callersName(api: ApiName, what: string): string {
  const own: Readonly<Record<string, string>> = names[api];
  return own[what] ?? what;
}
