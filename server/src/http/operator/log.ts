import * as operatorLog from '../../db/operator-log.ts';
import { idOf, pageFrom } from '../form.ts';
import {
  anything,
  form,
  id,
  list as listOf,
  named,
  nullable,
  object,
  optional,
  pageWith,
  pageQuery,
  text,
  time,
} from '../schemas/schema.ts';
import { operatorEndpoint } from '../endpoint.ts';

const LogEntry = named(
  'LogEntry',
  object({
    log_id: id(),
    by_email: text(),
    operator_key_id: nullable(id('The operator key that did it, if one did.')),
    action: text(),
    account_id: nullable(id()),
    account_email: nullable(text()),
    target: nullable(text()),
    details: nullable(anything()),
    created_at: time(),
  }),
);

/** GET /operator/log: newest first. */
export const list = operatorEndpoint(
  {
    query: form({
      account_id: optional(text('Only about this account.')),
      by: optional(text('Only by this author, as `by_email` names it.', { maxLength: 300 })),
      action: optional(text('Only of this kind.', { maxLength: 100 })),
      ...pageQuery(50),
    }),
    reply: pageWith(LogEntry, { authors: listOf(text(), 'Everyone who is in the log.') }),
  },
  async ({ query }, { db }) => {
    const { account_id, by = null, action = null, cursor = null, limit } = query;
    const rows = await operatorLog.list(db, {
      account_id: account_id === undefined ? null : idOf(account_id),
      by_email: by,
      action,
      below_id: cursor,
      limit: limit + 1,
    });
    const authors = await operatorLog.authors(db);
    return { ...pageFrom(rows, query, ({ id: log_id, ...row }) => ({ log_id, ...row })), authors };
  },
);
