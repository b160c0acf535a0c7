import type { BookedSource } from '../core/account/source.ts';
import { formatUsd } from '../core/price/money.ts';
import type { Database } from '../lib/sql/sql.ts';
import { requireAccount } from '../operations/accounts/account.ts';
import type { BookingResult } from '../operations/accounts/booking.ts';
import * as bookings from '../operations/accounts/deposit.ts';
import { commandLine } from '../operations/operator-action.ts';
import { withDatabase } from './database.ts';
import type { Context, CommandOutput } from './output.ts';

interface Booking {
  email: string;
  usd: string;
  reference: string;
}

export function credit(
  given: Booking & { source: BookedSource; expires?: string | null; note?: string },
  context: Context,
): Promise<CommandOutput> {
  const { email, usd, expires, ...about } = given;
  const amount = BigInt(usd);
  const wanted = { ...about, amount, expires_at: expires ? new Date(expires) : null };
  return book(context, email, `${formatUsd(amount)} USD`, (db, account_id) =>
    bookings.deposit(db, commandLine, { ...wanted, account_id }),
  );
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
