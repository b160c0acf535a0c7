import * as accounts from '../../db/accounts/accounts.ts';
import { revenue, topAccounts, type RevenueRow } from '../../db/accounts/revenue.ts';
import * as verdicts from '../../db/audit-results.ts';
import { keepAudit } from '../../operations/operator-events.ts';
import { auditAlone } from '../../ledger/audit.ts';
import { depositSums, holdings } from '../../ledger/statement.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import { inSum } from '../database-share.ts';
import * as s from '../schemas/schema.ts';
import { SourceSum } from '../schemas/account.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Revenue, debts to customers, and whether the books balance. */

const topMax = 10;
/** Somebody waits for this proof at a page. In the background a proof may take longer. */
const proofMs = 20_000;

const RevenueSum = s.named(
  'RevenueSum',
  s.object({
    name: s.text(),
    completed: s.integer(),
    failed: s.integer(),
    charged_usd_micro: s.signedMicroUsd('Charges less refunds.'),
    cost_usd_micro: s.microUsd(),
    margin_usd_micro: s.signedMicroUsd(),
    uncosted: s.integer('Number of requests that ran, or may have run, at an unknown cost.'),
  }),
);
const RevenueDay = s.named(
  'RevenueDay',
  s.object({ ...RevenueSum.properties, new_accounts: s.integer() }),
);

const TopAccount = s.named(
  'TopAccount',
  s.object({ ...RevenueSum.properties, account_id: s.id(), email: s.text() }),
);

const AuditResult = s.named(
  'AuditResult',
  object({
    ok: boolean(),
    checked: record(integer(), 'Number of checked laws, and of checked rows of each kind.'),
    violations: list(object({ law: text(), says: text(), found: list(anything()) })),
    took_ms: number(),
    proved_at: time(),
  }),
);

const Revenue = s.named(
  'Revenue',
  s.object({
    days: s.integer(),
    totals: RevenueSum,
    by_day: list(RevenueDay),
    by_kind: list(RevenueSum),
    by_model: list(RevenueSum),
    by_upstream: list(RevenueSum),
    top_accounts: list(TopAccount),
    deposits: list(SourceSum, 'Money that came in, by its source.'),
    available_usd_micro: microUsd(),
    reserved_usd_micro: microUsd(),
    debt_usd_micro: microUsd('Debts of customers.'),
    accounts: integer(),
    books: nullable(AuditResult),
  }),
);

/** GET /operator/overview: days are in UTC and include today. */
export const overview = operatorEndpoint(
  { query: form({ days: optional(choice(['7', '30', '90'])) }), reply: Revenue },
  async ({ query, req, reply }, deps) => {
    const { db } = deps;
    const days = Number(query.days ?? 30);
    await rollUpDays(db);
    const period = lastDays(days, Date.now());
    const from = new Date(`${period[0]}T00:00:00Z`);
    const [rows, top, [deposits, held], fresh, count, verdict] = await Promise.all([
      revenue(db, days),
      topAccounts(db, days, topMax),
      inSum(req, reply, deps, () =>
        Promise.all([depositSums(db, { from, to: null }), holdings(db)]),
      ),
      accounts.countNew(db, days),
      accounts.count(db),
      verdicts.findNewest(db),
    ]);
    const made = new Map(fresh.map((each) => [each.day, each.count]));
    const byDay = new Map(sumBy(rows, 'day').map((sum) => [sum.name, sum]));
    return {
      days,
      totals: withMargin({ name: 'total', ...rows.reduce(add, nothing) }),
      by_day: period.map((day) => ({
        ...withMargin(byDay.get(day) ?? { name: day, ...nothing }),
        new_accounts: made.get(day) ?? 0,
      })),
      by_kind: sumBy(rows, 'kind').map(withMargin),
      by_model: sumBy(rows, 'model_id').map(withMargin),
      by_upstream: sumBy(rows, 'upstream').map(withMargin),
      top_accounts: top.map(({ name, ...sum }) =>
        withMargin({ ...sum, name: name ?? sum.email, uncosted: 0n }),
      ),
      deposits,
      ...held,
      accounts: count,
      books: resultOf(verdict),
    };
  },
);

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

/** Sums by this field, the largest first. */
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

function withMargin<Row extends Sum>(sum: Row) {
  return { ...sum, margin_usd_micro: sum.charged_usd_micro - sum.cost_usd_micro };
}

function lastDays(days: number, now: number): string[] {
  return Array.from({ length: days }, (_, i) =>
    new Date(now - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10),
  );
}

function resultOf(verdict: verdicts.Verdict | null) {
  return verdict && { ...verdict, proved_at: verdict.created_at };
}

/** POST /operator/audit: `proved` is false if another process proves, or if it takes too long. */
export const prove = operatorAction(
  'books.prove',
  { reply: object({ proved: boolean(), books: nullable(AuditResult) }) },
  async (_call, { db }) => {
    const startedAt = performance.now();
    const report = await auditAlone(db, AbortSignal.timeout(proofMs)).catch((error: unknown) => {
      if (performance.now() - startedAt >= proofMs) return null;
      throw error;
    });
    if (report) await keepAudit(db, report, performance.now() - startedAt);
    return async (same) => {
      const answer = { proved: report !== null, books: resultOf(await verdicts.findNewest(same)) };
      const laws = report?.violations.map(({ law }) => law) ?? [];
      return { answer, details: { proved: report !== null, ok: report?.ok ?? null, laws } };
    };
  },
);
