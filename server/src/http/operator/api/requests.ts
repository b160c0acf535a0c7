import { statuses } from '../../../core/request/request.ts';
import { callIdAsked } from '../../api/requests.ts';
import { idOf } from '../../form.ts';
import {
  choice,
  id,
  moment,
  named,
  form,
  object,
  optional,
  pageOf,
  pageQuery,
  text,
} from '../../schemas/schema.ts';
import { pageOfRequests, RequestMargin } from '../requests.ts';
import { anyRequest } from '../../../db/requests/request-pages.ts';
import { operatorEndpoint } from '../../endpoint.ts';

const AnyRequest = named(
  'AnyRequest',
  object({ ...RequestMargin.properties, account_id: id(), key_id: id() }),
);

/** GET /operator/requests: requests of all accounts. */
export const list = operatorEndpoint(
  {
    query: form({
      account_id: optional(text('Only of this account.')),
      status: optional(choice(statuses, 'Only in this state.')),
      model_id: optional(text('Only of this model.', { maxLength: 300 })),
      key_id: optional(text('Only of this key.')),
      upstream: optional(text('Only at this upstream.', { maxLength: 300 })),
      call_id: optional(callIdAsked),
      from: optional(moment('Submitted at this time or later.')),
      to: optional(moment('Submitted before this time.')),
      ...pageQuery(25),
    }),
    reply: pageOf(AnyRequest),
  },
  ({ query }, { db }) => {
    const { account_id, status = null, model_id = null, key_id, upstream = null, from, to } = query;
    const filter = {
      ...anyRequest,
      account_id: account_id === undefined ? null : idOf(account_id),
      status,
      model_id,
      key_id: key_id === undefined ? null : idOf(key_id),
      upstream,
      call_id: query.call_id?.trim() ?? null,
      from_ms: from === undefined ? null : Date.parse(from),
      to_ms: to === undefined ? null : Date.parse(to),
    };
    return pageOfRequests(db, filter, query);
  },
);
