import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Json } from '../../../lib/json.ts';
import { completionOf, eventsOf } from '../../in-process.ts';
import type { ChatCall, ChatOutcome } from '../../upstream.ts';
import { faultsIn, type Faults } from '../faults.ts';
import { composeReply, promptTokens } from './answer.ts';
import { lastUserText } from './texts.ts';
import { countTokens, tokenise } from './tokens.ts';
import { toolCalls, wrongTool, type ToolCall } from './tools.ts';

/** Chat in OpenAI's form: deterministic, with true usage, and with faults on request. */

type Chunk = Record<string, unknown>;

/** One token of the reply, or the opening of a tool call, which counts as no token. */
interface Piece {
  delta: Chunk;
  token: string;
}

/** A complete reply, and how it is sent. */
interface Reply {
  call: ChatCall;
  /** The call as a chat completion. */
  body: Json;
  faults: Faults;
  /** Cut to `max_tokens` tokens and at a stop text. */
  pieces: Piece[];
  completion_tokens: number;
  finish: 'stop' | 'length' | 'tool_calls';
  prompt_tokens: number;
  speed: number;
}

const firstTokenMs = 80;
const tokenMs = 12;
/** Longest natural time of a reply that is not streamed. */
const replyMsMax = 1_500;
const busyRetryMs = 2_000;

export function createChat(speed: number): (call: ChatCall) => Promise<ChatOutcome> {
  return async (call) => {
    const { body, ignored } = completionOf(call);
    const faults = faultsIn(lastUserText(body.messages));
    const tokens = promptTokens(body.messages, call.context_tokens + 1);
    const refused = refusalOf(faults) ?? rejectionOf(call, body, faults, tokens);
    if (refused) return refused;
    const reply = replyOf(call, body, faults, tokens, speed);
    const answered = (chunks: AsyncIterable<Chunk> | Chunk[]): ChatOutcome => ({
      outcome: 'reply',
      reportedUsage: null,
      events: eventsOf(call, chunks),
      ignored,
    });
    if (call.stream) return answered(stream(reply));
    try {
      await fullTime(reply);
      return answered(chunksOf(reply));
    } catch {
      return { outcome: 'unknown', message: 'The connection to the sandbox broke.' };
    }
  };
}

function refusalOf(faults: Faults): ChatOutcome | null {
  if (faults.busy) {
    const message = 'The sandbox is busy, as asked.';
    return { outcome: 'not_accepted', message, retry_after_ms: busyRetryMs };
  }
  if (faults.reject)
    return { outcome: 'rejected', message: 'The sandbox refuses this message, as asked.' };
  if (faults.fail || faults.lost)
    return { outcome: 'unknown', message: 'The sandbox failed, as asked.' };
  return null;
}

/**
 * Refuses a prompt that is larger than the context window, and a `sandbox:tool` word that does not
 * fit the offered tools.
 */
function rejectionOf(
  call: ChatCall,
  body: Json,
  faults: Faults,
  tokens: number,
): ChatOutcome | null {
  const most = call.context_tokens;
  const message =
    tokens > most
      ? `The messages have more than ${most} tokens, the most that the model takes.`
      : wrongTool(body, faults);
  return message === null ? null : { outcome: 'rejected', message };
}

function replyOf(
  call: ChatCall,
  body: Json,
  faults: Faults,
  prompt_tokens: number,
  speed: number,
): Reply {
  const calls = toolCalls(body, faults);
  const all =
    calls.length > 0 ? calls.flatMap(piecesOfCall(call)) : piecesOfText(call.model, body, faults);
  const most = call.max_tokens;
  const pieces: Piece[] = [];
  let completion_tokens = 0;
  for (const piece of all) {
    // Tokens are counted from the sent text, so that a reader gets the same count.
    const tokens = countTokens(piece.token);
    if (completion_tokens + tokens > most) break;
    completion_tokens += tokens;
    pieces.push(piece);
  }
  const isCut = pieces.length < all.length;
  const finish = isCut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  return { call, body, faults, pieces, completion_tokens, finish, prompt_tokens, speed };
}

