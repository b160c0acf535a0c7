import { setTimeout as pause } from 'node:timers/promises';
import * as accounts from '../../db/accounts/accounts.ts';
import {
  readRevenue,
  readRevenueBefore,
  readRevenueOfHours,
  listTopAccounts,
  type RevenueRow,
} from '../../db/accounts/revenue.ts';
import * as vouchers from '../../db/accounts/vouchers.ts';
import * as auditResults from '../../db/audit-results.ts';
import { auditNews, logAudit } from '../../operations/audit.ts';
import { depositSums, holdings } from '../../ledger/statement.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import { runSum } from '../database-share.ts';
import * as s from '../schemas/schema.ts';
import { SourceSum } from '../schemas/account.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import type { ShareDeps } from '../deps.ts';
import { dayMs } from '../../lib/calendar-day.ts';

/** Revenue, debts to customers, and whether the books balance. */

const topMax = 10;
const hourMs = 3_600_000;
/** Somebody waits for this proof at a page. A longer one goes on in the background. */
const proofMs = 20_000;

const RevenueSum = s.namedObject('RevenueSum', {
  name: s.text(),
  completed: s.integer(),
  failed: s.integer(),
  charged_usd_micro: s.signedMicroUsd('Charges less refunds.'),
  cost_usd_micro: s.microUsd(),
  margin_usd_micro: s.signedMicroUsd(),
  uncosted: s.integer('Number of requests that ran, or may have run, at an unknown cost.'),
});
const RevenueDay = s.namedObject('RevenueDay', {
  ...RevenueSum.properties,
  new_accounts: s.integer(),
});

const TopAccount = s.namedObject('TopAccount', {
  ...RevenueSum.properties,
  account_id: s.id(),
  email: s.text(),
});

const AuditResult = s.namedObject('AuditResult', {
  ok: s.boolean(),
  checked: s.record(s.integer(), 'Number of checked laws, and of checked rows of each kind.'),
  violations: s.list(s.object({ law: s.text(), says: s.text(), found: s.list(s.anything()) })),
  took_ms: s.number(),
  proved_at: s.time(),
  is_behind: s.boolean('More was new than one audit proves; the next one follows soon.'),
  whole_at: s.nullable(s.time('All history was proved since then; null: not yet.')),
});

const Revenue = s.namedObject('Revenue', {
  days: s.integer(),
  totals: RevenueSum,
  by_day: s.list(RevenueDay, 'Named 2027-01-31; with `days=1` by hours: 2027-01-31T14:00:00.000Z.'),
  before: s.list(RevenueSum, 'The same time before, named as in `by_day`.'),
  by_kind: s.list(RevenueSum),
  by_model: s.list(RevenueSum),
  by_upstream: s.list(RevenueSum),
  top_accounts: s.list(TopAccount),
  deposits: s.list(SourceSum, 'Money that came in, by its source.'),
  available_usd_micro: s.microUsd(),
  reserved_usd_micro: s.microUsd(),
  debt_usd_micro: s.microUsd('Debts of customers.'),
  vouchers_usd_micro: s.microUsd('The worth of open vouchers.'),
  accounts: s.integer(),
  books: s.nullable(AuditResult),
});

