import { formatUsd } from '../core/price/money.ts';
import * as vouchers from '../db/accounts/vouchers.ts';
import { NewVouchers } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import { isUuid } from '../lib/id.ts';
import { createVouchers, voidVoucher } from '../operations/accounts/voucher.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { limitOf, may, operand, row, says } from './command.ts';
import { act, withDatabase } from './database.ts';
import { listOf, type TableColumns } from './output.ts';

export const verbs = {
  create: row(
    'make vouchers and print their codes, once',
    {
      usd: operand(says(NewVouchers.amount_usd_micro, 'value of each voucher')),
      count: { ...says(NewVouchers.count, 'how many'), default: 1 },
      expires: may(NewVouchers.expires_at, 'last day (UTC) on which they work, such as 2027-01-31'),
      note: may(NewVouchers.note, 'a note, shown to operators'),
    },
    async ({ usd, count, expires, note = null }, context) => {
      const amount = BigInt(usd);
      const expires_at = expires ? new Date(expires) : null;
      const made = await act(context, 'voucher.create', (db) =>
        createVouchers(db, commandLine, { amount, count, expires_at, note }),
      );
      const data = made.map(({ id: voucher_id, code }) => {
        return { voucher_id, code, amount_usd_micro: amount, expires_at };
      });
      const worth = `worth ${formatUsd(amount)} USD`;
      const until = expires_at === null ? '' : ` until ${expires_at.toISOString()}`;
      const said =
        count === 1
          ? `This voucher is ${worth}${until}. It is shown once. Its id is ${made[0]!.id}.`
          : `${count} vouchers, each ${worth}${until}. They are shown once.`;
      return { json: { data }, text: `${made.map(({ code }) => code).join('\n')}\n\n${said}` };
    },
  ),
  list: row('list vouchers, newest first', { limit: limitOf(50) }, async ({ limit }, context) => {
    const rows = await withDatabase(context, (db) => vouchers.list(db, { limit: limit + 1 }));
    const { json, text } = listOf('voucher_id', rows.slice(0, limit), columns);
    const part = `\nThese are the newest ${limit}. --limit N shows more.`;
    return { json, text: rows.length > limit ? text + part : text };
  }),
  void: row(
    'cancel a voucher that nobody has redeemed',
    { voucher_id: operand(s.text()) },
    async ({ voucher_id }, context) => {
      if (!isUuid(voucher_id))
        throw new CommandFailed(
          `There is no voucher with the id ${voucher_id}. "farebox voucher list" shows them.`,
        );
      await act(context, 'voucher.void', (db) => voidVoucher(db, voucher_id));
      const text = `${voucher_id} is cancelled and can no longer be redeemed.`;
      return { json: { voucher_id, void: true }, text };
    },
  ),
};

const columns: TableColumns<vouchers.VoucherRow> = {
  'VOUCHER ID': 'id',
  CODE: ({ last4 }) => `FB-…-${last4}`,
  'WORTH USD': 'amount_usd_micro',
  STATUS: 'status',
  EXPIRES: 'expires_at',
  'REDEEMED BY': 'redeemed_by_name',
  NOTE: 'note',
};
