import pino from 'pino';
import type { LiveChain } from '../../src/chains/chains.ts';
import type { Rpc } from '../../src/chains/rpc.ts';
import { showAddress, type DepositKey } from '../../src/core/deposit/address.ts';
import type { Chain, Token } from '../../src/core/deposit/chain.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import { rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { issueAddress } from '../../src/operations/deposits/deposit-address.ts';
import { watchChains, type ChainTask } from '../../src/worker/background/chains.ts';
import { balanceOf, customer, type Customer } from '../kit/by-hand.ts';
import { keyOf } from '../operations/deposits-kit.ts';
import type { ChainWorld, Door, Payment } from './doors.ts';
import { endpointOf, type Faults } from './play-kit.ts';

/** Processes that read chains, customers with addresses, and the states of their deposits. */

export function liveChain(file: Chain, [first, ...more]: Rpc[]): LiveChain {
  const { family } = file;
  const endpoints = [endpointOf(first!), ...more.map(endpointOf)] as const;
  const show = (address: string) => showAddress(address, family);
  return { chain: file, endpoints, key: keyOf(family), show };
}

/** A process that reads these chains when the test calls it. */
export function readerOf(db: Database, ...live: LiveChain[]): ChainTask {
  return jobOf(db, live, false);
}

/** As `readerOf`, for a process that `mayWork` can stop. */
export function checkedReader(db: Database, live: LiveChain, mayWork: () => boolean): ChainTask {
  return jobOf(db, [live], false, mayWork);
}

/** A process that reads these chains when they are due. */
export function runningReader(db: Database, ...live: LiveChain[]): ChainTask {
  return jobOf(db, live, true);
}

/** The amounts of which a task has told that they were credited. */
export const noted: bigint[] = [];

function jobOf(
  db: Database,
  live: LiveChain[],
  running: boolean,
  mayWork: () => boolean = () => true,
): ChainTask {
  return watchChains({
    db,
    log: pino({ level: 'silent' }),
    chains: live,
    chainSeconds: 15,
    reviewUsdMicro: null,
    onDeposits: () => {},
    mayWork,
    noteFailed: () => {},
    noteCredited: (_, amount) => void noted.push(amount),
    hangUp: () => {},
    running,
  });
}

/** Makes every chain due, unless a transaction holds its row. */
export async function wakeChains(db: Database): Promise<void> {
  await db.run(sql`update chains set wake_at = now()
      where name in (select name from chains for update skip locked)`);
}

/** Makes the chain due and reads it. */
export async function readNow(
  db: Database,
  task: ChainTask,
  name: string,
): Promise<chains.ChainRow> {
  await wakeChains(db);
  await task.runOnce();
  const rows = await chains.list(db);
  return rows.find((row) => row.name === name)!;
}

/** Deletes how far the chains were read, for a test with new chains. */
export async function forgetChains(db: Database): Promise<void> {
  await db.run(rawSql('delete from chain_sightings'));
  await db.run(sql`
    update chains set start_height = null, scanned_height = null, rescanned_height = null,
         scanned_hash = null, stopped_why = null, refused_why = null, failures = 0,
         wake_at = now()`);
}

export interface Payer extends Customer {
  /** The deposit address. */
  address: string;
}

export async function payer(db: Database, key: DepositKey): Promise<Payer> {
  const who = await customer(db, 0n);
  const { address } = await issueAddress(db, who.account_id, key);
  return { ...who, address: address! };
}

/** State and reason of the account's deposits in final blocks, oldest first. */
export async function statesOf(db: Database, { account_id }: Customer): Promise<string[]> {
  const rows = await db.run<{ state: string }>(sql`
    select concat_ws(' ', state, why) as state from chain_deposits where account_id = ${account_id}
       order by id`);
  return rows.map(({ state }) => state);
}

/** Transactions that are shown to the account as seen. */
export async function seenBy(db: Database, { account_id }: Customer): Promise<string[]> {
  const rows = await db.run<{ tx_hash: string }>(sql`select tx_hash from chain_sightings
    where account_id = ${account_id} and gone_at is null`);
  return rows.map(({ tx_hash }) => tx_hash);
}

export async function availableTo(db: Database, who: Customer): Promise<bigint> {
  return (await balanceOf(db, who)).available;
}

/** One customer who pays on one chain. */
export interface Scene {
  db: Database;
  door: Door;
  chain: Chain;
  world: ChainWorld;
  who: Payer;
  /** 5 dollars. */
  units: bigint;
  /** The units of each payment. */
  paid: bigint[];
  /** The chain, with an endpoint for each of these faults; default: one endpoint without faults. */
  live(...faults: Faults[]): Promise<LiveChain>;
  reader(...faults: Faults[]): Promise<ChainTask>;
  read(task: ChainTask): Promise<chains.ChainRow>;
  /** Pays the customer 5 dollars, or as `change` says, in one transaction with `beside`. */
  pay(change?: Partial<Payment>, beside?: { before: Payment[]; after: Payment[] }): Promise<string>;
  /** Makes blocks until everything is final. */
  settle(): Promise<void>;
  states(): Promise<string[]>;
  statesOf(who: Customer): Promise<string[]>;
  seen(): Promise<string[]>;
  /** The same customer on another chain. */
  second(change: Partial<Chain>): Promise<Scene>;
  close(): Promise<void>;
}

export async function openScene(db: Database, door: Door): Promise<Scene> {
  const who = await payer(db, keyOf(door.chain.family));
  return sceneOf(db, door, door.chain, who, []);
}

async function sceneOf(
  db: Database,
  door: Door,
  chain: Chain,
  who: Payer,
  paid: bigint[],
): Promise<Scene> {
  const world = await door.open(chain);
  const [{ address: token, decimals }] = chain.tokens as [Token, ...Token[]];
  const units = 5n * 10n ** BigInt(decimals);
  const live = async (...faults: Faults[]) => {
    const wanted = faults.length > 0 ? faults : [{}];
    return liveChain(chain, await Promise.all(wanted.map((each) => world.endpoint(each))));
  };
  const others: Scene[] = [];
  return {
    db,
    door,
    chain,
    world,
    who,
    units,
    paid,
    live,
    reader: async (...faults) => readerOf(db, await live(...faults)),
    read: (task) => readNow(db, task, chain.name),
    pay(change, { before, after } = { before: [], after: [] }) {
      const payment = { token, to: who.address, units, ...change };
      const all = [...before, payment, ...after];
      paid.push(...all.filter(({ to }) => to === who.address).map((each) => each.units));
      return world.pay(...all);
    },
    settle: () => world.mine(door.finalAfter + 1),
    states: () => statesOf(db, who),
    statesOf: (other) => statesOf(db, other),
    seen: () => seenBy(db, who),
    async second(change) {
      const other = await sceneOf(db, door, { ...chain, ...change }, who, paid);
      others.push(other);
      return other;
    },
    async close() {
      await Promise.all(others.map((other) => other.close()));
      await world.close();
    },
  };
}

/** A history of a chain, and the deposits at its end. */
export interface DepositCase {
  /** Plays the history; asserts on the way what must not have happened yet. */
  history(scene: Scene): Promise<void>;
  /** States of the deposits at the end. Default: each payment is credited. */
  deposits?: string[];
  /** Something that a real node cannot do, or not within a test. */
  needs?: 'many blocks' | 'hashes of choice';
}
