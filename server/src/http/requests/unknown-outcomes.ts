import { costMaxUsdMicro } from '../../core/price/cost.ts';
import { ApiError } from '../../core/errors.ts';
import * as unknownOutcomes from '../../db/requests/unknown-outcomes.ts';
import type { OutcomeId } from '../../db/accounts/revenue.ts';
import { isUuid, timeOfId } from '../../lib/id.ts';
import { redact } from '../../lib/log.ts';
import {
  resolveOutcome,
  resolveOutcomes,
  type Finding,
} from '../../operations/upstreams/unknown-outcome.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import { LeftAttempt, NewFinding, outcomes } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { facts, ofAccount } from './views.ts';
import { badField } from '../schemas/validate.ts';

/** Unknown outcomes of requests, and of starts that were left (see `left-starts.ts`). */

const UnknownOutcome = s.namedObject('UnknownOutcome', {
  ...facts,
  ...ofAccount,
  upstream: s.text('The upstream where it may have run.'),
  error_code: s.nullable(s.text()),
  cost_usd_micro: s.nullable(s.microUsd()),
  error_message: s.nullable(s.text()),
  attempt: s.nullable(s.integer()),
  class: s.nullable(s.text()),
  handle: s.nullable(s.text()),
  message: s.nullable(s.text()),
  attempted_at: s.nullable(s.time()),
  started_at: s.time(),
  deadline_at: s.nullable(s.time()),
  left_at: s.nullable(
    s.time('When this start was given up and the next route was tried; null if it was not.'),
  ),
  resolution: s.nullable(
    s.object({
      outcome: s.choice(outcomes),
      note: s.nullable(s.text()),
      by_email: s.text(),
      resolved_at: s.time(),
    }),
  ),
});

const UnknownOutcomes = s.namedObject(
  'UnknownOutcomes',

  { upstream: s.text(), count: s.integer(), oldest_at: s.time() },
  { description: 'The unresolved outcomes of one upstream.' },
);

const states = { open: false, resolved: true, all: null } as const;

/**
 * GET /operator/unknown: unknown outcomes of ended requests and left starts, requests that still
 * wait for a lost answer, and the number of open outcomes by upstream.
 */
export const list = operatorEndpoint(
  {
    query: s.form({
      state: s.optional(s.choice(['open', 'resolved', 'all'])),
      upstream: s.optional(s.text(undefined, { maxLength: 100 })),
      ...s.pageQuery(25),
      cursor: s.optional(s.text()),
    }),
    reply: s.pageWith(UnknownOutcome, {
      waiting: s.list(UnknownOutcome),
      open: s.integer(),
      by_upstream: s.list(UnknownOutcomes),
    }),
  },
  async ({ query }, { db }) => {
    const { state = 'open', upstream = null, cursor, limit } = query;
    const below = cursor === undefined ? null : requireOutcomeId(cursor);
    const filter = { resolved: states[state], upstream, since: null, below, limit: limit + 1 };
    const [rows, waiting, open] = await Promise.all([
      unknownOutcomes.listEnded(db, filter),
      below === null ? unknownOutcomes.listWaiting(db) : [],
      unknownOutcomes.countUnknownByUpstream(db),
    ]);
    return {
      ...pageFrom(rows, query, view, cursorOf),
      waiting: waiting.map(view),
      open: open.reduce((sum, { count }) => sum + count, 0),
      by_upstream: open.map(({ oldest_id, ...sum }) => {
        return { ...sum, oldest_at: new Date(timeOfId(oldest_id)) };
      }),
    };
  },
);

/**
 * The cursor of a left start contains its attempt; 0 means that the outcome is the request's own.
 */
function cursorOf({ id: request_id, left_at, attempt }: unknownOutcomes.UnknownRow): string {
  return `${request_id}.${left_at === null ? 0 : attempt!}`;
}

function requireOutcomeId(cursor: string): OutcomeId {
  const [request_id = '', attempt = ''] = cursor.split('.');
  if (isUuid(request_id) && /^\d{1,9}$/.test(attempt))
    return { request_id, attempt: Number(attempt) };
  throw badField('cursor', s.cursorRule);
}

function view({ id: request_id, handle, message, ...row }: unknownOutcomes.UnknownRow) {
  const { resolved: outcome, note, by_email, resolved_at } = row;
  return {
    request_id,
    ...row,
    handle: handle && redact(JSON.stringify(handle)),
    message: message && redact(message),
    resolution: outcome && { outcome, note, by_email: by_email!, resolved_at: resolved_at! },
  };
}

/** POST /operator/requests/{request_id}/resolve: with `attempt`, the outcome of a left start. */
export const resolve = operatorAction(
  'request.resolve',
  {
    params: ['request_id'],
    body: s.form({
      attempt: s.optional(s.nullable(LeftAttempt)),
      ...NewFinding,
    }),
    reply: s.object({
      request_id: s.id(),
      attempt: s.nullable(s.integer()),
      outcome: s.choice(outcomes),
      cost_usd_micro: s.microUsd(),
    }),
  },
  async ({ params, body, by }) => {
    const request_id = requireId(params.request_id);
    const attempt = body.attempt ?? null;
    const found = requireFinding(body);
    return async (db) => {
      const of = { request_id, attempt: attempt ?? 0 };
      const done = await resolveOutcome(db, by, of, found);
      if (done.answer === null) throw new ApiError('not_found');
      const { outcome, cost: cost_usd_micro } = found;
      return { ...done, answer: { request_id, attempt, outcome, cost_usd_micro } };
    };
  },
);

/**
 * POST /operator/unknown/resolve: resolves an upstream's outcomes that became unknown since
 * `since`.
 */
export const resolveMany = operatorAction(
  'request.resolve_many',
  {
    body: s.form({
      upstream: s.text(undefined, { minLength: 1, maxLength: 100 }),
      since: s.time(),
      ...NewFinding,
    }),
    reply: s.object({ resolved: s.integer(), is_all: s.boolean() }),
  },
  async ({ body, by }) => {
    const selected = { upstream: body.upstream, since: new Date(body.since) };
    const found = requireFinding(body);
    return (db) => resolveOutcomes(db, by, selected, found);
  },
);

const Findings = s.object(NewFinding);

function requireFinding({
  outcome,
  cost_usd_micro,
  note = null,
}: s.Static<typeof Findings>): Finding {
  if (outcome === 'did_not_run') return { outcome, cost: 0n, note };
  const cost = cost_usd_micro ? BigInt(cost_usd_micro) : null;
  if (cost !== null && cost <= costMaxUsdMicro) return { outcome, cost, note };
  throw badField('cost_usd_micro', `from 0 to ${costMaxUsdMicro}`, {
    minimum: '0',
    maximum: String(costMaxUsdMicro),
  });
}
