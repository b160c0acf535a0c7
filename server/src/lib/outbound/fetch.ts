/**
 * Outbound calls. `request` reads a whole, small reply, in plain form; `stream` hands over a long
 * reply as it comes in. Neither follows redirects, keeps cookies, uses Alt-Svc or the
 * environment's proxies, or sends anything twice.
 */
import { Agent, type Dispatcher } from 'undici';

import { calledUrlLengthMax, judgeUrl } from './address.ts';
import { decodedReply } from './decode.ts';
import { createConnector, defaultPort, hostList } from './connect.ts';
import { BufferedReply, type Reply } from './exchange.ts';
import { FetchError } from './fetch-error.ts';
import type { Lookup } from './lookup.ts';
import { StreamedReply, type StreamReply } from './streamed-reply.ts';

export { FetchError, type FetchErrorKind } from './fetch-error.ts';
export type { Reply } from './exchange.ts';
export {
  createLookup,
  ownAddresses,
  allResolveToPublic,
  resolvesToPublic,
  lookUpBySystem,
  type Lookup,
} from './lookup.ts';
export type { StreamReply } from './streamed-reply.ts';

export interface FetchOptions {
  /**
   * True: only public addresses, for strangers' URLs; each call has its own connection. With
   * `allowHosts` (exact `host` or `host:port`) these hosts may be private, and connections are kept
   * open. False: any host, for addresses that the operator gave; connections are kept open.
   */
  guard: boolean | { allowHosts: readonly string[] };
  /** Refuses http. */
  httpsOnly?: boolean;
  /** For look-up, connection and TLS together, precise to about a second. Default 10 s. */
  connectTimeoutMs?: number;
  /**
   * Maximum number of connections to one origin; further calls wait. Default 32 if the guard is
   * true, otherwise 4096, because the operator's upstreams have their own limits and each long
   * stream uses a connection.
   */
  connections?: number;
  /** Sent with each call that has no user agent of its own. */
  userAgent?: string;
  /** Resolves every name in place of the system. */
  lookup?: Lookup;
  /** More names and addresses of this service that no interface shows, such as its public name. */
  own?: Iterable<string>;
}

interface Call {
  url: string;
  /** Default GET. */
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  /** Limit of the reply's body. */
  maxBytes: number;
  signal?: AbortSignal;
}

export interface RequestCall extends Call {
  /** Limit of the whole call: look-up, connection, request, and reply to its last byte. */
  timeoutMs: number;
}

export interface StreamCall extends Call {
  /** Limit of the time in which no byte comes in and the reader takes none. */
  idleTimeoutMs: number;
  /** Limit of the whole call. */
  timeoutMs?: number;
}

/** Every failure is a `FetchError`. A reply with any status is a success, including redirects. */
export interface Fetch {
  /** Reads at most `maxBytes` of the body and reports whether there was more. */
  request(call: RequestCall): Promise<Reply>;
  /** Settles when the reply's head is in. A body longer than `maxBytes` ends with `too_large`. */
  stream(call: StreamCall): Promise<StreamReply>;
  /** Origins with an open connection or a waiting call. */
  origins(): number;
  /** Ends all running calls as `aborted` and closes all connections. */
  close(): Promise<void>;
}

/** Whether the status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Throws if an entry of `allowHosts` is not a host. */
export function createFetch(options: FetchOptions): Fetch {
  const { guard, httpsOnly = false, userAgent } = options;
  const own = new Set(Array.from(options.own ?? [], (entry) => entry.toLowerCase()));
  const isExempt = typeof guard === 'object' ? hostList(guard.allowHosts) : () => !guard;
  const rules = {
    lengthMax: calledUrlLengthMax,
    httpsOnly,
    own,
    exempt: ({ hostname, port, protocol }: URL): boolean =>
      isExempt(hostname.replace(/^\[|\]$/g, ''), port || defaultPort(protocol)),
  };
  const agent = createAgent(options, isExempt, own);

  function dispatch(
    call: Call,
    exchangeFor: (host: string) => BufferedReply | StreamedReply,
  ): void {
    const verdict = judgeUrl(call.url, rules);
    if (!verdict.ok) throw new FetchError('blocked', `the URL ${verdict.reason}`);
    const { origin, host, pathname, search } = verdict.url;
    const exchange = exchangeFor(host);
    if (!exchange.begin()) return;
    agent.dispatch(
      {
        origin,
        path: pathname + search,
        method: call.method ?? 'GET',
        headers: headerList(call.headers, userAgent),
        body: bodyOf(call.body),
      },
      exchange,
    );
  }

  return {
    request: (call) =>
      new Promise<Reply>((resolve, reject) => {
        dispatch(call, (host) => new BufferedReply(host, call, resolve, reject));
      }).then((reply) => decodedReply(reply, call.maxBytes)),
    stream: (call) =>
      new Promise((resolve, reject) => {
        dispatch(call, (host) => new StreamedReply(host, call, resolve, reject));
      }),
    origins: () => Object.keys(agent.stats).length,
    close: () => agent.destroy(),
  };
}

function createAgent(
  options: FetchOptions,
  isExempt: (hostname: string, port: string) => boolean,
  own: ReadonlySet<string>,
): Agent {
  const { guard, connectTimeoutMs = 10_000, lookup } = options;
  return new Agent({
    connect: createConnector({ guard: guard !== false, isExempt, connectTimeoutMs, lookup, own }),
    connections: options.connections ?? (guard === true ? 32 : 4096),
    allowH2: false,
    // 0 closes each connection after its call. So a webhook, which is sent only once, never uses a
    // connection that the other side has just closed, and idle origins are not kept.
    pipelining: guard === true ? 0 : 1,
    // Just below the 5 s after which many servers close; longer if a server announces it.
    keepAliveTimeout: 4000,
    keepAliveMaxTimeout: 60_000,
    maxHeaderSize: 32 * 1024,
    // Each call sets its own limits.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/**
 * Headers in undici's flat form. Never asks for a compressed reply.
 */
function headerList(headers: Record<string, string> | undefined, userAgent?: string): string[] {
  const list = ['accept-encoding', 'identity'];
  let hasUserAgent = userAgent === undefined;
  for (const name in headers) {
    const lower = name.toLowerCase();
    if (lower === 'accept-encoding') continue;
    if (lower === 'user-agent') hasUserAgent = true;
    list.push(name, headers[name] ?? '');
  }
  if (!hasUserAgent && userAgent !== undefined) list.push('user-agent', userAgent);
  return list;
}

function bodyOf(body: Call['body']): Dispatcher.DispatchOptions['body'] {
  if (body == null || typeof body === 'string' || body instanceof Uint8Array) return body;
  // undici accepts any iterable, although its types declare only Node's streams.
  return markUnreadable(body) as unknown as Dispatcher.DispatchOptions['body'];
}

async function* markUnreadable(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw new FetchError('aborted', 'the body to be sent could not be read', { cause });
  }
}
