import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Right } from '../../core/account/role.ts';
import { at, type At, type ParamsOf, type PathParams } from '../path.ts';
import type { Static, TObject, TSchema } from '../schemas/schema.ts';
import { bodyOf, type Sendable } from '../schemas/serialize.ts';
import { readBody, readQuery } from '../schemas/validate.ts';
import { readForm, type Visit, type WebDeps } from './visit.ts';

/** Request and reply of a call of the web pages; the pages' types are made from it. */
export interface Shapes {
  /** Names of the path's parameters that the handler needs. */
  params?: readonly string[];
  query?: TObject;
  body?: TObject;
  /** If this is left out, the handler sends its reply itself. */
  reply?: TSchema;
}

/** A call with its query and body, read by their schemas. */
export interface Call<S extends Shapes, Request = Visit> {
  visit: Request;
  reply: FastifyReply;
  params: ParamsOf<S['params']>;
  query: S['query'] extends TObject ? Static<S['query']> : undefined;
  body: S['body'] extends TObject ? Static<S['body']> : undefined;
}

export type Answer<S extends Shapes> = S['reply'] extends TSchema
  ? Sendable<Static<S['reply']>>
  : unknown;

/** A handler with its schemas. */
export interface Endpoint<Request = Visit, Params = unknown> {
  shapes: Shapes;
  handle: (visit: At<Params, Request>, reply: FastifyReply, deps: WebDeps) => Promise<unknown>;
}

/** A handler without schemas: it answers with bytes or a stream. */
export type VisitHandler<Params = unknown> = Endpoint<Visit, Params>['handle'];

/**
 * The people who may make a call: anyone; any signed-in person; people with this right to the
 * account that the path names; operators.
 */
export type Need = 'anyone' | 'signed_in' | Right | 'operate';
export type WebMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** The path is below the prefix that `webRoutes` gives to its table, such as /api/operator. */
export type VisitRow = [WebMethod, string, Exclude<Need, 'anyone'>, VisitHandler | Endpoint];

/** A row of a table. It compiles only if the path has the parameters that the handler needs. */
export function row<const Path extends string>(
  method: WebMethod,
  path: Path,
  need: VisitRow[2],
  handler: VisitHandler<PathParams<Path>> | Endpoint<Visit, PathParams<Path>>,
): VisitRow {
  if (typeof handler === 'function')
    return [method, path, need, (visit, ...rest) => handler(at(path, visit), ...rest)];
  const { shapes, handle } = handler;
  const called: Endpoint = { shapes, handle: (visit, ...rest) => handle(at(path, visit), ...rest) };
  return [method, path, need, called];
}

/** A call of someone who is signed in. */
export function endpoint<const S extends Shapes>(
  shapes: S,
  work: (call: Call<S>, deps: WebDeps) => Promise<Answer<S>>,
): Endpoint<Visit, ParamsOf<S['params']>> {
  return endpointOf(shapes, work);
}

/** A call that anyone may make. */
export function openEndpoint<const S extends Shapes>(
  shapes: S,
  work: (call: Call<S, FastifyRequest>, deps: WebDeps) => Promise<Answer<S>>,
): Endpoint<FastifyRequest, ParamsOf<S['params']>> {
  return endpointOf(shapes, work);
}

function endpointOf<S extends Shapes, Request extends FastifyRequest>(
  shapes: S,
  work: (call: Call<S, Request>, deps: WebDeps) => Promise<Answer<S>>,
): Endpoint<Request, ParamsOf<S['params']>> {
  return {
    shapes,
    handle: async (visit, reply, deps) => {
      const call = await readCall(shapes, visit, reply, deps);
      return bodyOf(reply, shapes.reply, await work(call, deps));
    },
  };
}

async function readCall<S extends Shapes, Request extends FastifyRequest>(
  { query, body }: S,
  visit: At<ParamsOf<S['params']>, Request>,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<Call<S, Request>> {
  // Whether query and body were read follows from the shapes, which TypeScript does not see here.
  return {
    visit,
    reply,
    params: visit.params,
    query: query && readQuery(query, visit.query),
    body: body && readBody(body, await readForm(visit, deps)),
  } as Call<S, Request>;
}
