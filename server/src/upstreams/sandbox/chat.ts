import { completionFromChunks } from '../../core/chat/completion.ts';
import type { ChatCall, ChatOutcome } from '../upstream.ts';
import { faultsIn } from './faults.ts';
import type { Faults } from './faults.ts';
import { composeReply, lastUserText, promptTokens } from './talk.ts';
import { countTokens, tokenise } from './tokens.ts';
import { toolCalls, unknownTool, type ToolCall } from './tools.ts';

/** Chat as OpenAI speaks it: deterministic, with true usage, and with faults on request. */

export interface ChatOptions {
  speed: number;
  note(entry: Record<string, unknown>): Promise<void>;
}

type Chunk = Record<string, unknown>;

/** One token of the reply, or the opening of a tool call, which counts as none. */
interface Piece {
  delta: Chunk;
  token: string;
}

interface Talk {
  call: ChatCall;
  faults: Faults;
  /** Cut to `max_tokens` and at a stop text. */
  pieces: Piece[];
  completion_tokens: number;
  finish: 'stop' | 'length' | 'tool_calls';
  prompt_tokens: number;
  speed: number;
}

const TOKEN_MS = 12;
/** A reply that is not streamed takes no longer than this by itself. */
const REPLY_MS_MAX = 1_500;
const BUSY_RETRY_MS = 2_000;

export function createChat(options: ChatOptions): (call: ChatCall) => Promise<ChatOutcome> {
  return async (call) => {
    const faults = faultsIn(lastUserText(call.body.messages));
    const tokens = promptTokens(call.body.messages, call.context_tokens + 1);
    const refused =
      refusalOf(faults) ?? tooLong(tokens, call.context_tokens) ?? misnamed(call, faults);
    await options.note({
      event: refused ? `chat_${refused.outcome}` : 'chat',
      request_id: call.request_id,
      model: call.model,
    });
    if (refused) return refused;
    const talk = talkOf(call, faults, tokens, options.speed);
    if (call.stream) return { outcome: 'stream', chunks: stream(talk) };
    try {
      return await reply(talk);
    } catch {
      return { outcome: 'unknown', message: 'The connection to the sandbox broke.' };
    }
  };
}

type ChatRefusal = Exclude<ChatOutcome, { outcome: 'reply' | 'stream' }>;

/** A prompt beyond the window is refused, as every model refuses it. */
function tooLong(tokens: number, most: number): ChatRefusal | null {
  if (tokens <= most) return null;
  const message = `The messages have more than ${most} tokens, the most that the model takes.`;
  return { outcome: 'rejected', message };
}

function misnamed({ body }: ChatCall, faults: Faults): ChatRefusal | null {
  const message = unknownTool(body, faults);
  return message === null ? null : { outcome: 'rejected', message };
}

function refusalOf(faults: Faults): ChatRefusal | null {
  if (faults.busy) {
    return {
      outcome: 'not_accepted',
      message: 'The sandbox is busy, as asked.',
      retry_after_ms: BUSY_RETRY_MS,
    };
  }
  if (faults.reject)
    return { outcome: 'rejected', message: 'The sandbox refuses this message, as asked.' };
  if (faults.fail || faults.lost)
    return { outcome: 'unknown', message: 'The sandbox failed, as asked.' };
  return null;
}

function talkOf(call: ChatCall, faults: Faults, prompt_tokens: number, speed: number): Talk {
  const calls = toolCalls(call.body, faults);
  const all = calls.length > 0 ? calls.flatMap(piecesOfCall(call)) : piecesOfText(call, faults);
  const most = Number(call.body.max_tokens ?? call.body.max_completion_tokens ?? Infinity);
  const pieces: Piece[] = [];
  let completion_tokens = 0;
  for (const piece of all) {
    // Counted from the text that is sent, so that a reader can count again and find the same.
    const tokens = countTokens(piece.token);
    if (completion_tokens + tokens > most) break;
    completion_tokens += tokens;
    pieces.push(piece);
  }
  const isCut = pieces.length < all.length;
  const finish = isCut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  return { call, faults, pieces, completion_tokens, finish, prompt_tokens, speed };
}

function piecesOfText({ model, body }: ChatCall, { words }: Faults): Piece[] {
  let text = composeReply(model, body, words);
  for (const stop of stopsOf(body.stop)) {
    const at = text.indexOf(stop);
    if (at >= 0) text = text.slice(0, at);
  }
  return tokenise(text).map((token) => ({ delta: { content: token }, token }));
}

/** As OpenAI streams a call: its name first, then its arguments bit by bit. */
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

async function reply(talk: Talk): Promise<ChatOutcome> {
  const { call, faults, pieces } = talk;
  await firstWord(talk);
  if (faults.breaks) throw new Error('broken off, as asked');
  await pause(Math.min(REPLY_MS_MAX, pieces.length * TOKEN_MS) / talk.speed, call.signal);
  const head = envelope(talk);
  const whole = completionFromChunks(chunksOf(talk), head);
  return { outcome: 'reply', reply: { ...head, ...whole } };
}

async function* stream(talk: Talk): AsyncIterable<Chunk> {
  const { call, faults, pieces } = talk;
  await firstWord(talk);
  const breakAt = faults.breaks ? Math.floor(pieces.length / 2) : Infinity;
  for (const [i, chunk] of chunksOf(talk).entries()) {
    // The first says who speaks; the pieces follow, then the end and the usage.
    if (i > breakAt) throw new Error('The sandbox broke off, as asked.');
    if (i > 0 && i <= pieces.length) await pause(TOKEN_MS / talk.speed, call.signal);
    yield chunk;
  }
}

function chunksOf(talk: Talk): Chunk[] {
  const { faults, pieces, finish } = talk;
  const head = { ...envelope(talk), object: 'chat.completion.chunk' };
  const chunk = (delta: Chunk, finish_reason: string | null): Chunk => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...pieces.map(({ delta }) => chunk(delta, null)),
    chunk({}, finish),
    ...(faults.noUsage ? [] : [{ ...head, choices: [], usage: usageOf(talk) }]),
  ];
}

async function firstWord({ faults, speed, call }: Talk): Promise<void> {
  const natural = 80 / speed;
  const wait = faults.hang
    ? Infinity
    : faults.slowSeconds === null
      ? natural
      : faults.slowSeconds * 1000;
  await pause(wait, call.signal);
}

function envelope({ call }: Talk) {
  return {
    id: `chatcmpl-${call.request_id}`,
    created: Math.floor(Date.now() / 1000),
    model: call.model,
    system_fingerprint: 'farebox_sandbox',
  };
}

function usageOf({ prompt_tokens, completion_tokens }: Talk): Record<string, number> {
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

function stopsOf(stop: unknown): string[] {
  const list = Array.isArray(stop) ? stop : [stop];
  return list.filter((one): one is string => typeof one === 'string' && one !== '').slice(0, 4);
}

/** Waits; for ever where `ms` is infinite. Rejects as soon as the signal says so. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    if (ms <= 0) return resolve();
    const timer = ms === Infinity ? undefined : setTimeout(finish, ms);
    signal.addEventListener('abort', quit);
    function finish(): void {
      signal.removeEventListener('abort', quit);
      resolve();
    }
    function quit(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', quit);
      reject(signal.reason);
    }
  });
}
