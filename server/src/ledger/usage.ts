import { rowsOf } from '../lib/sql/rows-of.ts';
import { sql, type Transaction } from '../lib/sql/sql.ts';

/**
 * Each key's spending this month (UTC, by the database's clock) and its open jobs, which are
 * checked against its limits. Used like the books, in one transaction: `openUsage` locks, the
 * methods decide, `writeUsage` writes.
 */

export interface KeyCounters {
  key_id: string;
  /** Its first day, YYYY-MM-DD. */
  month: string;
  pending_usd_micro: bigint;
  posted_usd_micro: bigint;
  open_requests: number;
}

interface Usage extends KeyCounters {
  month_now: string;
}

export interface MonthSpend {
  spent_usd_micro: bigint;
  open_requests: number;
  /** The beginning (UTC) of the next month, when spending starts again from zero. */
  resets_at: string;
}

export class KeyUsage {
  readonly #rows: Map<string, Usage>;
  readonly #touched = new Set<string>();

  constructor(rows: Usage[]) {
    this.#rows = new Map(rows.map((row) => [row.key_id, roll(row)]));
  }

  /** This month's charges and reservations, and the open jobs. */
  spending(keyId: string): MonthSpend {
    const row = this.#row(keyId);
    let spent_usd_micro = row.posted_usd_micro;
    // guard: month-counts-reserved
    spent_usd_micro += row.pending_usd_micro;
    return {
      spent_usd_micro,
      open_requests: row.open_requests,
      get resets_at() {
        return nextMonth(row.month);
      },
    };
  }

  reserve(keyId: string, amount: bigint, opensJob: boolean): void {
    const row = this.#row(keyId);
    // A transaction that began before the end of the month may find the row already in the next
    // month.
    if (row.month === row.month_now) row.pending_usd_micro += amount;
    if (opensJob) row.open_requests += 1;
    this.#touched.add(keyId);
  }

  /**
   * `month`: the month of the reservation. If that has passed, this month's spending is unchanged.
   */
  settle(keyId: string, month: string, reserved: bigint, charge: bigint, closesJob: boolean): void {
    const row = this.#row(keyId);
    if (row.month === month) {
      row.pending_usd_micro -= reserved;
      row.posted_usd_micro += charge;
    }
    if (closesJob) row.open_requests -= 1;
    this.#touched.add(keyId);
  }

  changes(): Usage[] {
    return [...this.#touched].map((id) => this.#row(id));
  }

  #row(keyId: string): Usage {
    const row = this.#rows.get(keyId);
    if (!row) throw new Error(`no usage is open for key ${keyId}`);
    return row;
  }
}

function nextMonth(month: string): string {
  const date = new Date(`${month}T00:00:00.000Z`);
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString();
}

function roll(row: Usage): Usage {
  if (row.month >= row.month_now) return row;
  return { ...row, month: row.month_now, pending_usd_micro: 0n, posted_usd_micro: 0n };
}

/** Locks the keys' rows. Every transaction locks them after the balances. */
export async function openUsage(tx: Transaction, keyIds: string[]): Promise<KeyUsage> {
  const rows = await tx.run<Usage>(sql`
    select key_id, to_char(month, 'YYYY-MM-DD') as month,
      to_char(now() at time zone 'utc', 'YYYY-MM-01') as month_now,
      pending_usd_micro, posted_usd_micro, open_requests
    from key_usage where key_id = any(${[...new Set(keyIds)]}::uuid[]) order by key_id for update`);
  return new KeyUsage(rows);
}

export function writeUsage(tx: Transaction, usage: KeyUsage): void {
  writeCounters(tx, usage.changes());
}

/** Sets the counters of these keys, which the caller has locked. */
export function writeCounters(tx: Transaction, rows: readonly KeyCounters[]): void {
  if (rows.length === 0) return;
  tx.send(sql`
    update key_usage u set month = d.month::date, pending_usd_micro = d.pending_usd_micro,
      posted_usd_micro = d.posted_usd_micro, open_requests = d.open_requests
    from ${rowsOf(rows, {
      key_id: 'uuid',
      month: 'text',
      pending_usd_micro: 'bigint',
      posted_usd_micro: 'bigint',
      open_requests: 'int',
    })} as d
    where u.key_id = d.key_id`);
}
