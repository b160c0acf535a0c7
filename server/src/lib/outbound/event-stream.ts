import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** An event of such a stream; the size of its data is limited. */
export type ServerEvent = EventSourceMessage;

/**
 * Reads server-sent events from pieces of bytes, whose borders do not matter. Comments are skipped.
 * Throws on an event longer than `maxChars`.
 */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array>,
  maxChars: number,
): AsyncGenerator<ServerEvent> {
  const ready: ServerEvent[] = [];
  let held = 0;
  const parser = createParser({
    onEvent(event) {
      held = 0;
      ready.push(event);
    },
    onComment: () => (held = 0),
  });
  const decoder = new TextDecoder();
  const feed = function* (text: string): Generator<ServerEvent> {
    held += text.length;
    parser.feed(text);
    yield* ready.splice(0);
    if (held > maxChars) throw new Error(`an event is longer than ${maxChars} characters`);
  };
  for await (const chunk of bytes) yield* feed(decoder.decode(chunk, { stream: true }));
  // The empty line after the last event may be missing.
  yield* feed(`${decoder.decode()}\n\n`);
}
