import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../lib/sql/sql.ts';
import {
  runAction,
  type ActionResult,
  type Author,
  type OperatorAction,
} from '../operations/operator-action.ts';
import type { HttpDeps, KeyedRequest, OperatorRequest } from './deps.ts';
import type { WithParams, ParamsOf } from './path.ts';
import type { Static, TObject, TSchema } from './schemas/schema.ts';
import { bodyOf, type Serializable } from './schemas/serialize.ts';
import { readBody, readQuery } from './schemas/validate.ts';
import { readJsonForm } from './json-form.ts';
import type { SessionRequest, WebDeps } from './session/session-request.ts';

/**
 * Request and reply of a call. The OpenAPI document, the client's types and the types of the web
 * pages are made from them.
 */
export interface Shapes {
  /** Names of the path's parameters that the handler needs. */
  params?: readonly string[];
  query?: TObject;
  /** Query parameters that the handler checks by its own rules, such as a link's signature. */
  rawQuery?: TObject;
  body?: TObject;
  /** A body that the handler reads itself: a model's input has the model's schema. */
  rawBody?: TObject;
  /** If this is left out, the handler sends its reply itself. */
  reply?: TSchema;
  /** Used instead of `reply`: describes the JSON that the handler writes itself. */
  written?: TSchema;
  /** `data` of each event, if the reply can be a stream. */
  events?: TSchema;
  /** Body of each error, if it is not the usual one. */
  failure?: TSchema;
  /** Body of the later call to a webhook. */
  webhook?: TSchema;
}

/** A call with its query and body, read by their schemas. `Request` says who made it. */
interface Call<S extends Shapes, Request> {
  req: WithParams<ParamsOf<S['params']>, Request>;
  reply: FastifyReply;
  params: ParamsOf<S['params']>;
  query: S['query'] extends TObject ? Static<S['query']> : undefined;
  body: S['body'] extends TObject ? Static<S['body']> : undefined;
}

type Answer<S extends Shapes> = S['reply'] extends TSchema
  ? Serializable<Static<S['reply']>>
  : unknown;

/** Answers a call, or sends its reply itself. */
export type CallHandler<Request, Deps = HttpDeps, Params = unknown> = (
  req: WithParams<Params, Request>,
  reply: FastifyReply,
  deps: Deps,
) => Promise<unknown>;

/** A handler with its schemas. */
export interface Endpoint<Request, Deps = HttpDeps, Params = unknown> {
  shapes: Shapes;
  handle: CallHandler<Request, Deps, Params>;
}

/** Makes endpoints for calls of one kind of caller. */
function endpointFor<Request extends FastifyRequest, Deps extends HttpDeps>() {
  return <const S extends Shapes>(
    shapes: S,
    work: (call: Call<S, Request>, deps: Deps) => Promise<Answer<S>>,
  ): Endpoint<Request, Deps, ParamsOf<S['params']>> => ({
    shapes,
    handle: async (req, reply, deps) => {
      const { query, rawQuery, body } = shapes;
      const call = {
        req,
        reply,
        params: req.params,
        query: query && readQuery(query, req.query, rawQuery),
        body: body && readBody(body, await readJsonForm(req, deps)),
      };
      // The shapes decide which of these were read, which TypeScript does not see here.
      return bodyOf(reply, shapes.reply, await work(call as Call<S, Request>, deps));
    },
  });
}

/** A call that needs neither key nor session. */
export const openEndpoint = endpointFor<FastifyRequest, HttpDeps>();
/** A call of the web pages that needs no session. */
export const openPageEndpoint = endpointFor<FastifyRequest, WebDeps>();
/** A call with a key. */
export const keyedEndpoint = endpointFor<KeyedRequest, HttpDeps>();
/** A call of someone who is signed in. */
export const sessionEndpoint = endpointFor<SessionRequest, WebDeps>();
/** A call of the operator's API. */
export const operatorEndpoint = endpointFor<OperatorRequest, HttpDeps>();

/**
 * Makes an action: a call that leaves a row of this name in the operator's log. `prepare` checks
 * the call outside any transaction and returns the work, which runs in one transaction with that
 * row.
 */
export function operatorAction<const S extends Shapes>(
  name: OperatorAction,
  shapes: S,
  prepare: (
    call: Call<S, OperatorRequest> & { by: Author },
    deps: HttpDeps,
  ) => Promise<(db: Database) => Promise<ActionResult<Answer<S>>>>,
): Endpoint<OperatorRequest, HttpDeps, ParamsOf<S['params']>> {
  return operatorEndpoint(shapes, async (call, deps) => {
    const { by } = call.req.operator;
    return runAction(deps.db, by, name, await prepare({ ...call, by }, deps));
  });
}
