import { bookedSources, type BookedSource } from '../core/account/source.ts';
import { formatUsd } from '../core/price/money.ts';
import type { Database } from '../lib/sql/sql.ts';
import { needAccount } from '../operations/accounts/account.ts';
import type { Booked } from '../operations/accounts/booking.ts';
import { adjust as correct, deposit } from '../operations/accounts/deposit.ts';
import { CommandFailed } from '../operations/refused.ts';
import { usd } from './account.ts';
import { timeIn } from './moment.ts';
import { print, withDatabase, type Context } from './output.ts';

export async function credit(
  context: Context,
  email: string,
  amountUsd: string,
  options: { reference: string; source: string; expires?: string; note?: string },
): Promise<void> {
  const amount = usd(amountUsd);
  const { expires, ...about } = options;
  const expires_at = timeIn(expires, 'end');
  const wanted = { ...about, amount, source: sourceOf(options.source), expires_at };
  await book(context, email, `${formatUsd(amount)} USD`, (db, account_id) =>
    deposit(db, { ...wanted, account_id }),
  );
}

function sourceOf(text: string): BookedSource {
  const source = bookedSources.find((each) => each === text);
  if (source === undefined)
    throw new CommandFailed(`"${text}" is not a source: use one of ${bookedSources.join(', ')}.`);
  return source;
}

export async function adjust(
  context: Context,
  email: string,
  amountUsd: string,
  { allowDebt = false, ...options }: { reference: string; reason: string; allowDebt?: boolean },
): Promise<void> {
  const less = amountUsd.startsWith('-');
  const amount = less ? -usd(amountUsd.slice(1)) : usd(amountUsd);
  await book(context, email, `A correction of ${formatUsd(amount)} USD`, (db, account_id) =>
    correct(db, { account_id, amount, allows_debt: allowDebt, ...options }),
  );
}

async function book(
  context: Context,
  email: string,
  what: string,
  booking: (db: Database, accountId: string) => Promise<Booked>,
): Promise<void> {
  const shown = await withDatabase(context, async (db) => {
    const { id: account_id } = await needAccount(db, email);
    const { reserved_usd_micro: _reserved, ...booked } = await booking(db, account_id);
    return { account_id, ...booked };
  });
  const done = shown.replayed ? 'was already booked; nothing was changed' : 'booked';
  const available = formatUsd(shown.available_usd_micro);
  const debt = shown.debt_usd_micro === 0n ? '' : ` Debt: ${formatUsd(shown.debt_usd_micro)} USD.`;
  print(context, shown, `${what} ${done}. Available: ${available} USD.${debt}`);
}
