import type { Database } from '../../lib/sql.ts';
import { act, type Done } from '../../operations/act.ts';
import { inWords } from '../session/entry.ts';
import type { VisitHandler, VisitRow, WebMethod } from '../session/routes.ts';
import { readForm, type Visit, type WebDeps } from '../session/visit.ts';

/**
 * The operator's calls are looks, which change nothing, and deeds, each of which leaves a row in
 * the log. A call that changes something can be made here in no other way, so none is forgotten.
 */

/** Path below /api/operator. */
export type Look = [string, VisitHandler];

/**
 * Judges a call, outside any transaction, and gives back what is to be done: that runs in one
 * transaction with its row of the log, with the database that it is given.
 */
export type Deed = (
  form: Record<string, unknown>,
  visit: Visit,
  deps: WebDeps,
) => Promise<(db: Database) => Promise<Done>>;

/** Method, path, what the log calls it, and how it is done. */
export type DeedRow = [Exclude<WebMethod, 'GET'>, string, string, Deed];

export function operatorRows(looks: readonly Look[], deeds: readonly DeedRow[]): VisitRow[] {
  return [
    ...looks.map(([path, handler]): VisitRow => ['GET', path, 'operate', handler]),
    ...deeds.map(([method, path, action, deed]): VisitRow => {
      return [method, path, 'operate', logged(action, deed)];
    }),
  ];
}

function logged(action: string, deed: Deed): VisitHandler {
  return async (visit, _reply, deps) => {
    const { person_id, email } = visit.session;
    const done = async () => {
      const work = await deed(await readForm(visit, deps), visit, deps);
      return act(deps.db, { person_id, email }, action, work);
    };
    return inWords(done());
  };
}
