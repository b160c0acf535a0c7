import { objectOf, type Json } from '../../../lib/json.ts';
import * as replies from '../../chat/reply.ts';
import type { AnswerContext, ReplyWriter, SentEvent } from '../api.ts';
import { detailOf, googleExtra, googleFormat } from '../thoughts.ts';
import { toolCallOf } from '../writing.ts';

/** Writes a reply in OpenAI's chat completions. */
export function completionsWriter(answering: AnswerContext): ReplyWriter {
  const { request_id, created, model, body, stream } = answering;
  const head = { id: `chatcmpl-${request_id}`, created, model };
  const isLegacy = isLegacyCall(body);
  const wantsUsage = objectOf(body.stream_options).include_usage === true;
  const pending = wantsUsage ? { usage: null } : {};
  const delta = deltaWriter(isLegacy);
  const whole = replies.gatherReply();
  let hasBegun = false;

  function chunk(piece: Json, choice: Json): SentEvent {
    const role = hasBegun ? {} : { role: 'assistant' };
    hasBegun = true;
    const own = { index: 0, delta: { ...role, ...piece }, logprobs: null, finish_reason: null };
    return eventOf({
      ...chunkOf(head, 'chat.completion.chunk', [{ ...own, ...choice }]),
      ...pending,
    });
  }

  const usageChunk = (usage: Json | null): SentEvent[] =>
    wantsUsage && usage ? [eventOf({ ...chunkOf(head, 'chat.completion.chunk', []), usage })] : [];

  return {
    begin: () => [],
    add(event) {
      if (isLegacy && isLaterCall(event)) return [];
      if (!stream) whole.add(event);
      if (!stream || event.type === 'usage') return [];
      const piece = delta(event);
      const isEmpty = Object.keys(piece).length === 0 && event.type !== 'end';
      return isEmpty ? [] : [chunk(piece, choiceOf(event, isLegacy))];
    },
    alive: () => [],
    end: (usage) => [...usageChunk(usage), done],
    // The HTTP status has already been sent, so the error becomes the last chunk.
    fail: (error, usage) => [...usageChunk(usage), eventOf({ error }), done],
    whole: (usage) => ({
      ...chunkOf(head, 'chat.completion', [wholeOf(whole.events(), isLegacy)]),
      usage,
    }),
  };
}

const done = { data: '[DONE]' };
const eventOf = (value: Json): SentEvent => ({ data: JSON.stringify(value) });

function chunkOf({ id, created, model }: Json, object: string, choices: Json[]): Json {
  return { id, object, created, model, choices };
}

/** Whether the call offers its tools as `functions`, so that its reply calls them in that form. */
export function isLegacyCall({ functions }: Json): boolean {
  return Array.isArray(functions) && functions.length > 0;
}

/** `function_call` has a place for one call, and its pieces add up, so others are left out. */
function isLaterCall(event: replies.ReplyEvent): boolean {
  return (event.type === 'call' || event.type === 'input') && event.call > 0;
}

/** Returns a function that writes the next event as a `delta`. */
function deltaWriter(isLegacy: boolean): (event: replies.ReplyEvent) => Json {
  const custom = new Set<number>();
  const proofs = new Map<string, string>();
  return (event) => {
    if (event.type === 'text') return { content: event.text };
    if (event.type === 'refusal') return { refusal: event.text };
    if (event.type === 'thought') return thoughtDelta(event, proofs);
    if (event.type !== 'call' && event.type !== 'input') return {};
    const { call: index } = event;
    if (event.type === 'call') {
      if (event.custom) custom.add(index);
      const call = callOf(event, '', proofs);
      return isLegacy ? { function_call: call.function } : { tool_calls: [{ index, ...call }] };
    }
    if (isLegacy) return { function_call: { arguments: event.text } };
    const own = custom.has(index)
      ? { custom: { input: event.text } }
      : { function: { arguments: event.text } };
    return { tool_calls: [{ index, ...own }] };
  };
}

type Call = Pick<replies.CallBegin, 'id' | 'name' | 'custom'>;

