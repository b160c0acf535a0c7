import { ApiError } from '../../core/errors.ts';
import { callNumbers as numbersOf } from '../../core/request/views.ts';
import { statuses } from '../../core/request/request.ts';
import * as sent from '../../db/requests/deliveries.ts';
import { findInput, findFull, withMargins, type MarginRow } from '../../db/accounts/margins.ts';
import {
  anyRequest,
  nextBelow,
  pageBelow,
  type PageFilter,
} from '../../db/requests/request-pages.ts';
import { attemptsOf } from '../../db/requests/request-lists.ts';
import { redact } from '../../lib/log.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { callNumbers } from '../api/request-schema.ts';
import { Estimate } from '../api/model-schema.ts';
import { idOf } from '../form.ts';
import {
  anything,
  choice,
  id,
  integer,
  list as listOf,
  microUsd,
  named,
  nullable,
  number,
  object,
  openObject,
  optional,
  pageOf,
  pageQuery,
  signedMicroUsd,
  text,
  time,
} from '../schemas/schema.ts';
import { visitEndpoint } from '../endpoint.ts';

/** Requests with upstream, cost and margin, which customers never see. */

export const RequestMargin = named(
  'RequestMargin',
  object({
    request_id: id(),
    model_id: text(),
    kind: choice(['video', 'image', 'text']),
    upstream: text(),
    status: choice(statuses),
    quoted_usd_micro: microUsd(),
    charged_usd_micro: nullable(microUsd()),
    refunded_usd_micro: microUsd('The part of the charge that was given back.'),
    cost_usd_micro: nullable(microUsd('Null: not known.')),
    margin_usd_micro: nullable(signedMicroUsd()),
    error_code: nullable(text()),
    created_at: time(),
    completed_at: nullable(time()),
    ...callNumbers,
  }),
);

const UpstreamAttempt = named(
  'UpstreamAttempt',
  object({
    attempt: integer(),
    upstream: text(),
    key: nullable(text('The key with which the upstream was called, if the upstream has several.')),
    class: text(),
    outcome: nullable(text()),
    handle: nullable(text()),
    message: nullable(text()),
    at: time(),
    answered_at: nullable(time()),
    left_at: nullable(time()),
    cost_usd_micro: nullable(microUsd()),
  }),
);

const OperatorRequest = named(
  'OperatorRequest',
  object({
    ...RequestMargin.properties,
    account_id: id(),
    email: text(),
    key: object({ key_id: id(), name: text(), prefix: text(), last4: text() }),
    upstream_model: nullable(text()),
    quote: openObject({ breakdown: Estimate.properties.breakdown }),
    delivered_quantity: nullable(number()),
    tokens: nullable(
      object({
        input_tokens: integer(),
        output_tokens: integer(),
        cached_tokens: integer('The part of `input_tokens` that was read from a cache.'),
        reasoning_tokens: integer('The part of `output_tokens` that was reasoning.'),
      }),
    ),
    error_message: nullable(text()),
    error_cause: nullable(text('Null if the caller saw the same message.')),
    started_at: nullable(time()),
    deadline_at: nullable(time()),
    expires_at: nullable(time()),
    cleared_at: nullable(time('When the input and the answer were deleted.')),
    progress: nullable(number('From 0 to 1.')),
    outputs: integer(),
    attempts: listOf(UpstreamAttempt),
    webhook: nullable(
      object({
        // The path or query of a receiver may be its password.
        origin: text(),
        state: nullable(choice(['pending', 'delivered', 'failed'])),
      }),
    ),
    deliveries: listOf(
      object({
        cause: text(),
        status: nullable(integer()),
        error: nullable(text()),
        duration_ms: integer(),
        at: time(),
      }),
    ),
  }),
);

/** GET /accounts/:account_id/requests */
export const list = visitEndpoint(
  {
    params: ['account_id'],
    query: object({ status: optional(choice(statuses)), ...pageQuery(25) }),
    reply: pageOf(RequestMargin),
  },
  async ({ params, query }, { db }) => {
    const account_id = idOf(params.account_id);
    const { status = null } = query;
    return pageOfRequests(db, { ...anyRequest, account_id, status }, query);
  },
);

/** A page of requests with their margins, newest first. */
export async function pageOfRequests(
  db: Database,
  filter: PageFilter,
  { cursor, limit }: { cursor?: string; limit: number },
) {
  const page = await pageBelow(db, filter, { below_id: cursor ?? null, limit });
  const rows = await withMargins(db, page.ids);
  return { data: rows.map(view), next_cursor: nextBelow(page) };
}

function view<Row extends MarginRow>(row: Row) {
  const { id: request_id, charged_usd_micro: charged, cost_usd_micro: cost }: MarginRow = row;
  const margin_usd_micro =
    charged === null || cost === null ? null : charged - row.refunded_usd_micro - cost;
  return { ...row, request_id, margin_usd_micro, ...numbersOf(row) };
}

/** GET /requests/:request_id: a request of any account, without its input and output. */
export const read = visitEndpoint(
  { params: ['request_id'], reply: OperatorRequest },
  async ({ params }, { db }) => {
    const id = idOf(params.request_id);
    const [row, attempts, deliveries] = await Promise.all([
      findFull(db, id),
      attemptsOf(db, id),
      sent.newestOf(db, id),
    ]);
    if (row === null) throw new ApiError('not_found');
    const { key_id, key_name: name, key_prefix: prefix, key_last4: last4, webhook_url: url } = row;
    return {
      ...view(row),
      key: { key_id, name, prefix, last4 },
      delivered_quantity: row.quantity,
      // The message of an upstream or a receiver may contain a key.
      error_cause: row.error_cause && redact(row.error_cause),
      attempts: attempts.map(({ created_at: at, handle, message, ...attempt }) => ({
        ...attempt,
        at,
        handle: handle && redact(JSON.stringify(handle)),
        message: message && redact(message),
      })),
      webhook: url === null ? null : { origin: new URL(url).origin, state: row.webhook_state },
      deliveries: deliveries.map(({ created_at: at, error, ...delivery }) => {
        return { ...delivery, at, error: error && redact(error) };
      }),
    };
  },
);

/**
 * GET /requests/:request_id/input: a separate call, so that an operator sees an input only on
 * purpose.
 */
export const input = visitEndpoint(
  { params: ['request_id'], reply: object({ input: nullable(anything()) }) },
  async ({ params }, { db }) => {
    const found = await findInput(db, idOf(params.request_id));
    if (found === null) throw new ApiError('not_found');
    return found;
  },
);
