import * as accounts from '../../db/accounts/accounts.ts';
import * as alertCauses from '../../db/accounts/alert-causes.ts';
import * as refusals from '../../db/accounts/refusals.ts';
import * as spend from '../../db/accounts/spend.ts';
import * as deliveries from '../../db/requests/deliveries.ts';
import { rollUpSpend } from '../../operations/accounts/roll-up.ts';
import { KindName } from '../api/model-schema.ts';
import { runSum } from '../database-share.ts';
import { StatusName } from '../requests/schema.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';
import { RefusedCalls } from './keys.ts';
import { Funds } from '../schemas/account.ts';
import { dayMs } from '../../lib/calendar-day.ts';

/** The first page: balance, spending and running requests. */

const keysShown = 5;
const runningShown = 6;
const modelsShown = 7;
const failedMax = 100;

/** GET /balance: what the account may spend, and what is reserved for open requests, and what it owes. */
export const balance = sessionEndpoint(
  { reply: Funds },
  async ({ req }, { db }) => (await accounts.find(db, req.account_id))!,
);

const KeyMonth = s.namedObject('KeyMonth', {
  key_id: s.id(),
  name: s.text(),
  is_studio: s.boolean(),
  revoked: s.boolean(),
  monthly_limit_usd_micro: s.nullable(s.microUsd()),
  spent_usd_micro: s.microUsd('Reservations included.'),
});

const RunningRequest = s.namedObject('RunningRequest', {
  request_id: s.id(),
  model_id: s.text(),
  kind: KindName,
  status: StatusName,
  quoted_usd_micro: s.microUsd(),
  created_at: s.time(),
  started_at: s.nullable(s.time()),
});

const Overview = s.namedObject('Overview', {
  ...Funds.properties,
  month: s.object({
    spent_usd_micro: s.microUsd(),
    resets_at: s.nullable(s.time()),
    keys_total: s.integer(),
    keys: s.list(KeyMonth),
  }),
  running: s.object({ total: s.integer(), data: s.list(RunningRequest) }),
  steps: s.object({ topped_up: s.boolean(), has_key: s.boolean(), has_request: s.boolean() }),
  refused: s.list(RefusedCalls, 'Counts of the last day.'),
  failed_webhooks: s.integer('Webhooks that failed in the last day; 100 at most.'),
  failing_jobs: s.nullable(
    s.object(
      { ended: s.integer(), failed: s.integer() },
      {
        description:
          'Jobs of one hour, as of the newest alert of the last day; null: none, or it is off.',
      },
    ),
  ),
});

/** GET /overview: everything that changes while somebody watches; spending by day is at /spend. */
export const overview = sessionEndpoint({ reply: Overview }, async ({ req }, { db }) => {
  const { account_id } = req;
  const [account, month, running, steps, refused, failed_webhooks, failing_jobs] =
    await Promise.all([
      accounts.find(db, account_id),
      spend.readThisMonth(db, account_id, keysShown),
      spend.listOpenJobs(db, account_id, runningShown),
      spend.readFirstSteps(db, account_id),
      refusals.listLastDay(db, account_id),
      deliveries.countFailedSince(db, account_id, new Date(Date.now() - dayMs), failedMax),
      alertCauses.findFailedJobs(db, account_id),
    ]);
  const [any] = month;
  return {
    ...account!,
    month: {
      spent_usd_micro: any?.total_usd_micro ?? 0n,
      resets_at: any?.resets_at ?? null,
      keys_total: any?.keys ?? 0,
      keys: month,
    },
    running: {
      total: any?.open_requests ?? 0,
      data: running.map(({ id: request_id, ...row }) => ({ request_id, ...row })),
    },
    steps,
    refused,
    failed_webhooks,
    failing_jobs,
  };
});

const SpendDay = s.namedObject('SpendDay', {
  day: s.text(),
  kind: KindName,
  model_id: s.nullable(s.text('Null: all other models, on which less was spent.')),
  charged_usd_micro: s.microUsd(),
  requests: s.integer(),
});

/**
 * GET /spend: charges of the last days (UTC, including today) by kind and by model, and the charge
 * of each day of the same number of days before.
 */
export const spending = sessionEndpoint(
  {
    query: s.form({ days: s.optional(s.choice([7, 30, 90])) }),
    reply: s.namedObject('Spend', {
      days: s.list(s.text()),
      data: s.list(SpendDay),
      before: s.list(s.microUsd(), 'One for each day, in the order of `days`.'),
    }),
  },
  async ({ req, reply, query }, deps) => {
    const { db } = deps;
    const { days = 30 } = query;
    const { account_id } = req;
    const now = Date.now();
    const today = Math.floor(now / dayMs) * dayMs;
    const since = new Date(today - (days - 1) * dayMs);
    const earlier = new Date(since.getTime() - days * dayMs);
    const { rows, totals } = await runSum(req, reply, deps, async () => {
      const kept = await rollUpSpend(db, account_id, now);
      const live = kept > since ? kept : since;
      return {
        rows: await spend.readByDay(db, account_id, { since, live, modelsMax: modelsShown }),
        totals: await spend.readTotalByDay(db, account_id, {
          since: earlier,
          until: since,
          live: kept,
        }),
      };
    });
    const daysFrom = (first: Date) =>
      Array.from({ length: days }, (_, i) => dayText(new Date(first.getTime() + i * dayMs)));
    const charged = new Map(totals.map((row) => [dayText(row.day), row.charged_usd_micro]));
    return {
      days: daysFrom(since),
      data: rows.map((row) => ({ ...row, day: dayText(row.day) })),
      before: daysFrom(earlier).map((day) => charged.get(day) ?? 0n),
    };
  },
);

function dayText(midnight: Date): string {
  return midnight.toISOString().slice(0, 10);
}