function callOf(call: Call, input: string, proofs: Map<string, string>): Json {
  const proof = proofs.get(call.id);
  return { ...toolCallOf({ ...call, input }), ...(proof !== undefined && googleExtra(proof)) };
}

/** Clients use either name. `proofs`: gets Google's proofs by the ids of their calls. */
function thoughtDelta(piece: replies.ThoughtPiece, proofs: Map<string, string>): Json {
  if (piece.format === googleFormat) {
    if (piece.id === null) return googleExtra(piece.text);
    proofs.set(piece.id, piece.text);
    return {};
  }
  return {
    ...(piece.form !== 'hidden' && plainOf(piece.text)),
    ...(piece.index !== null && { reasoning_details: [detailOf(piece, piece.index)] }),
  };
}

function plainOf(text: string): Json {
  return text === '' ? {} : { reasoning: text, reasoning_content: text };
}

const reasons: Readonly<Record<replies.FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  tools: 'tool_calls',
  filter: 'content_filter',
};

/** Fields of the choice beside its delta. */
function choiceOf(event: replies.ReplyEvent, isLegacy: boolean): Json {
  if (event.type === 'end') return endOf(event.reason, event.stop, isLegacy);
  const isText = event.type === 'text' || event.type === 'refusal';
  return isText && event.logprobs !== null ? { logprobs: logprobsOf(event) } : {};
}

function endOf(reason: replies.FinishReason, stop: string | null, isLegacy: boolean): Json {
  const finish_reason = isLegacy && reason === 'tools' ? 'function_call' : reasons[reason];
  return { finish_reason, ...(stop !== null && { stop_reason: stop }) };
}

function logprobsOf({ type, logprobs }: replies.TextPiece): Json {
  return type === 'text'
    ? { content: logprobs, refusal: null }
    : { content: null, refusal: logprobs };
}

/** The choice that the events add up to. */
function wholeOf(events: readonly replies.ReplyEvent[], isLegacy: boolean): Json {
  const proofs = new Map<string, string>();
  const thoughts: replies.ThoughtPiece[] = [];
  const said = { text: '', refusal: '' };
  const logprobs: Record<'text' | 'refusal', Json[] | null> = { text: null, refusal: null };
  const calls: (replies.CallBegin & { input: string })[] = [];
  const extra: Json = {};
  let end: Json = { finish_reason: null };
  for (const event of events)
    if (event.type === 'text' || event.type === 'refusal') {
      said[event.type] += event.text;
      for (const each of event.logprobs ?? []) (logprobs[event.type] ??= []).push(each);
    } else if (event.type === 'thought' && event.format === googleFormat)
      Object.assign(extra, thoughtDelta(event, proofs));
    else if (event.type === 'thought') replies.growThoughts(thoughts, event);
    else if (event.type === 'call') calls.push({ ...event, input: '' });
    else if (event.type === 'input') calls[event.call]!.input = event.text;
    else if (event.type === 'end') end = endOf(event.reason, event.stop, isLegacy);
  const called = calls.map((call) => callOf(call, call.input, proofs));
  const plain = thoughts.map(({ form, text }) => (form === 'hidden' ? '' : text));
  const details = thoughts.flatMap((each) =>
    each.index === null ? [] : [detailOf(each, each.index)],
  );
  const tools = isLegacy ? { function_call: called[0]?.function } : { tool_calls: called };
  const saysOtherwise = called.length > 0 || said.refusal !== '';
  const message = {
    role: 'assistant',
    content: said.text || (saysOtherwise ? null : ''),
    refusal: said.refusal || null,
    ...plainOf(plain.join('')),
    ...(details.length > 0 && { reasoning_details: details }),
    ...extra,
    ...(called.length > 0 && tools),
  };
  const shownLogprobs = (logprobs.text ?? logprobs.refusal) && {
    content: logprobs.text,
    refusal: logprobs.refusal,
  };
  return { index: 0, message, logprobs: shownLogprobs, ...end };
}
