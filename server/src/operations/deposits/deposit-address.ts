import type { DepositKey, Family } from '../../core/deposit/address.ts';
import type { Chain, ShownChain } from '../../core/deposit/chain.ts';
import * as addresses from '../../db/deposits/addresses.ts';
import * as chains from '../../db/deposits/chains.ts';
import * as installation from '../../db/installation.ts';
import { newId } from '../../lib/id.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { Refusal } from '../refusal.ts';

/** A chain on which customers can pay. */
export interface DepositChain extends ShownChain {
  key: DepositKey;
}

/** An address of an account, as people write it. */
export interface AccountAddress {
  chain: Chain;
  address: string;
}

/**
 * The account's addresses. An address is issued at the first call and belongs to the account for
 * ever. A chain is left out while a deposit would not be noticed, because the chain was not read
 * yet, is stopped or has a wrong setting. It is also left out while its key differs from the stored
 * key. A restored copy issues no addresses.
 */
export async function listAddresses(
  db: Database,
  accountId: string,
  offered: readonly DepositChain[],
): Promise<AccountAddress[]> {
  const readable = await chains.findReadable(
    db,
    offered.map(({ chain }) => chain.name),
  );
  const open = offered.filter(({ chain }) => readable.has(chain.name));
  const keys = new Map(open.map(({ key }) => [key.family, key]));
  const known = keys.size === 0 ? [] : await addresses.listCurrent(db, accountId, [...keys.keys()]);
  const found = new Map<Family, string>();
  for (const key of keys.values()) {
    const current = compare(
      known.find(({ family }) => family === key.family),
      key,
    );
    const { address } = isMissing(current) ? await issueAddress(db, accountId, key) : current;
    if (address !== null) found.set(key.family, address);
  }
  return open.flatMap(({ chain, show }) => {
    const address = found.get(chain.family);
    return address === undefined ? [] : [{ chain, address: show(address) }];
  });
}

/**
 * Like `listAddresses`, for a person who is about to pay: the chains are read more often for a
 * while. Not for calls whose replies merely include addresses, because programs may make such calls
 * all the time.
 */
export async function listAddressesForPayer(
  db: Database,
  accountId: string,
  offered: readonly DepositChain[],
): Promise<AccountAddress[]> {
  const open = await listAddresses(db, accountId, offered);
  const families = new Set(open.map(({ chain }) => chain.family));
  if (families.size > 0) await addresses.noteShown(db, accountId, [...families]);
  return open;
}

/**
 * Why no address may be shown: somebody may have replaced the key, and with it everybody's
 * addresses.
 */
export type KeyDifference = 'xpub_differs' | 'address_differs';

/** None was issued. */
const missing = { address: null, differs: null };

export type IssuedAddress =
  | { address: string; differs: null }
  | { address: null; differs: KeyDifference | null };

/**
 * The account's address of the key's family, issued at the first call. The key and the address are
 * compared with the database each time: if one of them differs, no address is returned. A restored
 * copy issues no address until it is resumed.
 */
export function issueAddress(
  db: Database,
  accountId: string,
  key: DepositKey,
): Promise<IssuedAddress> {
  return db.tx(async (tx) => {
    const stored = await storeAndReadRow(tx, accountId, key);
    const current = compare(stored, key);
    if (!isMissing(current)) return current;
    // The original database may have given the next address to another customer.
    // guard: held-copy-issues-no-address
    if (await installation.isCopy(tx)) return missing;
    return issue(tx, accountId, key, stored.key_id);
  });
}

/**
 * Replaces the account's current address by a new one, so that payments are not linked on the
 * chain. The earlier address is still read, and its deposits still belong to the account. Throws
 * `Refusal` if the account has too many addresses.
 */
export function renewAddress(
  db: Database,
  accountId: string,
  key: DepositKey,
): Promise<IssuedAddress> {
  return db.tx(async (tx) => {
    const stored = await storeAndReadRow(tx, accountId, key);
    const { key_id, address } = stored;
    const current = compare(stored, key);
    if (current.differs !== null) return current;
    // guard: held-copy-issues-no-address
    if (await installation.isCopy(tx)) return missing;
    // Locks the key's row, so renewals come one after the other.
    if (!(await addresses.lockKey(tx, key_id))) return { address: null, differs: 'xpub_differs' };
    const issued = await addresses.countIssued(tx, accountId, key_id);
    // guard: new-addresses-bounded
    if (issued >= addressesMax)
      throw new Refusal(
        `An account can have ${addressesMax} addresses of a network. Use the current one: it ` +
          'stays valid.',
        { reason: 'addresses_too_many', maximum: addressesMax },
      );
    if (address !== null) await addresses.retireCurrent(tx, key.family, accountId);
    return issue(tx, accountId, key, key_id);
  });
}

/** Every address is read for ever, so each new address makes reading a little slower. */
const addressesMax = 20;

/**
 * The account's current address as it was stored, if the configured key derives it. Replacing a key
 * retires its addresses, so a current address never belongs to an earlier key.
 */
function compare(
  stored: addresses.CurrentRow | undefined,
  { xpub, addressAt }: DepositKey,
): IssuedAddress {
  if (!stored) return missing;
  const { address, index, is_of_key } = stored;
  // guard: replaced-key-shows-nothing
  if (stored.xpub !== xpub) return { address: null, differs: 'xpub_differs' };
  if (address === null) return missing;
  // guard: changed-address-is-not-shown (off: true)
  const isDerived = is_of_key && addressAt(index!) === address;
  return isDerived ? { address, differs: null } : { address: null, differs: 'address_differs' };
}

function isMissing({ address, differs }: IssuedAddress): boolean {
  return address === null && differs === null;
}

/** Families whose configured key differs from the stored one, so that no address is shown. */
export async function findDifferingKeys(
  db: Database,
  offered: readonly DepositChain[],
): Promise<Family[]> {
  const keys = new Map(offered.map(({ key }) => [key.family, key]));
  const found: Family[] = [];
  for (const { family, xpub } of keys.values()) {
    const stored = await addresses.findCurrentKey(db, family);
    if (stored !== null && stored.xpub !== xpub) found.push(family);
  }
  return found;
}

/** The family's current key and the account's address. Stores the configured key as first key. */
async function storeAndReadRow(
  tx: Connection,
  accountId: string,
  { family, xpub }: DepositKey,
): Promise<addresses.CurrentRow> {
  const [known] = await addresses.listCurrent(tx, accountId, [family]);
  if (known) return known;
  await addresses.addXpub(tx, { id: newId(), family, xpub });
  const [added] = await addresses.listCurrent(tx, accountId, [family]);
  return added!;
}

async function issue(
  tx: Connection,
  account_id: string,
  key: DepositKey,
  key_id: string,
): Promise<IssuedAddress> {
  // Locks the key's row, so two calls for one account come one after the other.
  const index = await addresses.takeIndex(tx, key_id);
  // An operator has just replaced the key.
  if (index === null) return { address: null, differs: 'xpub_differs' };
  const { family, addressAt } = key;
  const [stored] = await addresses.listCurrent(tx, account_id, [family]);
  const earlier = compare(stored, key);
  if (!isMissing(earlier)) return earlier;
  const address = addressAt(index);
  await addresses.insert(tx, { family, address, account_id, key_id, index });
  return { address, differs: null };
}
