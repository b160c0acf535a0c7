import { itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { countsOf } from '../chat/counts.ts';
import type { ShownError } from './dialect.ts';

/** The object `response` of OpenAI's Responses. */

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** How a reply ended. */
export interface ReplyEnd {
  status: ResponseStatus;
  /** Unix seconds; null unless it is completed. */
  completed_at: number | null;
  incomplete_details: Json | null;
  error: object | null;
  usage: Json | null;
}

export const unended: ReplyEnd = {
  status: 'in_progress',
  completed_at: null,
  incomplete_details: null,
  error: null,
  usage: null,
};

/** Fields of the call that its reply repeats, with their values if they were not given. */
const echoed: Readonly<Json> = {
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  prompt_cache_key: null,
  safety_identifier: null,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
};

/** Fields that are the same from the beginning of a reply to its end. */
export interface ReplyHead {
  /** The id of the request. */
  request_id: string;
  created: unknown;
  model: unknown;
}

export function headOf({ id, created, model }: Json): ReplyHead {
  return { request_id: String(id).replace(/^chatcmpl-/, ''), created, model };
}

/** The response without its output and its end. */
export function responseOf({ request_id, created, model }: ReplyHead, body: Json): Json {
  const given = Object.entries(echoed).map(([field, value]) => [field, body[field] ?? value]);
  return {
    id: `resp_${request_id}`,
    object: 'response',
    created_at: created,
    model,
    ...Object.fromEntries(given),
    background: false,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...objectOf(body.reasoning) },
    service_tier: 'default',
    store: false,
    text: { format: { type: 'text' }, ...withoutNulls(objectOf(body.text)) },
  };
}

function withoutNulls(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

const incomplete: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

const failure = {
  code: 'server_error',
  message: 'The model ended the reply with an error. The usage shows what was charged.',
};

/** The end of a completion. `usage` is the charged one. */
export function endOf(completion: Json, endedSeconds: number): ReplyEnd {
  const { finish_reason: reason } = objectOf(itemsOf(completion.choices)[0]);
  const isCut = typeof reason === 'string' && Object.hasOwn(incomplete, reason);
  const cut = isCut ? incomplete[reason] : undefined;
  const isFailed = reason === 'error';
  // Without a reason, the reply broke off.
  const isWhole = !isFailed && !cut && typeof reason === 'string';
  return {
    status: isFailed ? 'failed' : isWhole ? 'completed' : 'incomplete',
    completed_at: isWhole ? endedSeconds : null,
    incomplete_details: cut ? { reason: cut } : null,
    error: isFailed ? failure : null,
    usage: usageOf(completion),
  };
}

/** The end of a reply that broke off. `completion` is null if nothing was charged. */
export function brokenEnd(error: ShownError, completion: Json | null): ReplyEnd {
  const usage = completion && usageOf(completion);
  return { status: 'failed', completed_at: null, incomplete_details: null, error, usage };
}

function usageOf(completion: Json): Json {
  const counts = countsOf(completion);
  const { prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens } = counts;
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: counts.reasoning_tokens ?? 0 },
    total_tokens: prompt_tokens + completion_tokens,
    cost_usd_micro: counts.cost_usd_micro,
  };
}
