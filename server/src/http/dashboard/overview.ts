import type { FastifyReply } from 'fastify';
import * as accounts from '../../db/accounts.ts';
import * as refusals from '../../db/refusals.ts';
import * as spend from '../../db/spend.ts';
import type { AccountRow } from '../../db/accounts.ts';
import { rollUpSpend } from '../../operations/roll-up.ts';
import { badParameter } from '../query.ts';
import type { Visit, WebDeps } from '../session/visit.ts';

/** The first page: what there is, what was spent, what runs. */

const keysShown = 5;
const runningShown = 6;
const modelsShown = 7;
const dayMs = 24 * 3600 * 1000;

/** GET /balance: what the account may spend, and what is reserved for open requests. */
export async function balance(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  return fundsOf((await accounts.find(db, visit.account_id))!);
}

/** GET /overview: all that changes while one looks at it; what was spent a day is /spend. */
export async function overview(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const { account_id } = visit;
  const [account, month, running, steps, refused] = await Promise.all([
    accounts.find(db, account_id),
    spend.thisMonth(db, account_id, keysShown),
    spend.running(db, account_id, runningShown),
    spend.firstSteps(db, account_id),
    refusals.ofLastHour(db, account_id),
  ]);
  const [any] = month;
  return {
    ...fundsOf(account!),
    month: {
      spent_usd_micro: String(any?.total_usd_micro ?? 0n),
      resets_at: any?.resets_at.toISOString() ?? null,
      keys_total: any?.keys ?? 0,
      keys: month.map((key) => ({
        key_id: key.key_id,
        name: key.name,
        is_studio: key.is_studio,
        revoked: key.revoked,
        monthly_limit_usd_micro: key.monthly_limit_usd_micro?.toString() ?? null,
        spent_usd_micro: String(key.spent_usd_micro),
      })),
    },
    running: {
      total: any?.open_requests ?? 0,
      data: running.map(({ id: request_id, quoted_usd_micro, ...row }) => ({
        request_id,
        ...row,
        quoted_usd_micro: String(quoted_usd_micro),
      })),
    },
    steps,
    refused,
  };
}

/** GET /spend?days=: charges of the last days (UTC), today among them, by kind and by model. */
export async function spending(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const { days: asked = '30' } = visit.query as { days?: unknown };
  const days = [7, 30, 90].find((each) => String(each) === asked);
  if (days === undefined) throw badParameter('days', 'must be 7, 30 or 90');
  const { account_id } = visit;
  const now = Date.now();
  const today = Math.floor(now / dayMs) * dayMs;
  const since = new Date(today - (days - 1) * dayMs);
  const kept = await rollUpSpend(db, account_id, now);
  const live = kept > since ? kept : since;
  const rows = await spend.byDay(db, account_id, { since, live, modelsMax: modelsShown });
  return {
    days: Array.from({ length: days }, (_, i) => dayText(new Date(since.getTime() + i * dayMs))),
    data: rows.map(({ day, charged_usd_micro, ...row }) => ({
      day: dayText(day),
      ...row,
      charged_usd_micro: String(charged_usd_micro),
    })),
  };
}

function dayText(midnight: Date): string {
  return midnight.toISOString().slice(0, 10);
}

function fundsOf({ available_usd_micro, reserved_usd_micro }: AccountRow) {
  return {
    available_usd_micro: String(available_usd_micro),
    reserved_usd_micro: String(reserved_usd_micro),
  };
}
