import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { growDetails } from './reasoning-details.ts';
import { promptUsageOf, readUsage, type Usage } from './usage.ts';

/**
 * Reads the replies of a chat upstream, OpenAI's `chat.completion` and its chunks, as untrusted
 * data. Nothing here throws on JSON values; values of the wrong type count as absent.
 */

/** Fields of a completion that chunks may lack. `created` is in unix seconds. */
export interface CompletionIdentity {
  id: string;
  created: number;
  model: string;
}

/** Assembles one stream, chunk by chunk. */
export interface Gatherer {
  add(chunk: unknown): void;
  /**
   * The completion so far, without `usage` if no chunk had any. Its tool calls and log
   * probabilities keep growing with later chunks. `ended`: the stream came to a regular end.
   */
  completion(ended?: boolean): Json;
}

/**
 * Texts of a delta that arrive in pieces. vLLM and OpenRouter name the reasoning `reasoning`,
 * others `reasoning_content`.
 */
const grownTexts = ['content', 'refusal', 'reasoning_content', 'reasoning'];

/**
 * More tool calls than any model makes in one reply. Without a limit, a faulty upstream could open
 * a new one in every chunk.
 */
export const toolCallsMax = 1_024;

/** The usage of a reply or chunk; null if it has none that can be used. */
export function usageOf(reply: unknown): Usage | null {
  const usage = isObject(reply) ? reply.usage : undefined;
  return isObject(usage) ? readUsage(usage) : null;
}

/** The completion that the chunks of a whole stream add up to. */
export function completionFromChunks(
  chunks: Iterable<unknown>,
  identity: CompletionIdentity,
): Json {
  const gatherer = gatherChunks(identity);
  for (const chunk of chunks) gatherer.add(chunk);
  return gatherer.completion();
}

export function gatherChunks(identity: CompletionIdentity): Gatherer {
  const head: Json = {};
  const message: Json = {};
  const calls = new Map<number, Json>();
  const logprobs: Json = {};
  let finish: Json = { finish_reason: null };
  let usage: Json | undefined;
  let hasWritten = false;
  /**
   * True if text arrived after the last usage report, or with a report that did not end the reply.
   * The report may not cover this text.
   */
  let isOutrun = false;

  function add(chunk: unknown): void {
    if (!isObject(chunk)) return;
    keepFirst(head, chunk);
    // Some servers repeat a growing usage in every chunk, so the last one counts.
    if (isObject(chunk.usage)) {
      usage = chunk.usage;
      isOutrun = false;
    }
    const choice = Array.isArray(chunk.choices) ? chunk.choices.find(isFirstChoice) : undefined;
    if (choice === undefined) return;
    const writes = deliveredText({ choices: [{ message: choice.delta }] }) !== '';
    hasWritten ||= writes;
    isOutrun ||= writes && !(isObject(chunk.usage) && typeof choice.finish_reason === 'string');
    if (typeof choice.finish_reason === 'string') finish = finishIn(choice);
    if (isObject(choice.logprobs)) growLogprobs(logprobs, choice.logprobs);
    if (isObject(choice.delta)) growMessage(message, calls, choice.delta);
  }

  /** A pending report gives only the counts of the prompt, and no cost. */
  function gathered(ended: boolean): { usage?: Json } {
    if (usage === undefined) return {};
    if (!isPending(ended)) return { usage };
    const prompt = promptUsageOf(usage);
    if (prompt === null) return {};
    const { prompt_tokens, ...prompt_tokens_details } = prompt;
    return { usage: { prompt_tokens, prompt_tokens_details } };
  }

  /** Some servers report 0 until they have counted, so 0 is not a count while text is arriving. */
  function isPending(ended: boolean): boolean {
    return usageOf({ usage })?.completion_tokens === 0 && (isOutrun || (hasWritten && !ended));
  }

  function completion(ended = true): Json {
    const { id, created, model, ...rest } = { ...identity, ...head };
    return {
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [
        {
          index: 0,
          message: finishedMessage(message, calls),
          logprobs: Object.keys(logprobs).length > 0 ? logprobs : null,
          ...finish,
        },
      ],
      ...gathered(ended),
      ...rest,
    };
  }

  return { add, completion };
}

