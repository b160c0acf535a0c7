import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpDeps, KeyedRequest } from '../deps.ts';
import type { At, ParamsOf } from '../path.ts';
import type { Static, TObject, TSchema } from '../schemas/schema.ts';
import { bodyOf, type Sendable } from '../schemas/serialize.ts';
import { readQuery } from '../schemas/validate.ts';

/** Request and reply of an API call; the OpenAPI document is made from it. */
export interface ApiShapes {
  /** Names of the path's parameters that the handler needs. */
  params?: readonly string[];
  query?: TObject;
  /** Query parameters that the handler checks by its own rules, such as a link's signature. */
  rawQuery?: TObject;
  /**
   * Describes the body. The handler reads it itself, because a model's input has the model's
   * schema.
   */
  body?: TObject;
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

interface ApiCall<S extends ApiShapes, Request> {
  req: At<ParamsOf<S['params']>, Request>;
  reply: FastifyReply;
  query: S['query'] extends TObject ? Static<S['query']> : undefined;
}

type Answer<S extends ApiShapes> = S['reply'] extends TSchema
  ? Sendable<Static<S['reply']>>
  : unknown;

/** A handler with its schemas. */
export interface ApiEndpoint<Request = KeyedRequest, Params = unknown> {
  shapes: ApiShapes;
  handle: (req: At<Params, Request>, reply: FastifyReply, deps: HttpDeps) => Promise<unknown>;
}

/** A call with a key. */
export function keyedEndpoint<const S extends ApiShapes>(
  shapes: S,
  work: (call: ApiCall<S, KeyedRequest>, deps: HttpDeps) => Promise<Answer<S>>,
): ApiEndpoint<KeyedRequest, ParamsOf<S['params']>> {
  return endpointOf(shapes, work);
}

/** A call that needs no key. */
export function openEndpoint<const S extends ApiShapes>(
  shapes: S,
  work: (call: ApiCall<S, FastifyRequest>, deps: HttpDeps) => Promise<Answer<S>>,
): ApiEndpoint<FastifyRequest, ParamsOf<S['params']>> {
  return endpointOf(shapes, work);
}

function endpointOf<S extends ApiShapes, Request extends FastifyRequest>(
  shapes: S,
  work: (call: ApiCall<S, Request>, deps: HttpDeps) => Promise<Answer<S>>,
): ApiEndpoint<Request, ParamsOf<S['params']>> {
  return {
    shapes,
    handle: async (req, reply, deps) => {
      const query = shapes.query && readQuery(shapes.query, req.query, shapes.rawQuery);
      // Whether a query was read follows from the shapes, which TypeScript does not see here.
      const call = { req, reply, query } as ApiCall<S, Request>;
      return bodyOf(reply, shapes.reply, await work(call, deps));
    },
  };
}
