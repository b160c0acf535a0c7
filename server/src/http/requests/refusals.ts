import { errors, type ErrorCode } from '../../core/errors.ts';
import * as refusals from '../../db/accounts/refusals.ts';
import { keysOf } from '../../lib/records.ts';
import { keyedEndpoint, operatorEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';

/** Refused calls of the last seven days, newest first: of an account, or of all. */

const refusal = {
  call_id: s.text('The `x-request-id` of the reply.'),
  at: s.time(),
  key_id: s.id('The key of the call.'),
  model_id: s.nullable(s.text('The model that the call named; null if it named none that exists.')),
  path: s.text('The path, with `*` and `:name` for what is not an id of this service.'),
  status: s.integer('HTTP status of the reply, or of the error in a stream.'),
  code: s.text('`error.code` of the reply.'),
  reason: s.nullable(s.text('`error.details.reason` of the reply.')),
};

const Refusal = s.namedObject('Refusal', refusal);
const AccountRefusal = s.namedObject('AccountRefusal', {
  ...refusal,
  account_id: s.id(),
  account_email: s.nullable(s.text()),
});

/** The codes of refusals that a caller can do something about. */
export const refusalCodes = keysOf(errors).filter((code) => errors[code].status < 500);

const filters = {
  from: s.optional(s.moment('Only calls at this moment or later.')),
  to: s.optional(s.moment('Only calls before this moment.')),
  code: s.optional(s.choice(refusalCodes, 'Only with this code.')),
  model_id: s.optional(s.text('Only calls of this model.', { minLength: 1, maxLength: 300 })),
};

interface RefusalQuery {
  from?: string;
  to?: string;
  code?: ErrorCode;
  model_id?: string;
  key_id?: string;
  limit: number;
  cursor?: string;
}

/** `account_id`: null for all accounts. */
function filterOf(account_id: string | null, asked: RefusalQuery): refusals.RefusalFilter {
  const { from, to, code = null, model_id = null, key_id = null, cursor = null, limit } = asked;
  return {
    account_id,
    code,
    model_id,
    key_id,
    from: from === undefined ? null : new Date(from),
    to: to === undefined ? null : new Date(to),
    below_id: cursor,
    limit: limit + 1,
  };
}

export function refusalView({ id: _, created_at: at, ...row }: refusals.ListedRefusal) {
  return { ...row, at };
}

/** GET /refusals */
export const list = keyedEndpoint(
  {
    query: s.form({
      ...filters,
      key_id: s.optional(s.id('Only calls with this key.')),
      ...s.pageQuery(20),
    }),
    reply: s.pageOf(Refusal),
  },
  async ({ req, query }, { db }) => {
    const rows = await refusals.list(db, filterOf(req.caller.account_id, query));
    return pageFrom(rows, query, refusalView);
  },
);

/** GET /operator/refusals: refused calls of all accounts. */
export const listAll = operatorEndpoint(
  {
    query: s.form({
      account_id: s.optional(s.text('Only of this account.')),
      key_id: s.optional(s.text('Only with this key.')),
      ...filters,
      ...s.pageQuery(25),
    }),
    reply: s.pageOf(AccountRefusal),
  },
  async ({ query }, { db }) => {
    const { account_id, key_id, ...rest } = query;
    const asked = { ...rest, ...(key_id !== undefined && { key_id: requireId(key_id) }) };
    const account = account_id === undefined ? null : requireId(account_id);
    return pageFrom(await refusals.list(db, filterOf(account, asked)), query, refusalView);
  },
);