/**
 * All text that the model wrote in a completion, joined, for counting tokens if there is no usage.
 * Reasoning that is given under both of its names counts once.
 */
export function deliveredText(completion: unknown): string {
  const choices = isObject(completion) ? completion.choices : undefined;
  const choice = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined;
  const message = choice?.message;
  if (!isObject(message)) return '';
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return [
    textOf(message.reasoning_content) || textOf(message.reasoning) || textOfDetails(message),
    textOf(message.content),
    textOf(message.refusal),
    callText(message.function_call),
    ...calls.map((call) => (isObject(call) ? callText(call.function) + callText(call.custom) : '')),
  ].join('');
}

/** Reasoning of an upstream that gives only details. */
function textOfDetails({ reasoning_details: details }: Json): string {
  return itemsOf(details)
    .map(objectOf)
    .map(({ text, summary }) => textOf(text) + textOf(summary))
    .join('');
}

/**
 * A stored completion as the chunks of a stream: the whole text in one chunk, then the finish
 * reason, then the usage if `includeUsage` is set. `completionFromChunks` turns them back into the
 * same completion.
 */
export function chunksFromCompletion(completion: Json, includeUsage: boolean): Json[] {
  const { choices, usage, ...rest } = completion;
  const first = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined;
  const message = isObject(first?.message) ? first.message : {};
  const head = { ...rest, object: 'chat.completion.chunk' };
  const pending = includeUsage ? { usage: null } : {};
  const delta: Json = { role: 'assistant', ...message };
  if (Array.isArray(delta.tool_calls)) {
    delta.tool_calls = delta.tool_calls.filter(isObject).map(indexed);
  }
  const choice = { index: 0, delta, logprobs: first?.logprobs ?? null, finish_reason: null };
  const last = { index: 0, delta: {}, logprobs: null, ...finishIn(first ?? {}) };
  const chunks: Json[] = [
    { ...head, choices: [choice], ...pending },
    { ...head, choices: [last], ...pending },
  ];
  if (includeUsage) chunks.push({ ...head, choices: [], usage: usage ?? null });
  return chunks;
}

/** The end of a choice. vLLM's `stop_reason` is the text of `stop` that ended the reply. */
function finishIn({ finish_reason = null, stop_reason }: Json): Json {
  return { finish_reason, ...(typeof stop_reason === 'string' && { stop_reason }) };
}

/** True if a choice has no finish reason, so the reply broke off. */
export function isUnfinished({ choices }: Json): boolean {
  return Array.isArray(choices) && choices.some((each) => isObject(each) && lacksReason(each));
}

/** Adds a finish reason, for a stream that came to a regular end but whose upstream gave none. */
export function finished(completion: Json): Json {
  if (!isUnfinished(completion)) return completion;
  const choices = itemsOf(completion.choices).map((each) =>
    isObject(each) && lacksReason(each) ? { ...each, finish_reason: 'stop' } : each,
  );
  return { ...completion, choices };
}

/** Adds the type to each tool call, as in streams, because some servers omit it. */
export function withCallTypes(completion: Json): Json {
  if (!Array.isArray(completion.choices)) return completion;
  const choices = completion.choices.map((choice: unknown) => {
    const { message, ...rest } = objectOf(choice);
    if (!isObject(message) || !Array.isArray(message.tool_calls)) return choice;
    const tool_calls = message.tool_calls
      .filter(isObject)
      .map((call) => ({ ...call, type: isCustom(call) ? 'custom' : 'function' }));
    return { ...rest, message: { ...message, tool_calls } };
  });
  return { ...completion, choices };
}

export function isCustom({ type, custom }: Json): boolean {
  return type === 'custom' || (type !== 'function' && isObject(custom));
}