function piecesOfText(model: string, body: Json, { words }: Faults): Piece[] {
  let text = composeReply(model, body, words);
  for (const stop of stopsOf(body.stop)) {
    const at = text.indexOf(stop);
    if (at >= 0) text = text.slice(0, at);
  }
  return tokenise(text).map((token) => ({ delta: { content: token }, token }));
}

/**
 * The pieces of a tool call as OpenAI streams them: the name first, then the arguments bit by bit.
 */
function piecesOfCall({ request_id }: ChatCall): (call: ToolCall, index: number) => Piece[] {
  return ({ type, name, input }, index) => {
    const id = `call_${request_id.replaceAll('-', '')}${index}`;
    const field = type === 'custom' ? 'input' : 'arguments';
    const opening = { index, id, type, [type]: { name, [field]: '' } };
    return [
      { delta: { tool_calls: [opening] }, token: '' },
      ...tokenise(input).map((token) => ({
        delta: { tool_calls: [{ index, [type]: { [field]: token } }] },
        token,
      })),
    ];
  };
}

async function fullTime(reply: Reply): Promise<void> {
  const { call, faults, pieces, speed } = reply;
  await firstToken(reply);
  if (faults.breaks) throw new Error('broken off, as asked');
  await pause(Math.min(replyMsMax, pieces.length * tokenMs) / speed, call.signal);
}

async function* stream(reply: Reply): AsyncIterable<Chunk> {
  const { call, faults, pieces, speed } = reply;
  await firstToken(reply);
  const breakAt = faults.breaks ? Math.floor(pieces.length / 2) : Infinity;
  for (const [i, chunk] of chunksOf(reply).entries()) {
    // The first chunk contains the role; then come the pieces, the finish reason and the usage.
    if (i > breakAt) throw new Error('The sandbox broke off, as asked.');
    if (i > 0 && i <= pieces.length) await pause(tokenMs / speed, call.signal);
    yield chunk;
  }
}

function chunksOf(reply: Reply): Chunk[] {
  const { faults, pieces, finish } = reply;
  const head = { ...envelope(reply), object: 'chat.completion.chunk' };
  const chunk = (delta: Chunk, finish_reason: string | null): Chunk => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...pieces.map(({ delta }) => chunk(delta, null)),
    chunk({}, finish),
    ...(faults.noUsage ? [] : [{ ...head, choices: [], usage: usageOf(reply) }]),
  ];
}

async function firstToken({ faults, speed, call: { signal } }: Reply): Promise<void> {
  if (faults.hang && !signal.aborted) await once(signal, 'abort');
  await pause((faults.slowSeconds ?? firstTokenMs / 1000 / speed) * 1000, signal);
}

/** Rejects with the signal's reason as soon as it aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await wait(ms, null, { signal }).catch(() => undefined);
  signal.throwIfAborted();
}

function envelope({ call }: Reply) {
  return {
    id: `chatcmpl-${call.request_id}`,
    created: Math.floor(Date.now() / 1000),
    model: call.model,
    system_fingerprint: 'farebox_sandbox',
  };
}

function usageOf({ prompt_tokens, completion_tokens, faults }: Reply): Record<string, unknown> {
  const total_tokens = prompt_tokens + completion_tokens;
  const usage = { prompt_tokens, completion_tokens, total_tokens };
  if (faults.cachedTokens === null) return usage;
  const cached_tokens = Math.min(prompt_tokens, Math.floor(faults.cachedTokens));
  return { ...usage, prompt_tokens_details: { cached_tokens } };
}

function stopsOf(stop: unknown): string[] {
  const list = Array.isArray(stop) ? stop : [stop];
  return list.filter((one): one is string => typeof one === 'string' && one !== '').slice(0, 4);
}
