import * as operatorLog from '../../db/operator-log.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { operatorEndpoint } from '../endpoint.ts';

const LogEntry = s.namedObject('LogEntry', {
  log_id: s.id(),
  by_email: s.text(),
  operator_key_id: s.nullable(s.id('The operator key that did it, if one did.')),
  action: s.text(),
  account_id: s.nullable(s.id()),
  account_email: s.nullable(s.text()),
  account_name: s.nullable(s.text()),
  target: s.nullable(s.text()),
  details: s.nullable(s.anything()),
  created_at: s.time(),
});

/** GET /operator/log: newest first. */
export const list = operatorEndpoint(
  {
    query: s.form({
      account_id: s.optional(s.text('Only about this account.')),
      by: s.optional(s.text('Only by this author, as `by_email` names it.', { maxLength: 300 })),
      action: s.optional(s.text('Only of this kind.', { maxLength: 100 })),
      ...s.pageQuery(50),
    }),
    reply: s.pageWith(LogEntry, { authors: s.list(s.text(), 'Everyone who is in the log.') }),
  },
  async ({ query }, { db }) => {
    const { account_id, by = null, action = null, cursor = null, limit } = query;
    const rows = await operatorLog.list(db, {
      account_id: account_id === undefined ? null : requireId(account_id),
      by_email: by,
      action,
      below_id: cursor,
      limit: limit + 1,
    });
    const authors = await operatorLog.listAuthors(db);
    return { ...pageFrom(rows, query, ({ id: log_id, ...row }) => ({ log_id, ...row })), authors };
  },
);
