import * as operatorLog from '../../db/operator-log.ts';
import { idOf, pageFrom, pageOf, parameter } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';

/** GET /log?account_id=&by=&action=&limit=&cursor=: what operators did. */
export const list: VisitHandler = async (visit, _reply, { db }) => {
  const page = pageOf(visit, 50);
  const account_id = parameter(visit, 'account_id');
  const rows = await operatorLog.list(db, {
    account_id: account_id === null ? null : idOf(account_id),
    by_email: parameter(visit, 'by'),
    action: parameter(visit, 'action', 100),
    below_id: page.cursor,
    limit: page.limit + 1,
  });
  const authors = await operatorLog.authors(db);
  return { ...pageFrom(rows, page, shown), authors };
};

function shown(row: operatorLog.LogRow) {
  return {
    log_id: row.id,
    by_email: row.by_email,
    action: row.action,
    account_id: row.account_id,
    account_email: row.account_email,
    target: row.target,
    details: row.details,
    created_at: row.created_at.toISOString(),
  };
}
