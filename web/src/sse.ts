import { eventsOf as parsed, type ServerEvent } from '../../client/src/events.ts';

/** The server-sent events of a reply. Throws if the connection breaks. */
export function eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  return parsed(piecesOf(body));
}

/** Some browsers cannot iterate over a stream. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
