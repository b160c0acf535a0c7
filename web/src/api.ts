import { fieldOf, itemsOf, objectOf } from '../../client/src/unknown.ts';
import { exactJson } from './exact-json.ts';
import type { Calls } from './api-types.ts';

/** Calls to the service. No other file of the pages uses the network. */

/** An error reply of the service. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  readonly details: Record<string, unknown>;
  /** The error code of the sign-in library, if it sent the reply. */
  readonly reason: string | null;
  /** The number of the call, by which the operator finds it in the log. */
  readonly call_id: string | null;

  /** `reply` is the JSON body. A proxy's reply does not have the form of the service's errors. */
  constructor(status: number, reply: unknown) {
    const { message, code, param, details, request_id } = objectOf(fieldOf(reply, 'error'));
    super(textOf(message) ?? `HTTP ${status}`);
    this.name = 'ApiFailure';
    this.status = status;
    this.code = textOf(code) ?? 'unknown';
    this.param = textOf(param);
    this.details = objectOf(details);
    this.reason = textOf(this.details.reason);
    this.call_id = textOf(request_id);
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A fault in a model's input; the broken rule is given as data. */
interface InputFault {
  code: 'field';
  path: string;
  message: string;
  details?: Record<string, unknown>;
}

/** The faults of each field in an `invalid_input`. */
export function faultsIn({ errors, rules }: Record<string, unknown>): InputFault[] {
  return itemsOf(errors).map((each, i) => ({
    code: 'field',
    path: String(fieldOf(each, 'path')),
    message: String(fieldOf(each, 'message')),
    details: objectOf(itemsOf(rules)[i]),
  }));
}

/** An error whose message is written for the user, in the page's language. */
export class InWords extends Error {}

/**
 * Thrown if no complete reply arrived. It replaces the browser's error, whose text differs between
 * browsers and is not translated.
 */
export class ServiceUnreachable extends Error {
  readonly code = 'unreachable';

  constructor() {
    super('The service cannot be reached. Check the connection and try again.');
    this.name = 'ServiceUnreachable';
  }
}

/** Awaits a network call. Throws `ServiceUnreachable` if the connection broke. */
export async function fetchOrThrow<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    // Browsers throw a TypeError for a broken connection; an abort by the page throws another
    // error.
    throw error instanceof TypeError ? new ServiceUnreachable() : error;
  }
}

/**
 * Routes under a prefix, with the prefix removed: `GET /vouchers` for `GET /api/operator/vouchers`.
 */
type CallsBelow<Prefix extends string> = {
  [
    R in keyof Calls as R extends `${infer Method} ${Prefix}${infer Path}`
      ? `${Method} ${Path}`
      : never
  ]: Calls[R];
};
export type AccountCalls = CallsBelow<'/api/accounts/:account_id'>;
export type OperatorCalls = CallsBelow<'/api/operator'>;

/** Names of a route's parameters: `:name`, and `*` for the rest of a path. */
type PathNames<R> = R extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<Rest>
  : R extends `${string}:${infer Name}`
    ? Name
    : R extends `${string}/*`
      ? '*'
      : never;

export type Reply<C, R extends keyof C> = C[R] extends { reply: infer T } ? T : unknown;

type Field<C, Name extends string> =
  C extends Record<Name, infer T>
    ? object extends T
      ? { [N in Name]?: T }
      : { [N in Name]: T }
    : object;

/** The parameters, query and body of a route. */
export type CallArguments<C, R extends keyof C> = Field<C[R], 'query'> &
  Field<C[R], 'body'> &
  ([PathNames<R>] extends [never] ? object : { params: Record<PathNames<R>, string> }) & {
    signal?: AbortSignal;
  };

export type Args<C, R extends keyof C> =
  object extends CallArguments<C, R> ? [CallArguments<C, R>?] : [CallArguments<C, R>];

/** The arguments after the route. */
export function argsOf<C, R extends keyof C>(given: CallArguments<C, R>): Args<C, R> {
  // Both forms of `Args` accept one argument. TypeScript cannot choose between them, because the
  // route is not known here.
  return [given] as Args<C, R>;
}

/** Calls a route of the table and returns its reply. Throws as `call` does. */
export type Caller<C> = <R extends keyof C & string>(
  route: R,
  ...given: Args<C, R>
) => Promise<Reply<C, R>>;

export const api: Caller<Calls> = (route, ...[given]) => callRoute('', route, given);

export const operatorApi: Caller<OperatorCalls> = (route, ...[given]) =>
  callRoute('/api/operator', route, given);

export function accountApi(account_id: string): Caller<AccountCalls> {
  return (route, ...[given]) => callRoute(`/api/accounts/${account_id}`, route, given);
}

function callRoute<T>(
  prefix: string,
  route: string,
  given: CallOptions & { params?: Record<string, string> } = {},
): Promise<T> {
  const { params = {}, ...options } = given;
  const [wanted, path = ''] = route.split(' ');
  const method = methods.find((each) => each === wanted);
  const filled = path.replace(/:(\w+)|\*/g, (rest, name = rest) =>
    encodeURIComponent(params[name]!),
  );
  return call<T>(prefix + filled, { method, ...options });
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export interface CallOptions {
  method?: (typeof methods)[number];
  /** Sent as JSON. */
  body?: unknown;
  /** Query parameters; undefined and empty ones are left out. */
  query?: Record<string, string | number | boolean | undefined | null>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Fires when the service answers that nobody is signed in. */
export const signedOut = new EventTarget();

/** Returns the JSON of a reply. Throws `ApiFailure`, or what `fetchOrThrow` throws. */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const reply = await send(path, options);
  const text = await fetchOrThrow(reply.text());
  // The routes' schemas guarantee the shape.
  return exactJson(text === '' ? 'null' : text) as T;
}

/** Calls the sign-in library, whose replies have no schema here. Throws as `call` does. */
export function authCall<T = unknown>(path: string, body?: object): Promise<T> {
  return call<T>(`/api/auth${path}`, { body });
}

/** Returns the reply itself, for bodies that are not JSON. Throws as `call` does. */
export async function send(path: string, options: CallOptions = {}): Promise<Response> {
  const { body, query, signal, headers } = options;
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const reply = await fetchOrThrow(
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
  const failure = new ApiFailure(reply.status, await reply.json().catch(() => null));
  const asks = path === '/api/me' || path.startsWith('/api/auth/');
  if (reply.status === 401 && !asks) signedOut.dispatchEvent(new Event('signed-out'));
  return failure;
}
