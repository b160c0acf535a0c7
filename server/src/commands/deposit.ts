import { formatUsd } from '../core/price/money.ts';
import { needAccount } from '../operations/accounts/account.ts';
import { creditDeposit, ignoreDeposit } from '../operations/deposits/decide-deposit.ts';
import { rescanChain } from '../operations/deposits/rescan-chain.ts';
import { commandLine, runAction } from '../operations/operator-action.ts';
import { print, withDatabase, type Context } from './output.ts';

interface CreditOptions {
  account?: string;
  allowBooked?: boolean;
  reason?: string;
}

export async function credit(
  context: Context,
  depositId: string,
  { account, allowBooked, reason }: CreditOptions,
): Promise<void> {
  const done = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'deposit.credit', async (inside) => {
      const named = account === undefined ? null : await needAccount(inside, account);
      return creditDeposit(inside, {
        deposit_id: depositId,
        account_id: named?.id,
        allows_booked: allowBooked,
        reason,
      });
    }),
  );
  const { account_id, amount_usd_micro } = done;
  print(context, done, `${formatUsd(amount_usd_micro)} USD credited to the account ${account_id}.`);
}

export function assign(
  context: Context,
  depositId: string,
  email: string,
  options: Omit<CreditOptions, 'account'>,
): Promise<void> {
  return credit(context, depositId, { ...options, account: email });
}

export async function ignore(
  context: Context,
  depositId: string,
  { reason }: { reason: string },
): Promise<void> {
  const done = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'deposit.ignore', (inside) =>
      ignoreDeposit(inside, { deposit_id: depositId, reason }),
    ),
  );
  print(context, done, `${depositId} is ignored. "farebox deposit credit" can still credit it.`);
}

export async function rescan(
  context: Context,
  chain: string,
  from: bigint,
  to?: bigint,
): Promise<void> {
  const done = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'chain.rescan', (inside) => rescanChain(inside, chain, from, to)),
  );
  print(
    context,
    done,
    `Blocks ${done.from} to ${done.to} of ${chain} are read once more while the service runs. "farebox chain list" shows how far it is.`,
  );
}
