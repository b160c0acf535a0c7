import { costMaxUsdMicro } from '../../core/price/cost.ts';
import { ApiError } from '../../core/errors.ts';
import * as resolutions from '../../db/resolutions.ts';
import type { OutcomeId } from '../../db/revenue.ts';
import { isUuid, timeOfId } from '../../lib/id.ts';
import { redact } from '../../lib/log.ts';
import { resolveOutcome, resolveOutcomes, type Finding } from '../../operations/unknown-outcome.ts';
import { text } from '../session/entry.ts';
import {
  choice,
  idOf,
  moment,
  optional,
  pageFrom,
  pageOf,
  parameter,
  signedAmount,
  whole,
} from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Deed } from './action.ts';

/**
 * Outcomes that nobody knows: of requests, and of their starts that were left for the next route.
 */

const states = { open: false, resolved: true, all: null } as const;

/**
 * GET /unknown?state=open|resolved|all&upstream=&limit=&cursor=: those that ended so, those that
 * wait, and how many are open at which upstream.
 */
export const list: VisitHandler = async (visit, _reply, { db }) => {
  const page = pageOf(visit, 25, (text) => belowOf(text) !== null);
  const state = parameter(visit, 'state') ?? 'open';
  if (!Object.hasOwn(states, state)) {
    const message = `state must be one of ${Object.keys(states).join(', ')}.`;
    throw new ApiError('bad_request', { message, param: 'state' });
  }
  const resolved = states[state as keyof typeof states];
  const upstream = parameter(visit, 'upstream', 100) ?? null;
  const where = { resolved, upstream, since: null };
  const filter = { ...where, below: belowOf(page.cursor), limit: page.limit + 1 };
  const [rows, waiting, open] = await Promise.all([
    resolutions.ended(db, filter),
    page.cursor === null ? resolutions.waiting(db) : [],
    resolutions.openByUpstream(db),
  ]);
  const by_upstream = open.map(({ upstream: name, count, oldest_id }) => {
    return { upstream: name, count, oldest_at: new Date(timeOfId(oldest_id)).toISOString() };
  });
  const total = open.reduce((sum, { count }) => sum + count, 0);
  const found = pageFrom(rows, page, shown, cursorOf);
  return { ...found, waiting: waiting.map(shown), open: total, by_upstream };
};

/** The attempt of a start that was left; 0: the outcome is the request's own. */
const leftAttempt = ({ left_at, attempt }: resolutions.UnknownRow) =>
  left_at === null ? 0 : attempt!;

const cursorOf = (row: resolutions.UnknownRow) => `${row.id}.${leftAttempt(row)}`;

function belowOf(cursor: string | null): OutcomeId | null {
  const [request_id = '', attempt = ''] = cursor?.split('.') ?? [];
  if (!isUuid(request_id) || !/^\d{1,9}$/.test(attempt)) return null;
  return { request_id, attempt: Number(attempt) };
}

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
    charged_usd_micro: row.charged_usd_micro === null ? null : String(row.charged_usd_micro),
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
    left_at: time(row.left_at),
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

/**
 * POST /unknown/:request_id/resolve {attempt?, outcome: ran|did_not_run, cost_usd_micro?, note?}:
 * with `attempt`, a start of it that was left for the next route.
 */
export const resolve: Deed = async (form, visit, _deps) => {
  const request_id = idOf((visit.params as Record<string, unknown>).request_id);
  const attempt = optional(form, 'attempt', (of, name) => whole(of, name, 1, 2 ** 31 - 1));
  const finding = findingIn(form);
  return async (db) => {
    const of = { request_id, attempt: attempt ?? 0 };
    const done = await resolveOutcome(db, visit.session, of, finding);
    if (done === null) throw new ApiError('not_found');
    const { outcome, cost } = finding;
    const answer = { request_id, attempt, outcome, cost_usd_micro: String(cost) };
    return { answer, noted: true };
  };
};

/**
 * POST /unknown/resolve {upstream, since, outcome, cost_usd_micro?, note?}: all of an upstream that
 * ended, or were left, since then; the cost is of each.
 */
export const resolveMany: Deed = async (form, visit) => {
  const selected = { upstream: text(form, 'upstream', 100), since: moment(form, 'since') };
  const finding = findingIn(form);
  return async (db) => {
    const answer = await resolveOutcomes(db, visit.session, selected, finding);
    return { answer, noted: true };
  };
};

function findingIn(form: Record<string, unknown>): Finding {
  const outcome = choice(form, 'outcome', ['ran', 'did_not_run']);
  const cost = outcome === 'ran' ? costIn(form) : 0n;
  return { outcome, cost, note: optional(form, 'note', (of, name) => text(of, name, 1_000)) };
}

function costIn(form: Record<string, unknown>): bigint {
  const cost = signedAmount(form, 'cost_usd_micro');
  if (cost >= 0n && cost <= costMaxUsdMicro) return cost;
  const message = `cost_usd_micro must be from 0 to ${costMaxUsdMicro}.`;
  throw new ApiError('bad_request', { message, param: 'cost_usd_micro' });
}
