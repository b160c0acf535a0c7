import { ApiError } from '../../core/errors.ts';
import { statuses } from '../../core/request/request.ts';
import * as sent from '../../db/deliveries.ts';
import { findInput, findWhole, withMargins, type MarginRow } from '../../db/margins.ts';
import { idsBelow, reach } from '../../db/request-pages.ts';
import { attemptsOf, type AttemptRow } from '../../db/requests.ts';
import { redact } from '../../lib/log.ts';
import { optionalOneOf, type Query } from '../query.ts';
import { idOf, pageOf } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Visit } from '../session/visit.ts';

/** Requests with upstream, cost and margin, which customers never see. */

/** Requests that one call looks at for those that fit; where few do, the page asks on. */
const lookMax = 100_000;
const anyTime = { from_ms: null, to_ms: null, first_id: null, last_id: null };

/** GET /accounts/:account_id/requests?status=&limit=&cursor= */
export const list: VisitHandler = async (visit, _reply, { db }) => {
  const { limit, cursor: below_id } = pageOf(visit);
  const account_id = idOf(params(visit).account_id);
  const status = optionalOneOf(visit.query as Query, 'status', statuses);
  const filter = { account_id, status, model_id: null, key_id: null, ...anyTime };
  const bounds = { below_id, limit: limit + 1, look: lookMax };
  const ids = await idsBelow(db, filter, bounds);
  const shown = ids.slice(0, limit);
  const more = ids.length > limit;
  const next = more ? shown.at(-1) : (await reach(db, filter, bounds))?.id;
  const rows = await withMargins(db, shown);
  return { data: rows.map(marginShown), next_cursor: next ?? null };
};

function marginShown(row: MarginRow) {
  const { charged_usd_micro: charged, cost_usd_micro: cost } = row;
  return {
    request_id: row.id,
    model_id: row.model_id,
    kind: row.kind,
    upstream: row.upstream,
    status: row.status,
    quoted_usd_micro: String(row.quoted_usd_micro),
    charged_usd_micro: charged === null ? null : String(charged),
    cost_usd_micro: cost === null ? null : String(cost),
    margin_usd_micro: charged === null || cost === null ? null : String(charged - cost),
    error_code: row.error_code,
    created_at: row.created_at.toISOString(),
    completed_at: time(row.completed_at),
  };
}

/** GET /requests/:request_id: one of any account. What was asked and answered is not in it. */
export const read: VisitHandler = async (visit, _reply, { db }) => {
  const id = idOf(params(visit).request_id);
  const [row, attempts, deliveries] = await Promise.all([
    findWhole(db, id),
    attemptsOf(db, id),
    sent.ofRequest(db, id),
  ]);
  if (row === null) throw new ApiError('not_found');
  const { key_id, key_name: name, key_prefix: prefix, key_last4: last4, webhook_url: url } = row;
  return {
    ...marginShown(row),
    account_id: row.account_id,
    email: row.email,
    key: { key_id, name, prefix, last4 },
    upstream_model: row.upstream_model,
    quote: row.quote,
    delivered_quantity: row.quantity,
    error_message: row.error_message,
    error_cause: safe(row.error_cause),
    started_at: time(row.started_at),
    deadline_at: time(row.deadline_at),
    expires_at: time(row.expires_at),
    cleared_at: time(row.cleared_at),
    progress: row.progress,
    outputs: row.outputs,
    attempts: attempts.map(attemptShown),
    // The path or query of a receiver may be its password.
    webhook: url === null ? null : { origin: new URL(url).origin, state: row.webhook_state },
    deliveries: deliveries.map(({ cause, status, error, duration_ms, created_at }) => {
      const at = created_at.toISOString();
      return { cause, status, error: safe(error), duration_ms, at };
    }),
  };
};

function attemptShown(row: AttemptRow) {
  return {
    attempt: row.attempt,
    upstream: row.upstream,
    key: row.key,
    class: row.class,
    outcome: row.outcome,
    handle: row.handle === null ? null : safe(JSON.stringify(row.handle)),
    message: safe(row.message),
    at: row.created_at.toISOString(),
    answered_at: time(row.answered_at),
    left_at: time(row.left_at),
    cost_usd_micro: row.cost_usd_micro === null ? null : String(row.cost_usd_micro),
  };
}

/** GET /requests/:request_id/input: by itself, so that nobody sees it who does not ask for it. */
export const input: VisitHandler = async (visit, _reply, { db }) => {
  const found = await findInput(db, idOf(params(visit).request_id));
  if (found === null) throw new ApiError('not_found');
  return found;
};

function time(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}

/** What an upstream or a receiver said may repeat a key. */
function safe(said: string | null): string | null {
  return said === null ? null : redact(said);
}

function params(visit: Visit): Record<string, unknown> {
  return visit.params as Record<string, unknown>;
}
