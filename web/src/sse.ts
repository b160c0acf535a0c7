/** Server-sent events, read from an answer as it comes in. */

export interface ServerEvent {
  /** `message` where the service gives none. */
  event: string;
  data: string;
}

/** Takes pieces of a stream in turn; gives the events that each of them completes. */
export function createEventParser(): (piece: string) => ServerEvent[] {
  let rest = '';
  let event = '';
  let data: string[] = [];

  return (piece) => {
    const found: ServerEvent[] = [];
    rest += piece;
    // A carriage return at the very end may be half of a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) found.push({ event: event || 'message', data: data.join('\n') });
        event = '';
        data = [];
        continue;
      }
      const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (name === 'event') event = value;
      if (name === 'data') data.push(value);
    }
    return found;
  };
}

/** The events of an answer. Throws where the connection breaks. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const parse = createEventParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parse(decoder.decode(value, { stream: true }));
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
