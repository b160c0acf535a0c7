import { objectOf, type Json } from '../../../lib/json.ts';
import { countsIn } from '../../chat/chat-bill.ts';
import { givenFields, isGiven } from '../../check.ts';
import type { ReplyEnd } from '../../chat/reply.ts';
import type { AnswerContext, ReplyWriter, SentEvent, ShownError } from '../api.ts';
import { inOrder } from '../ordered.ts';
import { beginItem, type ItemEvent } from './items.ts';
import { ownNames } from './tools.ts';

/** Writes a reply in OpenAI's Responses. */
export function responsesWriter(answering: AnswerContext): ReplyWriter {
  const output = openOutput(answering);
  const head = responseOf(answering);
  // Three events repeat the call's tools, and an agent's are long, so this JSON is written once.
  const repeated = JSON.stringify(head).slice(0, -1);
  let sequence_number = 0;
  let end: ReplyEnd | null = null;

  const numbered = ({ type, ...rest }: ItemEvent): SentEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence_number++, ...rest }),
  });
  function responseEvent(name: string, state: State): SentEvent {
    const { event = '', data } = numbered({ type: `response.${name}` });
    const own = JSON.stringify({ output: output.shown(), ...state }).slice(1);
    return { event, data: `${data.slice(0, -1)},"response":${repeated},${own}}` };
  }

  return {
    begin: () => ['created', 'in_progress'].map((name) => responseEvent(name, unended)),
    add(event) {
      if (event.type === 'end') end = event;
      return output.add(event).map(numbered);
    },
    alive: () => [responseEvent('in_progress', unended)],
    end(usage) {
      const state = endOf(end, usage, answering);
      const items = output.end(state.status === 'completed').map(numbered);
      return [...items, responseEvent(state.status, state)];
    },
    fail(error, usage) {
      output.end(false);
      const isTooLong = error.code === tooLong;
      const { code, message } = error;
      const state = brokenEnd(isTooLong ? { code, message } : error, usage);
      return [...(isTooLong ? [numbered(errorEvent(error))] : []), responseEvent('failed', state)];
    },
    whole(usage) {
      const state = endOf(end, usage, answering);
      output.end(state.status === 'completed');
      return { ...head, output: output.shown(), ...state };
    },
  };
}

/** Agents look for this code in an event of its own. */
const tooLong = 'context_length_exceeded';

function errorEvent({ code, message, param, type }: ShownError): ItemEvent {
  return { type: 'error', code, message, param, error: { type, code, message, param } };
}

/** The output, item after item. */
function openOutput({ request_id, body }: AnswerContext) {
  const names = ownNames(body);
  const nameOf = (name: string) => ({ ...(names.get(name) ?? { name }) });
  const ended: Json[] = [];
  const order = inOrder<ItemEvent>((piece, output_index) => {
    const item = beginItem(piece, { request_id, output_index }, nameOf);
    if (item === null) return null;
    const event = (type: string, shown: Json) => ({ type, output_index, item: shown });
    return {
      takes: item.takes,
      begin: () => [event('response.output_item.added', item.shown('in_progress'))],
      add: item.add,
      end(isWhole) {
        const events = item.end();
        const shown = item.shown(isWhole ? 'completed' : 'incomplete');
        ended.push(shown);
        return [...events, event('response.output_item.done', shown)];
      },
    };
  });
  return { add: order.add, end: order.end, shown: () => ended };
}

/** How far a response has come. */
interface State {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  /** Unix seconds. */
  completed_at: number | null;
  incomplete_details: Json | null;
  error: object | null;
  usage: Json | null;
}

const unended: State = {
  status: 'in_progress',
  completed_at: null,
  incomplete_details: null,
  error: null,
  usage: null,
};

/** Fields that every response has, with their values if the call does not say them. */
export const usualFields = {
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
  access_programs: null,
  background: false,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: 'default',
  store: false,
  text: { format: { type: 'text' } },
};

/** The fields among them that a call cannot change. */
const fixed = new Set([
  'frequency_penalty',
  'presence_penalty',
  'access_programs',
  'background',
  'previous_response_id',
  'service_tier',
  'store',
]);

/** The response without its output and its state. */
function responseOf({ request_id, created, model, body }: AnswerContext): Json {
  const repeated = Object.keys(usualFields).filter(
    (field) => !fixed.has(field) && isGiven(body[field]),
  );
  return {
    id: `resp_${request_id}`,
    object: 'response',
    created_at: created,
    model,
    ...usualFields,
    ...Object.fromEntries(repeated.map((field) => [field, body[field]])),
    reasoning: { ...usualFields.reasoning, ...objectOf(body.reasoning) },
    text: { ...usualFields.text, ...givenFields(objectOf(body.text)) },
  };
}

const incomplete: Partial<Record<ReplyEnd['reason'], string>> = {
  length: 'max_output_tokens',
  filter: 'content_filter',
};

/** Without an end, the reply broke off. */
function endOf(end: ReplyEnd | null, usage: Json, { now }: AnswerContext): State {
  const reason = end && incomplete[end.reason];
  const isWhole = end !== null && reason === undefined;
  return {
    ...unended,
    status: isWhole ? 'completed' : 'incomplete',
    completed_at: isWhole ? now() : null,
    incomplete_details: reason ? { reason } : null,
    usage: usageOf(usage),
  };
}

/** The end of a reply that broke off. `usage` is null if nothing was charged. */
function brokenEnd(error: object, usage: Json | null): State {
  return { ...unended, status: 'failed', error, usage: usage && usageOf(usage) };
}

function usageOf(usage: Json): Json {
  const counts = countsIn(usage);
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
