import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from '../schema.ts';
import { bodyOf, type Sendable } from '../serialize.ts';
import { readBody, readQuery } from '../validate.ts';
import { readForm, type Visit, type WebDeps } from './visit.ts';

/** What a call of the web pages takes and answers; the pages' types are made from it. */
export interface Shapes {
  query?: TObject;
  body?: TObject;
  /** Left out: the handler sends its reply itself. */
  reply?: TSchema;
}

/** A call, its query and body read by their schemas. */
export interface Call<S extends Shapes, Request = Visit> {
  visit: Request;
  reply: FastifyReply;
  /** Of the path. */
  params: Record<string, string>;
  query: S['query'] extends TObject ? Static<S['query']> : undefined;
  body: S['body'] extends TObject ? Static<S['body']> : undefined;
}

export type Answer<S extends Shapes> = S['reply'] extends TSchema
  ? Sendable<Static<S['reply']>>
  : unknown;

/** A handler with its schemas. */
export interface Endpoint<Request = Visit> {
  shapes: Shapes;
  handle: (visit: Request, reply: FastifyReply, deps: WebDeps) => Promise<unknown>;
}

/** A call of someone who is signed in. */
export function endpoint<const S extends Shapes>(
  shapes: S,
  work: (call: Call<S>, deps: WebDeps) => Promise<Answer<S>>,
): Endpoint {
  return endpointOf(shapes, work);
}

/** A call that anyone may make. */
export function openEndpoint<const S extends Shapes>(
  shapes: S,
  work: (call: Call<S, FastifyRequest>, deps: WebDeps) => Promise<Answer<S>>,
): Endpoint<FastifyRequest> {
  return endpointOf(shapes, work);
}

function endpointOf<S extends Shapes, Request extends FastifyRequest>(
  shapes: S,
  work: (call: Call<S, Request>, deps: WebDeps) => Promise<Answer<S>>,
): Endpoint<Request> {
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
  visit: Request,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<Call<S, Request>> {
  return {
    visit,
    reply,
    params: visit.params,
    query: query && readQuery(query, visit.query),
    body: body && readBody(body, await readForm(visit, deps)),
  } as Call<S, Request>;
}
