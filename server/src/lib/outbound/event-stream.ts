import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { FetchError } from './fetch-error.ts';

/** A server-sent event. `readEvents` limits its length. */
export type ServerEvent = EventSourceMessage;

/**
 * Reads server-sent events from pieces of bytes, whose borders do not matter. Comments are skipped.
 * Throws a FetchError `too_large` on an event longer than `maxChars`.
 */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array>,
  maxChars: number,
): AsyncGenerator<ServerEvent> {
  const ready: ServerEvent[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event) });
  const lines = lineReader();
  /** Length of the event's complete lines. */
  let held = 0;
  const limit = (chars: number) => {
    if (held + chars <= maxChars) return;
    const message = `an event is longer than ${maxChars} characters`;
    throw new FetchError('too_large', message, { sent: true });
  };
  const feed = function* (text: string): Generator<ServerEvent> {
    for (const line of lines.add(text)) {
      limit(line.length);
      if (line === '') held = 0;
      else if (!line.startsWith(':')) held += line.length;
      // The parser gets whole lines, because it scans an unfinished line again with each piece.
      parser.feed(`${line}\n`);
      yield* ready.splice(0);
    }
    limit(lines.openChars());
  };
  const decoder = new TextDecoder();
  for await (const chunk of bytes) yield* feed(decoder.decode(chunk, { stream: true }));
  // The empty line after the last event may be missing.
  yield* feed(`${decoder.decode()}\n\n`);
}

/** Splits pieces of text into lines, and looks at each character once. */
export function lineReader() {
  let open = '';
  let isAfterReturn = false;
  return {
    openChars: () => open.length,
    *add(piece: string): Generator<string> {
      if (piece === '') return;
      // A piece may end between the two characters of one line's end.
      const text = isAfterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
      isAfterReturn = piece.endsWith('\r');
      const [first = '', ...others] = text.split(/\r\n|\r|\n/);
      open += first;
      for (const next of others) {
        yield open;
        open = next;
      }
    },
  };
}
