import { ApiError } from '../../core/errors.ts';
import * as accounts from '../../db/accounts.ts';
import { revenue, topAccounts, type RevenueRow } from '../../db/revenue.ts';
import * as verdicts from '../../db/verdicts.ts';
import { auditAlone } from '../../ledger/audit.ts';
import { holdings } from '../../ledger/statement.ts';
import { rollUpDays } from '../../operations/roll-up.ts';
import { parameter } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Deed } from './action.ts';

/** What the service earns, what it owes, and whether its books are right. */

const periods = ['7', '30', '90'];
const topMax = 10;
/** Longer than that nobody waits for a page; in the background the proof takes its time. */
const proofMs = 20_000;

/** GET /overview?days=7|30|90, today among them; days are those of UTC. */
export const overview: VisitHandler = async (visit, _reply, { db }) => {
  const text = parameter(visit, 'days') ?? '30';
  if (!periods.includes(text)) {
    const message = `days must be one of ${periods.join(', ')}.`;
    throw new ApiError('bad_request', { message, param: 'days' });
  }
  const days = Number(text);
  await rollUpDays(db);
  const [rows, top, held, fresh, count, verdict] = await Promise.all([
    revenue(db, days),
    topAccounts(db, days, topMax),
    holdings(db),
    accounts.countNew(db, days),
    accounts.count(db),
    verdicts.newest(db),
  ]);
  const made = new Map(fresh.map((each) => [each.day, Number(each.count)]));
  const names = lastDays(days, Date.now());
  const byDay = new Map(sumBy(rows, 'day').map((sum) => [sum.name, sum]));
  return {
    days,
    totals: plain(total(rows)),
    by_day: names.map((day) => ({
      ...plain(byDay.get(day) ?? { name: day, ...nothing }),
      new_accounts: made.get(day) ?? 0,
    })),
    by_kind: sumBy(rows, 'kind').map(plain),
    by_model: sumBy(rows, 'model_id').map(plain),
    by_upstream: sumBy(rows, 'upstream').map(plain),
    top_accounts: top.map(({ account_id, email, name, ...sum }) => ({
      account_id,
      email,
      ...plain({ ...sum, name: name ?? email, uncosted: 0n }),
    })),
    available_usd_micro: String(held.available_usd_micro),
    reserved_usd_micro: String(held.reserved_usd_micro),
    accounts: count,
    books: verdict && verdictShown(verdict),
  };
};

type Figures = Pick<
  RevenueRow,
  'completed' | 'failed' | 'charged_usd_micro' | 'cost_usd_micro' | 'uncosted'
>;
type Sum = Figures & { name: string };

const nothing: Figures = {
  completed: 0n,
  failed: 0n,
  charged_usd_micro: 0n,
  cost_usd_micro: 0n,
  uncosted: 0n,
};

function add(sum: Figures, row: Figures): Figures {
  return {
    completed: sum.completed + row.completed,
    failed: sum.failed + row.failed,
    charged_usd_micro: sum.charged_usd_micro + row.charged_usd_micro,
    cost_usd_micro: sum.cost_usd_micro + row.cost_usd_micro,
    uncosted: sum.uncosted + row.uncosted,
  };
}

function total(rows: RevenueRow[]): Sum {
  return { name: 'total', ...rows.reduce(add, nothing) };
}

/** The largest first. */
function sumBy(rows: RevenueRow[], field: 'day' | 'kind' | 'model_id' | 'upstream'): Sum[] {
  const sums = new Map<string, Figures>();
  for (const row of rows) sums.set(row[field], add(sums.get(row[field]) ?? nothing, row));
  const named = [...sums].map(([name, sum]) => ({ name, ...sum }));
  return named.sort((a, b) =>
    a.charged_usd_micro === b.charged_usd_micro
      ? a.name.localeCompare(b.name)
      : Number(b.charged_usd_micro - a.charged_usd_micro),
  );
}

function plain(sum: Sum) {
  return {
    name: sum.name,
    completed: Number(sum.completed),
    failed: Number(sum.failed),
    charged_usd_micro: String(sum.charged_usd_micro),
    cost_usd_micro: String(sum.cost_usd_micro),
    margin_usd_micro: String(sum.charged_usd_micro - sum.cost_usd_micro),
    uncosted: Number(sum.uncosted),
  };
}

function lastDays(days: number, now: number): string[] {
  return Array.from({ length: days }, (_, i) =>
    new Date(now - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10),
  );
}

function verdictShown({ ok, checked, violations, took_ms, created_at }: verdicts.Verdict) {
  return { ok, checked, violations, took_ms, proved_at: created_at.toISOString() };
}

/** POST /audit: proves the books now. `proved` false: another process does, or it takes longer. */
export const prove: Deed = async (_form, _visit, { db }) => {
  const startedAt = performance.now();
  const report = await auditAlone(db, AbortSignal.timeout(proofMs)).catch((error: unknown) => {
    if (performance.now() - startedAt >= proofMs) return null;
    throw error;
  });
  if (report) {
    await verdicts.keep(db, report, performance.now() - startedAt);
  }
  return async (same) => {
    const verdict = await verdicts.newest(same);
    const answer = { proved: report !== null, books: verdict && verdictShown(verdict) };
    const laws = report?.violations.map(({ law }) => law) ?? [];
    return { answer, details: { proved: report !== null, ok: report?.ok ?? null, laws } };
  };
};
