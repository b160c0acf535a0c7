import type { SaidReply } from './fake.ts';
import type { ChatCall } from '../../src/upstreams/upstream.ts';

/** A chat stream of the fake upstream that a test releases chunk by chunk. */
export interface Tap {
  outcome: SaidReply;
  /** Sends one chunk. */
  push(chunk: Record<string, unknown>): void;
  end(): void;
  /** Breaks the upstream's connection. */
  break(error?: Error): void;
  /** The number of chunks that the service has read. */
  taken(): number;
  /** True once the service has stopped reading. */
  returned(): boolean;
}

type Chunk = Record<string, unknown>;
type Item = { chunk: Chunk } | { error: Error } | 'end';

/** Opens a stream. `deaf`: the upstream ignores the signal and sends everything that is pushed. */
export function openTap(call: ChatCall, options: { deaf?: boolean } = {}): Tap {
  const items: Item[] = [];
  let wake = () => {};
  let taken = 0;
  let returned = false;
  const put = (item: Item) => {
    items.push(item);
    wake();
  };
  if (!options.deaf) {
    const onAbort = () => put({ error: new Error('given up') });
    if (call.signal.aborted) onAbort();
    call.signal.addEventListener('abort', onAbort);
  }
  async function* read(): AsyncGenerator<Chunk> {
    try {
      for (;;) {
        const item = items.shift();
        if (item === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else if (item === 'end') return;
        else if ('error' in item) throw item.error;
        else {
          taken++;
          yield item.chunk;
        }
      }
    } finally {
      returned = true;
    }
  }
  return {
    outcome: { outcome: 'stream', chunks: read() },
    push: (chunk) => put({ chunk }),
    end: () => put('end'),
    break: (error = new Error('the connection broke')) => put({ error }),
    taken: () => taken,
    returned: () => returned,
  };
}

/** A chunk as an upstream sends it, with the upstream's id and time. */
export function delta(content: string | null, finish_reason: string | null = null): Chunk {
  return {
    id: 'up-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'theirs',
    choices: [{ index: 0, delta: content === null ? {} : { content }, finish_reason }],
  };
}

/** The last chunk of an upstream that was asked for usage. */
export function usageChunk(prompt_tokens: unknown, completion_tokens: unknown): Chunk {
  const head = { id: 'up-1', object: 'chat.completion.chunk', created: 1, model: 'theirs' };
  return { ...head, choices: [], usage: { prompt_tokens, completion_tokens } };
}
