import type { ChatCall, ChatOutcome } from '../upstream.ts';
import { faultsIn } from './faults.ts';
import type { Faults } from './faults.ts';
import { composeReply, lastUserText, promptTokens } from './talk.ts';
import { countTokens, tokenise } from './tokens.ts';

/** Chat as OpenAI speaks it: deterministic, with true usage, and with faults on request. */

export interface ChatOptions {
  speed: number;
  note(entry: Record<string, unknown>): Promise<void>;
}

type Chunk = Record<string, unknown>;

interface Talk {
  call: ChatCall;
  faults: Faults;
  /** The reply's tokens, cut to `max_tokens` and at a stop text. */
  tokens: string[];
  finish: 'stop' | 'length';
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
    const refused = refusalOf(faults) ?? tooLong(tokens, call.context_tokens);
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
  let text = composeReply(call.model, call.body, faults.words);
  for (const stop of stopsOf(call.body.stop)) {
    const at = text.indexOf(stop);
    if (at >= 0) text = text.slice(0, at);
  }
  const all = tokenise(text);
  const most = Number(call.body.max_tokens ?? call.body.max_completion_tokens ?? Infinity);
  const tokens = all.length > most ? all.slice(0, most) : all;
  return {
    call,
    faults,
    tokens,
    finish: tokens.length < all.length ? 'length' : 'stop',
    prompt_tokens,
    speed,
  };
}

async function reply(talk: Talk): Promise<ChatOutcome> {
  const { call, faults, tokens, finish } = talk;
  await firstWord(talk);
  if (faults.breaks) throw new Error('broken off, as asked');
  await pause(Math.min(REPLY_MS_MAX, tokens.length * TOKEN_MS) / talk.speed, call.signal);
  const message = { role: 'assistant', content: tokens.join(''), refusal: null };
  return {
    outcome: 'reply',
    reply: {
      ...envelope(talk, 'chat.completion'),
      choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
      ...(faults.noUsage ? {} : { usage: usageOf(talk) }),
    },
  };
}

async function* stream(talk: Talk): AsyncIterable<Chunk> {
  const { call, faults, tokens, finish } = talk;
  const head = envelope(talk, 'chat.completion.chunk');
  const chunk = (delta: Chunk, finish_reason: string | null): Chunk => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  await firstWord(talk);
  yield chunk({ role: 'assistant', content: '' }, null);
  const breakAt = faults.breaks ? Math.floor(tokens.length / 2) : Infinity;
  for (const [i, token] of tokens.entries()) {
    if (i >= breakAt) throw new Error('The sandbox broke off, as asked.');
    await pause(TOKEN_MS / talk.speed, call.signal);
    yield chunk({ content: token }, null);
  }
  yield chunk({}, finish);
  if (!faults.noUsage) yield { ...head, choices: [], usage: usageOf(talk) };
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

function envelope({ call }: Talk, object: string): Chunk {
  return {
    id: `chatcmpl-${call.request_id}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model: call.model,
    system_fingerprint: 'farebox_sandbox',
  };
}

function usageOf({ prompt_tokens, tokens }: Talk): Record<string, number> {
  // Counted from the text that was sent, so that a reader can count again and find the same.
  const completion_tokens = countTokens(tokens.join(''));
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
