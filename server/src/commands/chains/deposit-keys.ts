import { describeChains, openKey } from '../../chains/chains.ts';
import { chainsDir, type Config } from '../../config.ts';
import {
  accountPaths,
  readXpub,
  showAddress,
  type AddressSource,
  type Family,
} from '../../core/deposit/address.ts';
import { asExplorersWrite, xpubVariable } from '../../core/deposit/chain.ts';
import * as addresses from '../../db/deposits/addresses.ts';
import { listAddresses, type ListedAddress } from '../../db/deposits/address-list.ts';
import { rotateDepositKey } from '../../operations/deposits/rotate-key.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import { accountId, act, withDatabase } from '../database.ts';
import {
  countText,
  table,
  type TableColumns,
  type Context,
  type CommandOutput,
} from '../output.ts';

/** Keys and addresses of deposits, compared with the settings and exported for the wallet. */

export const families = Object.keys(accountPaths) as Family[];

export async function rotate(
  { family }: { family: Family },
  context: Context,
): Promise<CommandOutput> {
  const xpub = xpubOf(context.config, family);
  if (xpub === null)
    throw new CommandFailed(`${xpubVariable(family)} is not set. Set it to the new key first.`);
  const key = openKey(family, xpub);
  if ('problem' in key) throw new CommandFailed(key.problem);
  const json = await act(context, 'deposit.rotate', (db) => rotateDepositKey(db, key));
  const text = `New ${family} addresses come from the key that is set now; ${countText(json.retired_addresses, 'account')} will get one. The earlier addresses are still read.`;
  return { json, text };
}

function xpubOf({ FAREBOX_XPUB_EVM, FAREBOX_XPUB_TRON }: Config, family: Family): string | null {
  return { evm: FAREBOX_XPUB_EVM, tron: FAREBOX_XPUB_TRON }[family];
}

/** Compares keys and addresses with the database. Returns exit code 1 if something differs. */
export async function checkKeys(_: object, context: Context): Promise<CommandOutput> {
  const { keys, rows } = await withDatabase(context, async (db) => ({
    keys: await addresses.listKeys(db),
    rows: await addresses.listAll(db),
  }));
  const problems = [
    ...families.flatMap((family) => keyProblems(context.config, family, keys)),
    ...addressProblems(keys, rows),
  ];
  const text =
    problems.length === 0
      ? `${countText(keys.length, 'key')} and ${rows.length} ${rows.length === 1 ? 'address' : 'addresses'}: all as they were issued.`
      : problems.map((each) => `wrong: ${each}`).join('\n');
  const ok = problems.length === 0;
  const json = { ok, keys: keys.length, addresses: rows.length, problems };
  return { json, text, exit: ok ? 0 : 1 };
}

/** Differences between the setting of a family and the database. */
function keyProblems(config: Config, family: Family, keys: addresses.StoredKey[]): string[] {
  const setting = xpubVariable(family);
  const xpub = xpubOf(config, family);
  const stored = keys.filter((each) => each.family === family);
  if (xpub === null)
    return stored.every(isOfTrial)
      ? []
      : [
          `Addresses of the family ${family} were issued, but ${setting} is not set, so no deposit to them is read. Set it again.`,
        ];
  const key = openKey(family, xpub);
  if ('problem' in key) return [key.problem];
  const current = stored.find(({ retired_at }) => retired_at === null);
  if (current && current.xpub !== xpub)
    return [
      `${setting} is not the key in the database, so no ${family} address is shown. If you have replaced the key, run "farebox deposit rotate ${family}". If not, somebody has changed the setting or the database: compare both with your wallet.`,
    ];
  return [];
}

/** Whether a key is the trial's, which stays in the database and has no setting. */
function isOfTrial({ family, xpub }: addresses.StoredKey): boolean {
  return 'problem' in openKey(family, xpub);
}

/** Derives each address again; names the addresses that differ, and damaged keys. */
function addressProblems(keys: addresses.StoredKey[], rows: addresses.AddressRow[]): string[] {
  const sources = new Map<string, AddressSource>();
  const problems: string[] = [];
  for (const { id, family, xpub } of keys) {
    const read = readXpub(xpub, family);
    if ('problem' in read)
      problems.push(`The key ${id} in the database is damaged. Restore it from a backup.`);
    else sources.set(id, read.addressAt);
  }
  for (const { family, address, account_id, key_id, index } of rows) {
    const derived = sources.get(key_id)?.(index);
    if (derived === undefined || derived === address) continue;
    problems.push(
      `${showAddress(address, family)} of the account ${account_id} should be ${showAddress(derived, family)} (index ${index}). Somebody has changed the database: your wallet has no key for the first one. Restore the row from a backup, and tell the customer if it was shown.`,
    );
  }
  return problems;
}

/** All addresses, for the wallet that moves the tokens away. */
export async function list(
  given: { since?: string; account?: string },
  context: Context,
): Promise<CommandOutput> {
  const since = given.since === undefined ? null : new Date(given.since);
  const rows = await withDatabase(context, async (db) =>
    listAddresses(db, { account_id: await accountId(db, given.account), since }),
  );
  const described = describeChains(chainsDir(context.config));
  const data = rows.map((row) => ({
    ...row,
    address: showAddress(row.address, row.family),
    received: row.received.map((each) => asExplorersWrite(each, described)),
    path: pathOf(row),
  }));
  return { json: { data }, text: table(data, columns) };
}

const columns: TableColumns<
  Omit<ListedAddress, 'received' | 'family' | 'index'> & { path: string }
> = {
  ADDRESS: 'address',
  PATH: 'path',
  ACCOUNT: 'account_email',
  'CREDITED USD': 'credited_usd_micro',
  'LAST DEPOSIT': 'last_at',
  RETIRED: 'retired_at',
};

function pathOf({ family, index }: Pick<ListedAddress, 'family' | 'index'>): string {
  return `${accountPaths[family]}/0/${index}`;
}
