import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperatorRight } from '../core/account/operator-role.ts';
import type { Right } from '../core/account/role.ts';
import type { KeyScope, Scope } from '../core/account/scope.ts';
import type { HttpDeps, KeyedRequest, OperatorRequest, SpareRule } from './deps.ts';
import type { RouteDocs } from './docs/route-docs.ts';
import type { Endpoint, CallHandler, Shapes } from './endpoint.ts';
import { at, type WithParams, type PathParams } from './path.ts';
import { isSessionRequest, type SessionRequest, type WebDeps } from './session/session-request.ts';

/** A signed-in person: any, or with this right to the account that the path names. */
export type Need = 'signed_in' | Right;

/**
 * The callers that a call lets in. `key` and `operator`: the holder of such a key with this scope.
 * `key_or_signature`: the holder of any key, or of a signed address. `signature`: only the holder
 * of a signed address. The handler checks signatures itself.
 */
export type Way =
  | { who: 'anyone' | 'key_or_signature' | 'signature' }
  | { who: 'key'; scope: KeyScope }
  /** `right`: what people need for the same call on the console. */
  | ({ who: 'operator'; scope: Scope; right: OperatorRight } & SpareRule)
  | { who: 'session'; need: Need }
  /** A signed-in operator whose role has this right. */
  | ({ who: 'session'; need: 'operate'; right: OperatorRight } & SpareRule);

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Begins the call's first look-up while its key is still being checked. */
export type Prefetch<Params = unknown> = (req: WithParams<Params>, deps: HttpDeps) => void;

/** A call: where it comes in, who may make it, and what it does. */
export type Row = Way & {
  method: Method;
  path: string;
  /** Whether the path is below /v1. */
  prefixed: boolean;
  shapes: Shapes;
  /** The way has been judged before. */
  handle: CallHandler<FastifyRequest>;
  /** Only for calls of the API, which the OpenAPI document describes. */
  docs?: RouteDocs;
  prefetch?: Prefetch;
};

/** A way in, and the request and dependencies that it gives a handler. */
interface Entrance<Request extends FastifyRequest, Deps extends HttpDeps> {
  way: Way;
  admits: (req: FastifyRequest) => req is Request;
  has: (deps: HttpDeps) => deps is Deps;
}

const all = (_: FastifyRequest): _ is FastifyRequest => true;
const plain = (_: HttpDeps): _ is HttpDeps => true;
const isKeyed = (req: FastifyRequest): req is KeyedRequest => req.caller !== undefined;
const isOperator = (req: FastifyRequest): req is OperatorRequest => req.operator !== undefined;
const ofWeb = (deps: HttpDeps): deps is WebDeps => 'web' in deps;

export const anyone = { way: { who: 'anyone' }, admits: all, has: plain } as const;
/** On the web pages, without a session. */
export const visitor = { way: { who: 'anyone' }, admits: all, has: ofWeb } as const;
export const keyOrSignature = {
  way: { who: 'key_or_signature' },
  admits: all,
  has: plain,
} as const;
export const signature = { way: { who: 'signature' }, admits: all, has: plain } as const;
export const key = (scope: KeyScope): Entrance<KeyedRequest, HttpDeps> => ({
  way: { who: 'key', scope },
  admits: isKeyed,
  has: plain,
});
export const operator = (
  scope: Scope,
  right: OperatorRight = scope,
  spared: SpareRule = {},
): Entrance<OperatorRequest, HttpDeps> => ({
  way: { who: 'operator', scope, right, ...spared },
  admits: isOperator,
  has: plain,
});
/** A signed-in operator whose role has this right. */
export const operate = (
  right: OperatorRight,
  { spares }: SpareRule = {},
): Entrance<OperatorRequest, HttpDeps> => ({
  way: { who: 'session', need: 'operate', right, ...(spares && { spares }) },
  admits: isOperator,
  has: plain,
});
export const person = (need: Need): Entrance<SessionRequest, WebDeps> => ({
  way: { who: 'session', need },
  admits: isSessionRequest,
  has: ofWeb,
});

/**
 * A row of a table. It compiles only if the path has the parameters that the handler needs.
 * `about`: the facts for OpenAPI; only an `operationId`, if no others are needed.
 */
export function row<
  const Path extends string,
  Request extends FastifyRequest,
  Deps extends HttpDeps,
>(
  { way, admits, has }: Entrance<Request, Deps>,
  method: Method,
  path: Path,
  work: Endpoint<Request, Deps, PathParams<Path>> | CallHandler<Request, Deps, PathParams<Path>>,
  about?: RouteDocs | string,
  prefetch?: Prefetch<PathParams<Path>>,
): Row {
  const docs = typeof about === 'string' ? { operationId: about } : about;
  const { shapes, handle } = typeof work === 'function' ? { shapes: {}, handle: work } : work;
  return {
    ...way,
    method,
    path,
    prefixed: false,
    shapes,
    handle: async (req: FastifyRequest, reply: FastifyReply, deps: HttpDeps) => {
      if (!admits(req) || !has(deps)) throw new Error(`${method} ${path} came in another way`);
      return handle(at(path, req), reply, deps);
    },
    ...(docs && { docs }),
    ...(prefetch && { prefetch: (req, deps) => prefetch(at(path, req), deps) }),
  };
}

/** The rows with this in front of their paths. */
export function below(prefix: string, rows: readonly Row[]): Row[] {
  return rows.map((each) => ({ ...each, path: `${prefix}${each.path}` }));
}
