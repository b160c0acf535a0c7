import { request, type IncomingHttpHeaders } from 'node:http';
import { checkReply } from './openapi.ts';

/** A client of event streams that reads one event at a time, and can stop reading or disconnect. */
export interface Events {
  status: number;
  headers: IncomingHttpHeaders;
  /** The next event or comment; null at the end or after the connection broke. */
  next(): Promise<StreamEvent | null>;
  /** All remaining events, without comments. */
  rest(): Promise<StreamEvent[]>;
  /** Stops reading from the socket. */
  stopReading(): void;
  /** Destroys the socket. */
  leave(): void;
  /** Resolves when the connection has ended: true if the reply was complete. */
  closed: Promise<boolean>;
}

export interface StreamEvent {
  event: string;
  data: string;
  /** The text of a comment line, if it was one. */
  comment?: string;
}

export interface EventsOptions {
  key?: string;
  /** The body; makes the call a POST. */
  body?: unknown;
  headers?: Record<string, string>;
}

export function openEvents(
  base: string,
  path: string,
  options: EventsOptions = {},
): Promise<Events> {
  const { key, body, headers = {} } = options;
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const req = request(`${base}${path}`, {
      method,
      agent: false,
      headers: {
        ...(key && { authorization: `Key ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    req.once('error', reject);
    req.once('response', (res) => {
      // Later errors such as a reset show in `closed`.
      req.on('error', () => {});
      if (path.startsWith('/v1')) checkReply(method, path, res.statusCode!, res.headers, undefined);
      const inbox = createInbox();
      res.setEncoding('utf8');
      res.on('data', (text: string) => inbox.take(text));
      res.on('error', () => {});
      const closed = new Promise<boolean>((done) => {
        res.once('close', () => {
          inbox.end();
          done(res.complete);
        });
      });
      resolve({
        status: res.statusCode!,
        headers: res.headers,
        next: inbox.next,
        async rest() {
          const found: StreamEvent[] = [];
          for (let e = await inbox.next(); e !== null; e = await inbox.next()) {
            if (e.comment === undefined) found.push(e);
          }
          return found;
        },
        stopReading: () => void res.pause(),
        leave: () => void req.destroy(),
        closed,
      });
    });
    req.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Longer than any event takes, so that a missing event fails its test and not the whole run. */
const eventMaxMs = 60_000;

function createInbox() {
  let text = '';
  let over = false;
  const events: StreamEvent[] = [];
  const waiting: ((event: StreamEvent | null) => void)[] = [];
  return {
    take(more: string): void {
      text += more;
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const event = parseEvent(text.slice(0, at));
        text = text.slice(at + 2);
        const next = waiting.shift();
        if (next) next(event);
        else events.push(event);
      }
    },
    end(): void {
      over = true;
      for (const next of waiting.splice(0)) next(null);
    },
    next(): Promise<StreamEvent | null> {
      const event = events.shift();
      if (event) return Promise.resolve(event);
      if (over) return Promise.resolve(null);
      return new Promise((resolve, reject) => {
        const late = () => reject(new Error(`no event in ${eventMaxMs / 1000} s`));
        const timer = setTimeout(late, eventMaxMs);
        waiting.push((next) => {
          clearTimeout(timer);
          resolve(next);
        });
      });
    },
  };
}

/**
 * Parses an event. Throws unless it has the form that we send: one `event` line and `data` lines,
 * or one comment.
 */
function parseEvent(block: string): StreamEvent {
  const event: StreamEvent = { event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) data.push(line.slice(6));
    else if (line.startsWith('event: ')) event.event = line.slice(7);
    else if (line.startsWith(': ')) event.comment = line.slice(2);
    else throw new Error(`no line of an event stream: ${line}`);
  }
  event.data = data.join('\n');
  return event;
}
