import { formatUsd } from '../core/price/money.ts';
import * as vouchers from '../db/accounts/vouchers.ts';
import { isUuid } from '../lib/id.ts';
import { CommandFailed } from '../operations/refused.ts';
import { createVouchers, voidVoucher } from '../operations/accounts/voucher.ts';
import { usd } from './account.ts';
import { timeIn } from './moment.ts';
import { print, table, withDatabase, type Context } from './output.ts';

interface CreateOptions {
  count: number;
  expires?: string;
  note?: string;
}

export async function create(
  context: Context,
  amountUsd: string,
  { count, expires, note }: CreateOptions,
): Promise<void> {
  const amount = usd(amountUsd);
  const expires_at = timeIn(expires, 'end');
  const wanted = { amount, count, expires_at, note: note ?? null };
  const made = await withDatabase(context, (db) => createVouchers(db, wanted));
  const data = made.map(({ id: voucher_id, code }) => {
    return { voucher_id, code, amount_usd_micro: amount, expires_at };
  });
  const until = expires_at === null ? '' : ` until ${expires_at.toISOString()}`;
  const said =
    count === 1
      ? `\n\nThis voucher is worth ${formatUsd(amount)} USD${until}. It is shown once. Its id is ${made[0]!.id}.`
      : `\n\n${count} vouchers, each worth ${formatUsd(amount)} USD${until}. They are shown once.`;
  print(context, { data }, made.map(({ code }) => code).join('\n') + said);
}

const head = ['VOUCHER ID', 'CODE', 'WORTH USD', 'STATUS', 'EXPIRES', 'REDEEMED BY', 'NOTE'];

export async function list(context: Context, { limit }: { limit: number }): Promise<void> {
  const rows = await withDatabase(context, (db) => vouchers.list(db, { limit: limit + 1 }));
  const shown = rows.slice(0, limit);
  const data = shown.map(({ id: voucher_id, ...row }) => ({ voucher_id, ...row }));
  const cells = shown.map((row) => [
    row.id,
    `FB-…-${row.last4}`,
    formatUsd(row.amount_usd_micro),
    row.status,
    row.expires_at?.toISOString() ?? '-',
    row.redeemed_by_name ?? '-',
    row.note ?? '-',
  ]);
  const lines = table(head, cells);
  const part = `\nThese are the newest ${limit}. --limit N shows more.`;
  print(context, { data }, rows.length > limit ? lines + part : lines);
}

export async function takeBack(context: Context, voucherId: string): Promise<void> {
  if (!isUuid(voucherId)) {
    throw new CommandFailed(
      `There is no voucher with the id ${voucherId}. "farebox voucher list" shows them.`,
    );
  }
  await withDatabase(context, (db) => voidVoucher(db, voucherId));
  print(
    context,
    { voucher_id: voucherId, void: true },
    `${voucherId} is cancelled and can no longer be redeemed.`,
  );
}
