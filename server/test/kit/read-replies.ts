import type { ReplyContext, OpenReader } from '../../src/core/apis/api.ts';
import { readReply } from '../../src/core/apis/read-reply.ts';
import { gatherReply, type ReplyEvent } from '../../src/core/chat/reply.ts';

/** Reads replies of upstreams for the tests of their readers. */

export const asked: ReplyContext = {
  request_id: '0190-a',
  api: 'completions',
  custom: new Set(['patch']),
  ownName: (sent) => sent.replace(/^short_/, 'long_'),
  usedIds: () => [],
  stops: ['END', ' '],
};

export interface Reading {
  events: ReplyEvent[];
  /** Null: the reply came to its end. */
  error: Error | null;
}

/** Reads a body in pieces of `size` bytes. */
export async function read(
  open: OpenReader,
  body: string,
  size = Infinity,
  of = asked,
): Promise<Reading> {
  const events: ReplyEvent[] = [];
  try {
    for await (const event of readReply(cut(Buffer.from(body), size), open, of)) events.push(event);
    return { events, error: null };
  } catch (error) {
    return { events, error: error as Error };
  }
}

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size)
    yield bytes.subarray(at, Math.min(bytes.length, at + size));
}

/** Pieces as server-sent events. */
export function eventsOf(pieces: readonly unknown[], end = ''): string {
  return pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join('') + end;
}

export const marked = 'data: [DONE]\n\n';

/** The events in short: joined pieces, without values that are usual. */
export function shortOf({ events, error }: Reading): string[] {
  const reply = gatherReply();
  for (const event of events) reply.add(event);
  const short = reply.events().map((event) => {
    switch (event.type) {
      case 'text':
      case 'refusal':
        return `${event.type} ${event.text}`;
      case 'thought':
        return `${event.form === 'text' ? '' : `${event.form} `}thought ${event.text}`;
      case 'call':
        return `${event.custom ? 'custom ' : ''}call ${event.id} ${event.name}`;
      case 'input':
        return `input ${event.call} ${event.text}`;
      case 'end':
        return event.stop === null ? event.reason : `${event.reason} at ${event.stop}`;
      default:
        return event.type;
    }
  });
  return error === null ? short : [...short, 'broken'];
}
