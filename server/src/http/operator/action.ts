import type { Database } from '../../lib/sql/sql.ts';
import { runAction, type ActionResult } from '../../operations/operator-action.ts';
import {
  endpoint,
  type Answer,
  type Call,
  type Endpoint,
  type Shapes,
} from '../session/endpoint.ts';
import { inWords } from '../session/entry.ts';
import type { VisitRow, WebMethod } from '../session/routes.ts';
import type { WebDeps } from '../session/visit.ts';

/**
 * An operator's calls either read, or are actions that leave a row in the operator's log. A call
 * that changes something cannot be added in another way, so none is forgotten there.
 */

/** Path below /api/operator. */
type ReadRow = [string, Endpoint];

/** Runs in one transaction with its row of the log, on the database that it is given. */
type Work<A> = (db: Database) => Promise<ActionResult<A>>;

/** Becomes an endpoint once its name in the log is known. */
export interface Action {
  named: (name: string) => Endpoint;
}

/** `prepare` checks the call outside any transaction and returns what is to be done. */
export function action<const S extends Shapes>(
  shapes: S,
  prepare: (call: Call<S>, deps: WebDeps) => Promise<Work<Answer<S>>>,
): Action {
  const named = (name: string): Endpoint =>
    endpoint(shapes, (call, deps) => {
      const { person_id, email } = call.visit.session;
      const done = async () => {
        const work = await prepare(call, deps);
        return runAction(deps.db, { person_id, email }, name, work);
      };
      return inWords(done());
    });
  return { named };
}

/** Method, path, what the log calls it, and the action. */
export type ActionRow = [Exclude<WebMethod, 'GET'>, string, string, Action];

export function operatorRows(reads: readonly ReadRow[], actions: readonly ActionRow[]): VisitRow[] {
  return [
    ...reads.map(([path, read]): VisitRow => ['GET', path, 'operate', read]),
    ...actions.map(([method, path, name, each]): VisitRow => {
      return [method, path, 'operate', each.named(name)];
    }),
  ];
}
