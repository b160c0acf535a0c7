import type { FastifyReply } from 'fastify';
import type { Database } from '../../../lib/sql/sql.ts';
import {
  keyAuthor,
  runAction,
  type ActionResult,
  type Author,
  type OperatorAction,
} from '../../../operations/operator-action.ts';
import type { ApiEndpoint, ApiShapes } from '../../api/endpoint.ts';
import type { HttpDeps, OperatorRequest } from '../../deps.ts';
import type { At, ParamsOf } from '../../path.ts';
import type { Static, TObject, TSchema } from '../../schemas/schema.ts';
import { bodyOf, type Sendable } from '../../schemas/serialize.ts';
import { readForm } from '../../session/visit.ts';
import { readBody, readQuery } from '../../schemas/validate.ts';

/**
 * Calls of the operator's API. A call either reads, or is an action that leaves a row in the
 * operator's log.
 */

/** A call with its query and body, read by their schemas. */
interface OperatorCall<S extends ApiShapes> {
  reply: FastifyReply;
  /** The key of the call, as the operator's log names it. */
  by: Author;
  params: ParamsOf<S['params']>;
  query: S['query'] extends TObject ? Static<S['query']> : undefined;
  body: S['body'] extends TObject ? Static<S['body']> : undefined;
}

type Answer<S extends ApiShapes> = S['reply'] extends TSchema
  ? Sendable<Static<S['reply']>>
  : unknown;

type Endpoint<S extends ApiShapes> = ApiEndpoint<OperatorRequest, ParamsOf<S['params']>>;

export function read<const S extends ApiShapes>(
  shapes: S,
  work: (call: OperatorCall<S>, deps: HttpDeps) => Promise<Answer<S>>,
): Endpoint<S> {
  return {
    shapes,
    handle: async (req, reply, deps) => {
      const call = await callOf(shapes, req, reply, deps);
      return bodyOf(reply, shapes.reply, await work(call, deps));
    },
  };
}

/**
 * `name` is the action's name in the log. `prepare` checks the call outside any transaction and
 * returns the work, which runs in one transaction with its row of the log.
 */
export function action<const S extends ApiShapes>(
  name: OperatorAction,
  shapes: S,
  prepare: (
    call: OperatorCall<S>,
    deps: HttpDeps,
  ) => Promise<(db: Database) => Promise<ActionResult<Answer<S>>>>,
): Endpoint<S> {
  return read(shapes, async (call, deps) => {
    const work = await prepare(call, deps);
    return runAction(deps.db, call.by, name, work);
  });
}

async function callOf<S extends ApiShapes>(
  { query, body }: S,
  req: At<ParamsOf<S['params']>, OperatorRequest>,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<OperatorCall<S>> {
  // Whether query and body were read follows from the shapes, which TypeScript does not see here.
  return {
    reply,
    by: keyAuthor(req.operator),
    params: req.params,
    query: query && readQuery(query, req.query),
    body: body && readBody(body, await readForm(req, deps)),
  } as OperatorCall<S>;
}
