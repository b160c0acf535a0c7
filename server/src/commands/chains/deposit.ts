import { describedChains } from '../../chains/chains.ts';
import { chainsDir } from '../../config.ts';
import { asExplorersWrite } from '../../core/deposit/chain.ts';
import { formatUsd } from '../../core/price/money.ts';
import * as deposits from '../../db/deposits/deposit-search.ts';
import { isUuid } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { needAccount } from '../../operations/accounts/account.ts';
import { creditDeposit, ignoreDeposit } from '../../operations/deposits/decide-deposit.ts';
import { cancelRescan, rescanChain, type Rescan } from '../../operations/deposits/rescan-chain.ts';
import { commandLine, runAction } from '../../operations/operator-action.ts';
import { CommandFailed } from '../../operations/refused.ts';
import { print, table, withDatabase, type Context } from '../output.ts';

const states = ['held', 'credited', 'ignored'];

interface Selected {
  state?: string;
  why?: string;
  chain?: string;
  account?: string;
  before?: string;
  limit: number;
}

const head = ['DEPOSIT ID', 'CHAIN', 'AMOUNT USD', 'STATE', 'ACCOUNT', 'TRANSACTION', 'BLOCK TIME'];

export async function list(context: Context, selected: Selected): Promise<void> {
  const { state = null, why = null, chain = null, account, before = null, limit } = selected;
  if (state !== null && !states.includes(state))
    throw new CommandFailed(`"${state}" is not a state: use one of ${states.join(', ')}.`);
  if (before !== null && !isUuid(before))
    throw new CommandFailed(`"${before}" is not a deposit's id.`);
  const rows = await withDatabase(context, async (db) => {
    const account_id = account === undefined ? null : (await needAccount(db, account)).id;
    const filter = { state, why, chain, account_id, tx_hash: null, below_id: before };
    return deposits.search(db, { ...filter, limit: limit + 1 });
  });
  const described = describedChains(chainsDir(context.config));
  const shown = rows.slice(0, limit).map((row) => asExplorersWrite(row, described));
  const next = rows.length > limit ? shown.at(-1)!.id : null;
  const cells = shown.map((row) => [
    row.id,
    row.chain,
    formatUsd(row.amount_usd_micro),
    row.why === null ? row.state : `${row.state}: ${row.why}`,
    row.account_email ?? '-',
    row.tx_hash,
    row.block_at.toISOString(),
  ]);
  const data = shown.map(({ id: deposit_id, ...row }) => ({ deposit_id, ...row }));
  const more = next === null ? '' : `\n"--before ${next}" shows older ones.`;
  print(context, { data, next }, table(head, cells) + more);
}

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
  const described = describedChains(chainsDir(context.config));
  const done = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'deposit.credit', async (inside) => {
      const named = account === undefined ? null : await needAccount(inside, account);
      const wanted = { deposit_id: depositId, account_id: named?.id, reason };
      return creditDeposit(inside, { ...wanted, allows_booked: allowBooked }, described);
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
  from: bigint | undefined,
  to: bigint | undefined,
  { cancel = false }: { cancel?: boolean },
): Promise<void> {
  if (cancel !== (from === undefined))
    throw new CommandFailed('Give the first block, or --cancel to end an earlier rescan.');
  const work = (inside: Database) =>
    from === undefined ? cancelRescan(inside, chain) : rescanChain(inside, chain, from, to);
  const done = await withDatabase(context, (db) =>
    runAction<Rescan | { chain: string }>(db, commandLine, 'chain.rescan', work),
  );
  const said =
    'from' in done
      ? `Blocks ${done.from} to ${done.to} of ${chain} are read once more while the service runs. "farebox chain list" shows how far it is.`
      : `No rescan of ${chain} is under way now.`;
  print(context, done, said);
}
