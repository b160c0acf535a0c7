import type { DepositPlace, HeldWhy, IgnoredWhy } from '../../core/deposit/deposit.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { fragment, sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';

type State = 'held' | 'credited' | 'ignored';

/** The place of a deposit. Its position is null until an endpoint has shown its receipt. */
type PerhapsPlaced = Omit<DepositPlace, 'log_position'> & {
  log_position: number | null;
  /** The number of its log in the block; null: not known. */
  block_log_index: number | null;
};

export interface NewDeposit extends PerhapsPlaced {
  id: string;
  block_height: bigint;
  block_hash: string;
  block_at: Date;
  token: string;
  from_address: string;
  to_address: string;
  amount_units: bigint;
  amount_usd_micro: bigint;
  account_id: string | null;
  state: State;
  why: HeldWhy | IgnoredWhy | null;
  transfer_id: string | null;
}

export interface KnownDeposit extends PerhapsPlaced {
  id: string;
  state: State;
  why: HeldWhy | IgnoredWhy | null;
}

/** Locks and returns the known deposits of these transactions of a chain. */
export function lockMany(
  db: Connection,
  chain: string,
  hashes: readonly string[],
): Promise<KnownDeposit[]> {
  return db.run<KnownDeposit>(sql`
    select id, chain, tx_hash, log_position, block_log_index, state, why from chain_deposits
    where chain = ${chain} and tx_hash = any(${hashes}::text[])
    order by id for update`);
}

/** A deposit as an operator decides on it. */
export interface OpenDeposit extends KnownDeposit {
  token: string;
  account_id: string | null;
  amount_usd_micro: bigint;
}

export function find(db: Connection, id: string): Promise<OpenDeposit | null> {
  return findWith(db, id, fragment(''));
}

/** Like `find`, but locks the row. The caller has locked the balance of the account before. */
export function lock(db: Connection, id: string): Promise<OpenDeposit | null> {
  return findWith(db, id, fragment('for update'));
}

async function findWith(
  db: Connection,
  id: string,
  locking: Fragment,
): Promise<OpenDeposit | null> {
  const [row] = await db.run<OpenDeposit>(sql`
    select id, chain, tx_hash, log_position, block_log_index, token, state, why, account_id,
      amount_usd_micro
    from chain_deposits where id = ${id} ${locking}`);
  return row ?? null;
}

/** Records that a deposit was credited to an account; `lock` has locked it. */
export async function credit(
  db: Connection,
  { id, account_id, transfer_id }: { id: string; account_id: string; transfer_id: string },
): Promise<void> {
  await db.run(sql`
    update chain_deposits set
      state = 'credited',
      why = null,
      account_id = ${account_id},
      transfer_id = ${transfer_id},
      credited_at = now()
    where id = ${id}`);
}

/** Records that an operator ignores a held deposit; `lock` has locked it. */
export async function ignore(db: Connection, id: string): Promise<void> {
  await db.run(sql`
    update chain_deposits set state = 'ignored', why = 'operator' where id = ${id}`);
}

/** A held deposit as it was found on the chain. */
export type UnconfirmedDeposit = Pick<
  NewDeposit,
  | 'tx_hash'
  | 'log_position'
  | 'block_log_index'
  | 'block_height'
  | 'block_hash'
  | 'block_at'
  | 'token'
  | 'from_address'
  | 'to_address'
> & { units: bigint };

/**
 * Held deposits of these tokens that an endpoint did not know yet. In random order, because some
 * deposits are never confirmed and must not keep others out of the limit.
 */
export async function listUnconfirmed(
  db: Connection,
  chain: string,
  tokens: readonly string[],
  limit: number,
): Promise<UnconfirmedDeposit[]> {
  const rows = await db.run<Omit<UnconfirmedDeposit, 'units'> & { units: string }>(sql`
    select tx_hash, log_position, block_log_index, block_height, block_hash, block_at, token,
      from_address, to_address, amount_units::text as units
    from chain_deposits
    where chain = ${chain} and state = 'held' and why = 'unconfirmed'
      and token = any(${tokens}::text[])
    order by random() limit ${limit}`);
  return rows.map(({ units, ...row }) => ({ ...row, units: BigInt(units) }));
}

/**
 * The transaction hash in a reference: 64 digits after `0x`, or else the last 64 digits, because a
 * word such as `trc20` may come directly before the hash. The index transfers_named_hash uses the
 * same expression.
 */
const namedHash = fragment(`'(?:0x|[0-9a-f]*)([0-9a-f]{64})'`);

/** Those of the given transactions that a booking by hand names in its reference. */
export async function findMentioned(
  db: Connection,
  hashes: readonly string[],
): Promise<Set<string>> {
  const plain = hashes.map((hash) => hash.slice(2));
  const rows = await db.run<{ hash: string }>(sql`
    select distinct substring(lower(reference) from ${namedHash}) as hash from transfers
    where substring(lower(reference) from ${namedHash}) = any(${plain}::text[])
      and reference is not null and reference !~ '^chain:'`);
  return new Set(rows.map(({ hash }) => `0x${hash}`));
}

/** Whether the reference names a transaction whose deposit was credited on one of the chains. */
export async function isCredited(db: Connection, reference: string): Promise<boolean> {
  const found = await db.run(sql`
    select from chains join chain_deposits d on d.chain = chains.name
      and d.tx_hash = '0x' || substring(lower(${reference}::text) from ${namedHash})
    where d.state = 'credited' limit 1`);
  return found.length > 0;
}

/** Inserts deposits. A credited deposit gets the present time as `credited_at`. */
export async function insertMany(db: Connection, deposits: NewDeposit[]): Promise<void> {
  await db.run(sql`
    insert into chain_deposits (id, chain, tx_hash, log_position, block_log_index, block_height,
      block_hash, block_at, token, from_address, to_address, amount_units, amount_usd_micro,
      account_id, state, why, transfer_id, credited_at, seen_at)
    select d.*, case when state = 'credited' then now() end, coalesce((
      select min(seen_at) from chain_sightings s
      where s.chain = d.chain and s.tx_hash = d.tx_hash), now())
    from ${rowsOf(deposits, columns)} as d`);
}

/**
 * Stores decisions on held deposits, which `lockMany` has locked. Replaces their facts too, because
 * only one endpoint had reported them so far.
 */
export async function decideMany(db: Connection, deposits: NewDeposit[]): Promise<void> {
  await db.run(sql`
    update chain_deposits c set
      log_position = coalesce(d.log_position, c.log_position),
      block_log_index = coalesce(d.block_log_index, c.block_log_index),
      block_height = d.block_height,
      block_hash = d.block_hash,
      block_at = d.block_at,
      token = d.token,
      from_address = d.from_address,
      to_address = d.to_address,
      amount_units = d.amount_units,
      amount_usd_micro = d.amount_usd_micro,
      account_id = d.account_id,
      state = d.state,
      why = d.why,
      transfer_id = d.transfer_id,
      credited_at = case when d.state = 'credited' then now() end
    from ${rowsOf(deposits, columns)} d
    where c.id = d.id`);
}

const columns = {
  id: 'uuid',
  chain: 'text',
  tx_hash: 'text',
  log_position: 'int',
  block_log_index: 'int',
  block_height: 'bigint',
  block_hash: 'text',
  block_at: 'timestamptz',
  token: 'text',
  from_address: 'text',
  to_address: 'text',
  amount_units: 'numeric',
  amount_usd_micro: 'bigint',
  account_id: 'uuid',
  state: 'text',
  why: 'text',
  transfer_id: 'uuid',
} as const;