function lacksReason(choice: Json): boolean {
  return (choice.finish_reason ?? null) === null;
}

function indexed(call: Json, index: number): Json {
  return { ...call, index };
}

function keepFirst(head: Json, chunk: Json): void {
  if (typeof chunk.id === 'string' && chunk.id !== '') head.id ??= chunk.id;
  if (isCount(chunk.created)) head.created ??= chunk.created;
  if (typeof chunk.model === 'string' && chunk.model !== '') head.model ??= chunk.model;
  if (typeof chunk.system_fingerprint === 'string') {
    head.system_fingerprint ??= chunk.system_fingerprint;
  }
}

function growMessage(message: Json, calls: Map<number, Json>, delta: Json): void {
  for (const field of grownTexts) {
    const piece = delta[field];
    grow(message, field, Array.isArray(piece) ? textOf(piece) : piece);
  }
  growCall(message, 'function_call', { name: '', arguments: '' }, delta);
  if (Array.isArray(delta.reasoning_details)) {
    const details = Array.isArray(message.reasoning_details) ? message.reasoning_details : [];
    message.reasoning_details = details;
    growDetails(details, delta.reasoning_details);
  }
  if (!Array.isArray(delta.tool_calls)) return;
  for (const [position, piece] of delta.tool_calls.entries()) {
    if (!isObject(piece)) continue;
    // Some servers omit the index if there is only one call.
    const index = isCount(piece.index) ? piece.index : position;
    if (!calls.has(index) && calls.size >= toolCallsMax) continue;
    const call = calls.get(index) ?? { type: 'function' };
    calls.set(index, call);
    growToolCall(call, piece);
  }
}

function growToolCall(call: Json, piece: Json): void {
  if (typeof piece.id === 'string' && piece.id !== '') call.id ??= piece.id;
  if (typeof piece.type === 'string' && piece.type !== '') call.type = piece.type;
  growCall(call, 'function', { name: '', arguments: '' }, piece);
  growCall(call, 'custom', { name: '', input: '' }, piece);
}

/** The name arrives in one piece, and some servers repeat it; the arguments arrive in pieces. */
function growCall(target: Json, field: string, empty: Json, pieces: Json): void {
  const piece = pieces[field];
  if (!isObject(piece)) return;
  const call = isObject(target[field]) ? target[field] : empty;
  target[field] = call;
  if (typeof piece.name === 'string' && call.name === '') call.name = piece.name;
  grow(call, 'arguments', piece.arguments);
  grow(call, 'input', piece.input);
}

function grow(target: Json, field: string, piece: unknown): void {
  if (typeof piece === 'string') target[field] = `${target[field] ?? ''}${piece}`;
}

function growLogprobs(logprobs: Json, piece: Json): void {
  for (const field of ['content', 'refusal']) {
    const list = piece[field];
    if (!Array.isArray(list)) continue;
    const kept = itemsOf(logprobs[field]);
    logprobs[field] = kept;
    for (const item of list) kept.push(item);
  }
}

function finishedMessage(grown: Json, calls: Map<number, Json>): Json {
  const message: Json = { role: 'assistant', ...grown, refusal: grown.refusal ?? null };
  if (calls.size > 0) {
    const ordered = [...calls].sort(([a], [b]) => a - b);
    message.tool_calls = ordered.map(([, call]) => call);
  }
  const saysOtherwise = calls.size > 0 || message.function_call || message.refusal;
  message.content = grown.content || (saysOtherwise ? null : '');
  return message;
}

/** A text, or the joined texts of a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

function callText(call: unknown): string {
  return isObject(call) ? textOf(call.name) + textOf(call.arguments) + textOf(call.input) : '';
}

/** Only one completion is ever requested; a choice without an index counts as the first. */
export function isFirstChoice(choice: unknown): choice is Json {
  return isObject(choice) && (choice.index ?? 0) === 0;
}
