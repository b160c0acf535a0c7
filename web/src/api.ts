/** Calls to the service: the only place that speaks HTTP. */

/** What the service answers where it does not do what was asked. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  readonly details: Record<string, unknown>;
  /** The sign-in library's own word for it. */
  readonly reason: string | null;

  constructor(status: number, error: Partial<FailureBody>) {
    super(error.message ?? `HTTP ${status}`);
    this.name = 'ApiFailure';
    this.status = status;
    this.code = error.code ?? 'unknown';
    this.param = error.param ?? null;
    this.details = error.details ?? {};
    this.reason = typeof this.details.reason === 'string' ? this.details.reason : null;
  }
}

/** No whole answer came. In words of ours: each browser has its own, in English. */
export class Unreachable extends Error {
  constructor() {
    super('The service cannot be reached. Check the connection and try again.');
    this.name = 'Unreachable';
  }
}

/** What came over the network. Throws `Unreachable` where the connection did not hold. */
export async function reached<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    // So browsers call it; where the page itself gave up, it is something else.
    throw error instanceof TypeError ? new Unreachable() : error;
  }
}

interface FailureBody {
  code: string;
  message: string;
  param: string | null;
  details: Record<string, unknown>;
}

export interface CallOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  body?: unknown;
  /** Parameters of the address; those that are undefined or empty are left out. */
  query?: Record<string, string | number | boolean | undefined | null>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Fires where the service says that nobody is signed in. */
export const signedOut = new EventTarget();

/** The JSON of an answer. Throws `ApiFailure`, or what `reached` throws. */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const reply = await send(path, options);
  const text = await reached(reply.text());
  return (text === '' ? null : JSON.parse(text)) as T;
}

/** The answer itself, where it is no JSON. Throws as `call` does. */
export async function send(path: string, options: CallOptions = {}): Promise<Response> {
  const { body, query, signal, headers } = options;
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const reply = await reached(
    fetch(withQuery(path, query), {
      method,
      signal: signal ?? null,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    }),
  );
  if (reply.ok) return reply;
  throw await failureOf(reply, path);
}

export function withQuery(path: string, query: CallOptions['query'] = {}): string {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const pairs = given.map(([name, value]): [string, string] => [name, String(value)]);
  const text = new URLSearchParams(pairs).toString();
  return text === '' ? path : `${path}?${text}`;
}

async function failureOf(reply: Response, path: string): Promise<ApiFailure> {
  const said = (await reply.json().catch(() => ({}))) as { error?: Partial<FailureBody> };
  const failure = new ApiFailure(reply.status, said.error ?? {});
  const asks = path === '/api/me' || path.startsWith('/api/auth/');
  if (reply.status === 401 && !asks) signedOut.dispatchEvent(new Event('signed-out'));
  return failure;
}
