import { describeChains } from '../../chains/chains.ts';
import { chainsDir } from '../../config.ts';
import { asExplorersWrite } from '../../core/deposit/chain.ts';
import { formatUsd } from '../../core/price/money.ts';
import * as deposits from '../../db/deposits/deposit-search.ts';
import {
  DepositReason,
  depositStates,
  DepositWhy,
  height,
  NewDepositCredit,
} from '../../http/schemas/operator.ts';
import * as s from '../../http/schemas/schema.ts';
import { isUuid } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { creditDeposit, ignoreDeposit } from '../../operations/deposits/decide-deposit.ts';
import { cancelRescan, rescanChain, type Rescan } from '../../operations/deposits/rescan-chain.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import { flag, limitOf, may, ofAccount, operand, row, says } from '../command.ts';
import { accountId, act, withDatabase } from '../database.ts';
import { listOf, type TableColumns, type Context, type CommandOutput } from '../output.ts';
import { checkKeys, families, list as listAddresses, rotate } from './deposit-keys.ts';
import { xpub } from './deposit-xpub.ts';

const deposit_id = operand(s.text());
const how = {
  allow_booked: flag('credit it even if another booking names its transaction'),
  reason: may(DepositReason, "for the operator's log"),
};

export const verbs = {
  xpub: row(
    'make a wallet and print its public keys; offline, and nothing is stored',
    { read: flag('use an existing wallet, whose words you type') },
    xpub,
    { example: ['deposit xpub', 'on a computer that you trust'] },
  ),
  check: row(
    'compare the keys that are set with the database, and derive each address',
    {},
    checkKeys,
    { example: ['deposit check', 'exit 1 if something differs'] },
  ),
  addresses: row(
    'list deposit addresses with their paths and credited amounts',
    {
      since: s.optional(
        s.moment('only addresses with deposits since this time; amounts count from then on'),
      ),
      account: ofAccount,
    },
    listAddresses,
    {
      example: ['deposit addresses --since 2027-01-31 --json', 'for a wallet that collects tokens'],
    },
  ),
  list: row(
    'list deposits in final blocks, newest first',
    {
      state: s.optional(s.choice(depositStates, 'in this state')),
      why: may(DepositWhy, 'not credited for this reason'),
      chain: s.optional(s.text('of one chain', { word: 'name' })),
      account: ofAccount,
      before: s.optional(s.text('only older ones', { word: 'deposit-id' })),
      limit: limitOf(50),
    },
    list,
    { example: ['deposit list --state held', 'deposits that wait for you'] },
  ),
  credit: row(
    'credit a held or ignored deposit, once; it is never undone',
    {
      deposit_id,
      account: may(
        NewDepositCredit.account,
        'needed if it has no account, or its token is not credited',
        'email',
      ),
      ...how,
    },
    credit,
  ),
  assign: row(
    'credit a deposit to this account',
    { deposit_id, email: operand(s.text()), ...how },
    ({ email: account, ...given }, context) => credit({ ...given, account }, context),
  ),
  ignore: row(
    'ignore a held deposit; it may still be credited later',
    { deposit_id, reason: says(DepositReason, "for the operator's log") },
    async (given, context) => {
      const json = await act(context, 'deposit.ignore', (db) => ignoreDeposit(db, given));
      const text = `${given.deposit_id} is ignored. "farebox deposit credit" can still credit it.`;
      return { json, text };
    },
  ),
  rotate: row(
    'derive new addresses from the key that is set now; earlier ones stay',
    { family: operand(s.choice(families)) },
    rotate,
    { example: ['deposit rotate evm', 'after a new FAREBOX_XPUB_EVM was set'] },
  ),
  rescan: row(
    'read blocks once more, to find deposits that were missed',
    {
      chain: operand(s.text()),
      from: s.optional(operand(height('first block'))),
      to: s.optional(operand(height('last block; default: the newest that was read'))),
      cancel: flag('end an earlier rescan'),
    },
    rescan,
    { example: ['deposit rescan bsc 71230000 71231000', 'a known deposit is not credited twice'] },
  ),
};

interface DepositSelection {
  state?: string;
  why?: string;
  chain?: string;
  account?: string;
  before?: string;
  limit: number;
}

async function list(selected: DepositSelection, context: Context): Promise<CommandOutput> {
  const { state = null, why = null, chain = null, account, before = null, limit } = selected;
  if (before !== null && !isUuid(before))
    throw new CommandFailed(`"${before}" is not a deposit's id.`);
  const rows = await withDatabase(context, async (db) => {
    const account_id = await accountId(db, account);
    const filter = { state, why, chain, account_id, tx_hash: null, below_id: before };
    return deposits.search(db, { ...filter, limit: limit + 1 });
  });
  const described = describeChains(chainsDir(context.config));
  const shown = rows.slice(0, limit).map((row) => asExplorersWrite(row, described));
  const next = rows.length > limit ? shown.at(-1)!.id : null;
  const { json, text } = listOf('deposit_id', shown, columns);
  const more = next === null ? '' : `\n"--before ${next}" shows older ones.`;
  return { json: { ...json, next }, text: text + more };
}

const columns: TableColumns<deposits.FoundDepositRow> = {
  'DEPOSIT ID': 'id',
  CHAIN: 'chain',
  'AMOUNT USD': 'amount_usd_micro',
  STATE: ({ state, why }) => (why === null ? state : `${state}: ${why}`),
  ACCOUNT: 'account_email',
  TRANSACTION: 'tx_hash',
  'BLOCK TIME': 'block_at',
};

async function credit(
  given: { deposit_id: string; account?: string; allow_booked?: boolean; reason?: string },
  context: Context,
): Promise<CommandOutput> {
  const { account, allow_booked: allows_booked, ...deposit } = given;
  const described = describeChains(chainsDir(context.config));
  const json = await act(context, 'deposit.credit', async (db) => {
    const account_id = (await accountId(db, account)) ?? undefined;
    return creditDeposit(db, { ...deposit, account_id, allows_booked }, described);
  });
  const { account_id, amount_usd_micro: amount } = json;
  return { json, text: `${formatUsd(amount)} USD credited to the account ${account_id}.` };
}

async function rescan(
  given: { chain: string; from?: number; to?: number; cancel?: boolean },
  context: Context,
): Promise<CommandOutput> {
  const { chain, from, to, cancel = false } = given;
  if (cancel !== (from === undefined))
    throw new CommandFailed('Give the first block, or --cancel to end an earlier rescan.');
  const last = to === undefined ? undefined : BigInt(to);
  const work = (db: Database) =>
    from === undefined ? cancelRescan(db, chain) : rescanChain(db, chain, BigInt(from), last);
  const json = await act<Rescan | { chain: string }>(context, 'chain.rescan', work);
  const text =
    'from' in json
      ? `Blocks ${json.from} to ${json.to} of ${chain} are read once more while the service runs. "farebox chain list" shows how far it is.`
      : `No rescan of ${chain} is under way now.`;
  return { json, text };
}