/** GET /operator/overview: days are in UTC and include today; 1: the last 24 hours, by hour. */
export const overview = operatorEndpoint(
  { query: s.form({ days: s.optional(s.choice(['1', '7', '30', '90'])) }), reply: Revenue },
  async ({ query, req, reply }, deps: ShareDeps) => {
    const { db } = deps;
    const days = Number(query.days ?? 30);
    await rollUpDays(db);
    const names = namesOf(days, Date.now());
    const from = new Date(names.at(-names.length / 2)!);
    const [{ rows, before }, top, [deposits, held, worth], fresh, count, verdict] =
      await Promise.all([
        revenueOf(db, days, from.toISOString()),
        listTopAccounts(db, days, topMax),
        runSum(req, reply, deps, () =>
          Promise.all([depositSums(db, { from, to: null }), holdings(db), vouchers.openWorth(db)]),
        ),
        accounts.countNew(db, from),
        accounts.count(db),
        auditResults.findNewest(db),
      ]);
    const [was, is] = [names.slice(0, names.length / 2), names.slice(names.length / 2)];
    const made = newAccounts(fresh, days);
    const byName = new Map(sumBy([...rows, ...before], 'day').map((sum) => [sum.name, sum]));
    const named = (name: string) => withMargin(byName.get(name) ?? { name, ...nothing });
    return {
      days,
      totals: withMargin({ name: 'total', ...rows.reduce(add, nothing) }),
      by_day: is.map((name) => ({ ...named(name), new_accounts: made.get(name) ?? 0n })),
      before: was.map(named),
      by_kind: sumBy(rows, 'kind').map(withMargin),
      by_model: sumBy(rows, 'model_id').map(withMargin),
      by_upstream: sumBy(rows, 'upstream').map(withMargin),
      top_accounts: top.map(({ name, ...sum }) =>
        withMargin({ ...sum, name: name ?? sum.email, uncosted: 0n }),
      ),
      deposits,
      ...held,
      vouchers_usd_micro: worth,
      accounts: count,
      books: resultOf(verdict),
    };
  },
);

/** The sums of the period, which begins with `first`, and of the one before it. */
async function revenueOf(db: Database, days: number, first: string) {
  if (days > 1) {
    const [rows, before] = await Promise.all([readRevenue(db, days), readRevenueBefore(db, days)]);
    return { rows, before };
  }
  const all = await readRevenueOfHours(db, 48);
  const isOfPeriod = ({ day }: RevenueRow) => day >= first;
  return { rows: all.filter(isOfPeriod), before: all.filter((row) => !isOfPeriod(row)) };
}

function newAccounts(fresh: accounts.NewAccounts[], days: number): Map<string, bigint> {
  const made = new Map<string, bigint>();
  for (const { hour, count } of fresh) {
    const name = days === 1 ? hour : hour.slice(0, 10);
    made.set(name, (made.get(name) ?? 0n) + count);
  }
  return made;
}

/** The names of the days, or of the 24 hours, of the period before and of the period. */
function namesOf(days: number, now: number): string[] {
  const [count, ms, length] = days === 1 ? [24, hourMs, 13] : [days, dayMs, 10];
  return Array.from({ length: 2 * count }, (_, i) => {
    const name = new Date(now - (2 * count - 1 - i) * ms).toISOString().slice(0, length);
    return days === 1 ? `${name}:00:00.000Z` : name;
  });
}

type Figures = Pick<
  RevenueRow,
  'completed' | 'failed' | 'charged_usd_micro' | 'cost_usd_micro' | 'uncosted'
>;
type Sum = Figures & { name: string };
type Group = 'day' | 'kind' | 'model_id' | 'upstream';

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
function sumBy<Field extends Group>(
  rows: (Figures & Record<Field, string>)[],
  field: Field,
): Sum[] {
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

function resultOf(verdict: auditResults.AuditVerdict | null) {
  return verdict && { ...verdict, proved_at: verdict.created_at };
}

/**
 * POST /operator/audit: `proved` is false if another process proves, or if it takes so long that it
 * goes on in the background.
 */
export const prove = operatorAction(
  'books.prove',
  { reply: s.object({ proved: s.boolean(), books: s.nullable(AuditResult) }) },
  async (_call, { db, log, settings, draining }) => {
    const options = { days: settings.FAREBOX_PROOF_DAYS, signal: draining };
    const proof = auditNews(db, options).then(
      (made) => {
        if (made) logAudit(log, made);
        return made?.report ?? null;
      },
      (err: unknown) => {
        if (draining.aborted) return null;
        throw err;
      },
    );
    const later = new AbortController();
    const report = await Promise.race([
      proof,
      pause(proofMs, null, { signal: later.signal, ref: false }),
    ]).finally(() => later.abort());
    // The service's own audits log why none can run.
    proof.catch(() => {});
    return async (same) => {
      const books = resultOf(await auditResults.findNewest(same));
      const answer = { proved: report !== null, books };
      const laws = report?.violations.map(({ law }) => law) ?? [];
      return { answer, details: { proved: report !== null, ok: report?.ok ?? null, laws } };
    };
  },
);
