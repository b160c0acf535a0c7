import { formatUsd } from '../core/price/money.ts';
import type { Database } from '../lib/sql/sql.ts';
import { needAccount } from '../operations/accounts/account.ts';
import { adjust as correct, deposit, type BookedDeposit } from '../operations/accounts/deposit.ts';
import { usd } from './account.ts';
import { print, withDatabase, type Context } from './output.ts';

export async function credit(
  context: Context,
  email: string,
  amountUsd: string,
  { reference }: { reference: string },
): Promise<void> {
  const amount = usd(amountUsd);
  await book(context, email, `${formatUsd(amount)} USD`, (db, account_id) =>
    deposit(db, { account_id, amount, reference }),
  );
}

export async function adjust(
  context: Context,
  email: string,
  amountUsd: string,
  options: { reference: string; reason: string },
): Promise<void> {
  const less = amountUsd.startsWith('-');
  const amount = less ? -usd(amountUsd.slice(1)) : usd(amountUsd);
  await book(context, email, `A correction of ${formatUsd(amount)} USD`, (db, account_id) =>
    correct(db, { account_id, amount, ...options }),
  );
}

async function book(
  context: Context,
  email: string,
  what: string,
  booking: (db: Database, accountId: string) => Promise<BookedDeposit>,
): Promise<void> {
  const shown = await withDatabase(context, async (db) => {
    const { id: account_id } = await needAccount(db, email);
    const { available_usd_micro, transfer_id, replayed } = await booking(db, account_id);
    return { account_id, available_usd_micro, transfer_id, replayed };
  });
  const done = shown.replayed ? 'was already booked; nothing was changed' : 'booked';
  const available = formatUsd(shown.available_usd_micro);
  print(context, shown, `${what} ${done}. Available: ${available} USD.`);
}
