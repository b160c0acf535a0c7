import { formatUsd } from '../core/money.ts';
import { needAccount } from '../operations/account.ts';
import * as bookings from '../operations/deposit.ts';
import { usd } from './account.ts';
import { print, withDatabase, type Context } from './output.ts';

export async function credit(
  context: Context,
  email: string,
  amountUsd: string,
  options: { reference: string },
): Promise<void> {
  const amount = usd(amountUsd);
  const shown = await withDatabase(context, async (db) => {
    const { id: account_id } = await needAccount(db, email);
    const booked = await bookings.deposit(db, { account_id, amount, reference: options.reference });
    const { available_usd_micro, transfer_id, replayed } = booked;
    return { account_id, available_usd_micro, transfer_id, replayed };
  });
  const done = shown.replayed ? 'was booked before, nothing changed' : 'booked';
  print(
    context,
    shown,
    `${formatUsd(amount)} USD ${done}. Available: ${formatUsd(shown.available_usd_micro)} USD.`,
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
  const shown = await withDatabase(context, async (db) => {
    const { id: account_id } = await needAccount(db, email);
    const booked = await bookings.adjust(db, { account_id, amount, ...options });
    const { available_usd_micro, transfer_id, replayed } = booked;
    return { account_id, available_usd_micro, transfer_id, replayed };
  });
  const done = shown.replayed ? 'was booked before, nothing changed' : 'booked';
  print(
    context,
    shown,
    `A correction of ${formatUsd(amount)} USD ${done}. Available: ${formatUsd(shown.available_usd_micro)} USD.`,
  );
}
