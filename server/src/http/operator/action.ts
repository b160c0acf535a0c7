import type { Database } from '../../lib/sql/sql.ts';
import {
  runAction,
  type ActionResult,
  type OperatorAction,
} from '../../operations/operator-action.ts';
import type { ParamsOf, PathParams } from '../path.ts';
import {
  endpoint,
  row,
  type Answer,
  type Call,
  type Endpoint,
  type Shapes,
  type VisitRow,
  type WebMethod,
} from '../session/endpoint.ts';
import type { Visit, WebDeps } from '../session/visit.ts';

/**
 * An operator's call either reads, or is an action that leaves a row in the operator's log. Changes
 * can only be added as actions, so none is missing from the log.
 */

/** Runs on the given database, in one transaction with its row of the log. */
type Work<A> = (db: Database) => Promise<ActionResult<A>>;

/** Becomes an endpoint once its name in the log is given. */
export interface Action<Params = unknown> {
  named: (name: OperatorAction) => Endpoint<Visit, Params>;
}

/** `prepare` checks the call outside any transaction and returns the work to do. */
export function action<const S extends Shapes>(
  shapes: S,
  prepare: (call: Call<S>, deps: WebDeps) => Promise<Work<Answer<S>>>,
): Action<ParamsOf<S['params']>> {
  const named = (name: OperatorAction) =>
    endpoint(shapes, async (call, deps) => {
      const { person_id, email } = call.visit.session;
      const work = await prepare(call, deps);
      return runAction(deps.db, { person_id, email }, name, work);
    });
  return { named };
}

export function read<const Path extends string>(
  path: Path,
  handler: Endpoint<Visit, PathParams<Path>>,
): VisitRow {
  return row('GET', path, 'operate', handler);
}

/** `name` is the action's name in the log. */
export function change<const Path extends string>(
  method: Exclude<WebMethod, 'GET'>,
  path: Path,
  name: OperatorAction,
  done: Action<PathParams<Path>>,
): VisitRow {
  return row(method, path, 'operate', done.named(name));
}
