import { costMaxUsdMicro } from '../../core/cost.ts';
import { ApiError } from '../../core/errors.ts';
import * as resolutions from '../../db/resolutions.ts';
import { redact } from '../../lib/log.ts';
import { resolveOutcome } from '../../operations/unknown-outcome.ts';
import { text } from '../web/entry.ts';
import { choice, idOf, optional, pageFrom, pageOf, parameter, signedAmount } from '../web/form.ts';
import type { VisitHandler } from '../web/routes.ts';
import type { Deed } from './deed.ts';

/** Requests of which nobody knows whether their upstream ran them, or to what cost. */

const states = { open: false, resolved: true, all: null } as const;

/** GET /unknown?state=open|resolved|all&limit=&cursor=: those that ended so, and those that wait. */
export const list: VisitHandler = async (visit, _reply, { db }) => {
  const page = pageOf(visit, 25);
  const state = parameter(visit, 'state') ?? 'open';
  if (!Object.hasOwn(states, state)) {
    const message = `state must be one of ${Object.keys(states).join(', ')}.`;
    throw new ApiError('bad_request', { message, param: 'state' });
  }
  const resolved = states[state as keyof typeof states];
  const filter = { resolved, below_id: page.cursor, limit: page.limit + 1 };
  const [rows, waiting, open] = await Promise.all([
    resolutions.ended(db, filter),
    page.cursor === null ? resolutions.waiting(db) : [],
    resolutions.countOpen(db),
  ]);
  return { ...pageFrom(rows, page, shown), waiting: waiting.map(shown), open };
};

function shown(row: resolutions.UnknownRow) {
  const time = (at: Date | null) => at?.toISOString() ?? null;
  const safe = (said: string | null) => (said === null ? null : redact(said));
  return {
    request_id: row.id,
    account_id: row.account_id,
    email: row.email,
    model_id: row.model_id,
    kind: row.kind,
    upstream: row.upstream,
    status: row.status,
    error_code: row.error_code,
    quoted_usd_micro: String(row.quoted_usd_micro),
    cost_usd_micro: row.cost_usd_micro === null ? null : String(row.cost_usd_micro),
    error_message: row.error_message,
    attempt: row.attempt,
    class: row.class,
    handle: row.handle === null ? null : (safe(JSON.stringify(row.handle)) as string),
    message: safe(row.message),
    attempted_at: time(row.attempted_at),
    created_at: row.created_at.toISOString(),
    started_at: time(row.started_at),
    deadline_at: time(row.deadline_at),
    completed_at: time(row.completed_at),
    resolution:
      row.resolved === null
        ? null
        : {
            outcome: row.resolved,
            note: row.note,
            by_email: row.by_email,
            resolved_at: time(row.resolved_at),
          },
  };
}

/** POST /unknown/:request_id/resolve {outcome: ran|did_not_run, cost_usd_micro?, note?} */
export const resolve: Deed = async (form, visit, _deps) => {
  const request_id = idOf((visit.params as Record<string, unknown>).request_id);
  const outcome = choice(form, 'outcome', ['ran', 'did_not_run']);
  const cost = outcome === 'ran' ? costIn(form) : 0n;
  const note = optional(form, 'note', (of, name) => text(of, name, 1_000));
  const { person_id, email } = visit.session;
  return async (db) => {
    const finding = { request_id, outcome, cost, note };
    const done = await resolveOutcome(db, { person_id, email }, finding);
    if (done === null) throw new ApiError('not_found');
    const found = { outcome, cost_usd_micro: String(cost) };
    const { account_id } = done;
    return { answer: { request_id, ...found }, account_id, target: request_id, details: found };
  };
};

function costIn(form: Record<string, unknown>): bigint {
  const cost = signedAmount(form, 'cost_usd_micro');
  if (cost >= 0n && cost <= costMaxUsdMicro) return cost;
  const message = `cost_usd_micro must be from 0 to ${costMaxUsdMicro}.`;
  throw new ApiError('bad_request', { message, param: 'cost_usd_micro' });
}
