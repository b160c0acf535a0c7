import { FareboxError } from './error.ts';
import { fromJson } from './unknown.ts';

/** Reads server-sent events from bytes. */

export interface ServerEvent {
  event: string;
  data: string;
}

/** Far above the service's largest event; a longer one comes from something else. */
const eventMaxCharacters = 64 * 1024 * 1024;

export async function* eventsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let event = '';
  let data: string[] = [];
  for await (const line of linesOf(bytes)) {
    if (line === '') {
      if (data.length > 0) yield { event: event || 'message', data: data.join('\n') };
      event = '';
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') event = value;
    if (name === 'data') data.push(value);
  }
}

/** The JSON of an event. Throws `unexpected_reply` if it is invalid. */
export function parsed<T>(data: string): T {
  try {
    return fromJson<T>(data);
  } catch (cause) {
    const text = 'The server sent an event that is not JSON.';
    throw new FareboxError('unexpected_reply', text, { cause });
  }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true });
    // A single \r at the end may be the first half of \r\n.
    const ready = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    const lines = ready.split(/\r\n|\n|\r/);
    rest = lines.pop()! + rest.slice(ready.length);
    if (rest.length > eventMaxCharacters)
      throw new FareboxError('unexpected_reply', 'The server sent too long a line.');
    yield* lines;
  }
}
