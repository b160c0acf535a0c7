import type { Answer, Call } from './kit.ts';

/**
 * The chat part of the fake of OpenAI and compatible services. A test scripts its next answers;
 * without a script it always gives the same answer, with correct usage.
 */

type Json = Record<string, unknown>;
type Script = Answer | ((call: Call) => Answer);

/** A test's control of the chat part. */
export interface ChatDesk {
  /** Sets the answers of the next calls, one each. */
  script(...answers: Script[]): void;
  /** Sets the answer of all calls without a script of their own; null: the usual one. */
  play(script: Script | null): void;
  /** Bodies of the calls, in order. */
  asked: Json[];
  /** Resolves when the next caller has disconnected in mid-stream. */
  abandoned(): Promise<void>;
}

export const sayings = ['Hel', 'lo, ', 'wörld ', '✓'];
export const usual = {
  prompt_tokens: 9,
  completion_tokens: 4,
  total_tokens: 13,
  prompt_tokens_details: { cached_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 1 },
};

/** A chunk of a stream in OpenAI's form. */
export function chunkOf(delta: Json, more: Json = {}, finish_reason: string | null = null): Json {
  return {
    id: 'chatcmpl-fake',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'gpt-fake',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...more,
  };
}

/**
 * The usual chunks: the role, the text in pieces, the finish reason, and usage in a separate chunk.
 */
export function usualChunks(usage: Json | null = usual): Json[] {
  return [
    chunkOf({ role: 'assistant', content: '' }),
    ...sayings.map((content) => chunkOf({ content })),
    chunkOf({}, {}, 'stop'),
    ...(usage === null ? [] : [chunkOf({}, { choices: [], usage })]),
  ];
}

/** Chunks as server-sent events. */
export function eventsOf(
  chunks: readonly unknown[],
  { end = '\n\n', done = true }: { end?: string; done?: boolean } = {},
): string {
  const texts = chunks.map((chunk) => (typeof chunk === 'string' ? chunk : JSON.stringify(chunk)));
  const all = done ? [...texts, '[DONE]'] : texts;
  return all.map((text) => `data: ${text}${end}`).join('');
}

/** An answer that streams; `cut` sends it in pieces of this many bytes, regardless of chunks. */
export function streamOf(
  pieces: string | readonly string[] | AsyncIterable<string | Buffer>,
  cut = Infinity,
): Answer {
  const headers = { 'content-type': 'text/event-stream; charset=utf-8' };
  if (typeof pieces !== 'string' && Symbol.asyncIterator in pieces) return { headers, pieces };
  const body = Buffer.from(typeof pieces === 'string' ? pieces : pieces.join(''));
  return { headers, pieces: cutUp(body, cut) };
}

async function* cutUp(body: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += size)
    yield body.subarray(at, Math.min(body.length, at + size));
}

/** A whole reply. */
export function replyOf(more: Json = {}, message: Json = {}): Json {
  const content = sayings.join('');
  return {
    id: 'chatcmpl-fake',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'gpt-fake',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null, ...message },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: usual,
    ...more,
  };
}

export function openDesk(): ChatDesk & { answer(call: Call): Answer } {
  const scripts: Script[] = [];
  const asked: Json[] = [];
  let standing: Script | null = null;
  let left = Promise.withResolvers<void>();
  return {
    asked,
    script: (...answers) => void scripts.push(...answers),
    play: (script) => void (standing = script),
    abandoned: () => left.promise,
    answer(call) {
      const body = call.json<Json>();
      asked.push(body);
      const script = scripts.shift() ?? standing ?? usualAnswer(body);
      const answer = typeof script === 'function' ? script(call) : script;
      const abandoned = () => {
        left.resolve();
        left = Promise.withResolvers();
      };
      return { ...answer, abandoned };
    },
  };
}

function usualAnswer(body: Json): Answer {
  if (body.stream !== true) return { json: replyOf() };
  const options = body.stream_options as { include_usage?: boolean } | undefined;
  return streamOf(eventsOf(usualChunks(options?.include_usage === true ? usual : null)));
}
