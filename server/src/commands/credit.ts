import type { BookedSource } from '../core/account/source.ts';
import { formatUsd } from '../core/price/money.ts';
import type { Database } from '../lib/sql/sql.ts';
import { requireAccount } from '../operations/accounts/account.ts';
import type { BookingResult } from '../operations/accounts/booking.ts';
import * as bookings from '../operations/accounts/book-by-hand.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { allOrNone, type Line } from './bulk.ts';
import { withDatabase } from './database.ts';
import { countText, table, type Context, type CommandOutput } from './output.ts';

interface Booking {
  email: string;
  usd: string;
  reference: string;
}

interface Credit extends Booking {
  source: BookedSource;
  expires?: string | null;
  note?: string;
}

export function credit(given: Credit, context: Context): Promise<CommandOutput> {
  return book(context, given.email, `${formatUsd(BigInt(given.usd))} USD`, (db, account_id) =>
    deposit(db, given, account_id),
  );
}

function deposit(
  db: Database,
  { email: _email, usd, expires, ...about }: Credit,
  account_id: string,
): Promise<BookingResult> {
  const wanted = { ...about, amount: BigInt(usd), expires_at: expires ? new Date(expires) : null };
  return bookings.deposit(db, commandLine, { ...wanted, account_id });
}

/** The deposits of a file. One that was booked before is not booked again. */
export async function creditMany(rows: Line<Credit>[], context: Context): Promise<CommandOutput> {
  const lines = new Map<string, number>();
  for (const { line, row } of rows.toReversed()) lines.set(row.reference, line);
  const find = (db: Database, { email, reference }: Credit, line: number) => {
    const earlier = lines.get(reference);
    if (earlier === line) return requireAccount(db, email);
    throw new CommandFailed(`The reference "${reference}" is that of line ${earlier}, too.`);
  };
  const data = await allOrNone(
    context,
    rows,
    find,
    async (db, given, { id: account_id, email }) => {
      const { transfer_id, replayed } = await deposit(db, given, account_id);
      const { usd: amount_usd_micro, reference } = given;
      return { account_id, email, amount_usd_micro, reference, transfer_id, replayed };
    },
  );
  const text = table(data, {
    LINE: 'line',
    EMAIL: 'email',
    'AMOUNT USD': ({ amount_usd_micro }) => BigInt(amount_usd_micro),
    REFERENCE: 'reference',
    RESULT: ({ replayed }) => (replayed ? 'was already booked' : 'booked'),
  });
  const booked = data.filter(({ replayed }) => !replayed);
  const sum = booked.reduce((all, row) => all + BigInt(row.amount_usd_micro), 0n);
  const before = data.length - booked.length;
  const done = `${countText(booked.length, 'deposit')} booked, ${formatUsd(sum)} USD in all.`;
  const again =
    before === 0 ? '' : ` ${before} already booked before; nothing was changed for them.`;
  return { json: { data }, text: `${text}\n${done}${again}` };
}

export function adjust(
  given: Booking & { reason: string; allow_debt?: boolean },
  context: Context,
): Promise<CommandOutput> {
  const { email, usd, allow_debt: allows_debt = false, ...about } = given;
  const amount = BigInt(usd);
  return book(context, email, `A correction of ${formatUsd(amount)} USD`, (db, account_id) =>
    bookings.adjust(db, commandLine, { ...about, account_id, amount, allows_debt }),
  );
}

async function book(
  context: Context,
  email: string,
  what: string,
  booking: (db: Database, accountId: string) => Promise<BookingResult>,
): Promise<CommandOutput> {
  const json = await withDatabase(context, async (db) => {
    const { id: account_id } = await requireAccount(db, email);
    const { reserved_usd_micro: _reserved, ...booked } = await booking(db, account_id);
    return { account_id, ...booked };
  });
  const done = json.replayed ? 'was already booked; nothing was changed' : 'booked';
  const available = formatUsd(json.available_usd_micro);
  const debt = json.debt_usd_micro === 0n ? '' : ` Debt: ${formatUsd(json.debt_usd_micro)} USD.`;
  return { json, text: `${what} ${done}. Available: ${available} USD.${debt}` };
}
