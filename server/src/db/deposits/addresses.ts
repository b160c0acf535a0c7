import { playXpub, type DepositKey, type Family } from '../../core/deposit/address.ts';
import { sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';

/** Transfers from a wallet arrive within minutes, transfers from an exchange somewhat later. */
const shownSeconds = 900;
/** More addresses than a service gives to customers between two backups. */
const addressesLost = 100_000;

export interface AddressRow {
  family: Family;
  address: string;
  account_id: string;
  key_id: string;
  index: number;
}

/** The configured key of a chain. */
type SetKey = Pick<DepositKey, 'family' | 'xpub'>;

/**
 * Selects the addresses of the key's family, earlier keys included. Addresses of the trial's key
 * count in the trial only: anybody has its private keys, so on a real chain anybody could pay, be
 * credited and take the tokens back.
 */
function readWith({ family, xpub }: SetKey): Fragment {
  // guard: trial-address-is-not-read
  const leftOut = xpub !== playXpub ? playXpub : '';
  return (bind) => `family = ${bind(family)} and key_id in (select id from deposit_keys
    where xpub <> ${bind(leftOut)})`;
}

/** The account of each of these addresses; addresses of no account are missing. */
export async function findOwners(
  db: Connection,
  key: SetKey,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.run<{ address: string; account_id: string }>(sql`
    select address, account_id from deposit_addresses
    where ${readWith(key)} and address = any(${addresses}::text[])`);
  return new Map(rows.map(({ address, account_id }) => [address, account_id]));
}

/** Every address of a key's family, retired addresses included, because all are read for ever. */
export async function listWatched(db: Connection, key: SetKey): Promise<string[]> {
  const rows = await db.run<{ address: string }>(sql`
    select address from deposit_addresses where ${readWith(key)} order by address`);
  return rows.map(({ address }) => address);
}

/** The key that new addresses of a family are derived from. */
export interface DepositKeyRow {
  id: string;
  family: Family;
  xpub: string;
  next_index: number;
}

export interface StoredKey extends DepositKeyRow {
  retired_at: Date | null;
}

/** Every key, earlier keys included. */
export function listKeys(db: Connection): Promise<StoredKey[]> {
  return db.run<StoredKey>(sql`
    select id, family, xpub, next_index, retired_at from deposit_keys order by family, created_at`);
}

/** Every address, retired addresses included. */
export function listAll(db: Connection): Promise<AddressRow[]> {
  return db.run<AddressRow>(sql`
    select family, address, account_id, key_id, index from deposit_addresses
    order by family, key_id, index`);
}

export async function findCurrentKey(
  db: Connection,
  family: Family,
): Promise<DepositKeyRow | null> {
  const [row] = await db.run<DepositKeyRow>(sql`
    select id, family, xpub, next_index from deposit_keys
    where family = ${family} and retired_at is null`);
  return row ?? null;
}

/** Makes this the current key of its family, unless the family has a current key. */
export async function addXpub(
  db: Connection,
  { id, family, xpub }: Omit<DepositKeyRow, 'next_index'>,
): Promise<void> {
  await db.run(sql`
    insert into deposit_keys (id, family, xpub) values (${id}, ${family}, ${xpub})
    on conflict do nothing`);
}

/** Locks a current key. False: it is no longer current. */
export async function lockKey(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    select from deposit_keys where id = ${id} and retired_at is null for update`);
  return rows.length > 0;
}

/** Retires the current key of a family and makes this key current, even one that was retired. */
export async function replaceKey(
  db: Connection,
  { id, family, xpub }: Omit<DepositKeyRow, 'next_index'>,
): Promise<void> {
  await db.run(sql`
    update deposit_keys set retired_at = now() where family = ${family} and retired_at is null`);
  await db.run(sql`
    insert into deposit_keys (id, family, xpub) values (${id}, ${family}, ${xpub})
    on conflict (family, xpub) do update set retired_at = null`);
}

/** Takes the next index of a key, for one address; null if the key is no longer current. */
export async function takeIndex(db: Connection, keyId: string): Promise<number | null> {
  const [row] = await db.run<{ index: number }>(sql`
    update deposit_keys set next_index = next_index + 1
    where id = ${keyId} and retired_at is null
    returning next_index - 1 as index`);
  return row?.index ?? null;
}

/**
 * Skips indexes of each key. The service may have given their addresses to customers after the
 * backup, and an address is never given to another account.
 */
export async function leaveOut(db: Connection): Promise<void> {
  // guard: restored-copy-issues-new-addresses
  await db.run(sql`update deposit_keys set next_index = next_index + ${addressesLost}`);
}

/** How many addresses the account has from this deposit key, retired addresses included. */
export async function countIssued(
  db: Connection,
  accountId: string,
  keyId: string,
): Promise<number> {
  const [row] = await db.run<{ count: number }>(sql`
    select count(*)::int as count from deposit_addresses
    where account_id = ${accountId} and key_id = ${keyId}`);
  return row!.count;
}

/** Retires the current addresses of a family, of one account or (null) of all. Returns how many. */
export async function retireCurrent(
  db: Connection,
  family: Family,
  accountId: string | null,
): Promise<number> {
  const rows = await db.run(sql`
    update deposit_addresses set retired_at = now()
    where family = ${family} and retired_at is null
      and account_id = coalesce(${accountId}::uuid, account_id)
    returning address`);
  return rows.length;
}

/** The current key of a family, and the address that an account shows now. */
export interface CurrentRow {
  family: Family;
  key_id: string;
  xpub: string;
  /** Null, like `index`, if the account has no address. */
  address: string | null;
  index: number | null;
  /** True: the address was derived from this key. */
  is_of_key: boolean;
}

/** One row for each of these families that has a key. */
export function listCurrent(
  db: Connection,
  accountId: string,
  families: readonly Family[],
): Promise<CurrentRow[]> {
  return db.run<CurrentRow>(sql`
    select k.family, k.id as key_id, k.xpub, a.address, a.index,
      coalesce(a.key_id = k.id, false) as is_of_key
    from deposit_keys k left join deposit_addresses a
      on a.account_id = ${accountId} and a.family = k.family and a.retired_at is null
    where k.family = any(${families}::text[]) and k.retired_at is null`);
}

export async function insert(db: Connection, row: AddressRow): Promise<void> {
  await db.run(sql`
    insert into deposit_addresses (family, address, account_id, key_id, index)
    values (${row.family}, ${row.address}, ${row.account_id}, ${row.key_id}, ${row.index})`);
}

/** Records when these addresses were asked for, at most once a minute for each. */
export async function noteShown(
  db: Connection,
  accountId: string,
  families: readonly Family[],
): Promise<void> {
  await db.run(sql`
    update deposit_addresses set shown_at = now()
    where account_id = ${accountId} and family = any(${families}::text[]) and retired_at is null
      and (shown_at is null or shown_at < now() - interval '1 minute')`);
}

/** Whether somebody has asked for an address of this family lately, and may pay soon. */
export async function areShown(db: Connection, family: Family): Promise<boolean> {
  const rows = await db.run(sql`
    select address from deposit_addresses
    where family = ${family} and shown_at > now() - ${shownSeconds} * interval '1 s'
    order by shown_at desc limit 1`);
  return rows.length > 0;
}
