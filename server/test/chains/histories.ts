import fc from 'fast-check';
import { audit } from '../../src/ledger/audit.ts';
import { sql, type Database } from '../../src/lib/sql/sql.ts';
import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import type { Chain } from '../../src/core/deposit/chain.ts';
import { resumeChain } from '../../src/operations/deposits/resume-chain.ts';
import type { ChainTask } from '../../src/worker/background/chains.ts';
import { chain as file, keyOf, usdt } from '../operations/deposits-kit.ts';
import { crashAt, steppedDatabase, steppedRpc } from './interrupt.ts';
import { playWorld, withFaults, type Faults, type PlayWorld } from './play-kit.ts';
import {
  availableTo,
  forgetChains,
  liveChain,
  payer,
  readerOf,
  seenBy,
  statesOf,
  wakeChains,
  type Payer,
} from './scene.ts';

/**
 * Random histories of a chain with two endpoints and two processes that read it. An endpoint may
 * lie while the other does not. A final block is never replaced.
 */

export type Step =
  | { do: 'pay'; to: number; logs: number; dollars: number }
  | { do: 'mine'; blocks: number }
  | { do: 'reorg'; depth: number; payments: 'paid later' | 'dropped' }
  | { do: 'fault'; endpoint: number; fault: Fault }
  | { do: 'read'; process: number }
  | { do: 'read both' }
  | { do: 'crash'; process: number; call: number };

const faultNames = [
  'none',
  'drops logs',
  'forges amounts',
  'invents',
  'behind',
  'lags',
  'few blocks',
  'few addresses',
  'few logs',
  'away',
  'no receipts',
  'calls the newest final',
] as const;
type Fault = (typeof faultNames)[number];

const payers = 3;
const finalAfter = 3;
const inRange = (min: number, max: number) => fc.integer({ min, max });

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      to: inRange(0, payers - 1),
      logs: inRange(1, 3),
      dollars: inRange(0, 3),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('mine' as const), blocks: inRange(1, 6) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('reorg' as const),
      depth: inRange(1, finalAfter),
      payments: fc.constantFrom('paid later' as const, 'dropped' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      endpoint: inRange(0, 1),
      fault: fc.constantFrom(...faultNames),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('read' as const), process: inRange(0, 1) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read both' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      process: inRange(0, 1),
      call: inRange(1, 45),
    }),
  },
);

interface Life {
  db: Database;
  world: PlayWorld;
  chain: Chain;
  payers: Payer[];
  faults: [Faults, Faults];
  rpcs: Rpc[];
  tasks: ChainTask[];
}

/** Plays a history, heals everything and reads all blocks again. Returns the faults that remain. */
export async function play(db: Database, steps: Step[]): Promise<string[]> {
  const life = await begin(db);
  await readBy(life, life.tasks[0]!);
  for (const each of steps) await act(life, each);
  const broken = await falselyCredited(life);
  life.faults.forEach((faults) => replaceFaults(faults, {}));
  life.world.mine(finalAfter + 1);
  await resumeChain(db, life.chain.name, 100n);
  // The second time credits deposits that only one endpoint knew before.
  for (let i = 0; i < 2; i++) await readBy(life, readerOf(db, liveChain(life.chain, life.rpcs)));
  return [...broken, ...(await differences(life))];
}

let lives = 0;

async function begin(db: Database): Promise<Life> {
  await forgetChains(db);
  lives += 1;
  // A new chain each time, so that blocks and transactions of earlier histories do not matter.
  const chain = { ...file, name: `life-${lives}`, chain_id: 1_000 + lives };
  const world = playWorld(100, chain);
  const faults: [Faults, Faults] = [{}, {}];
  const rpcs = faults.map((each) => withFaults(world.play.rpc, each));
  const who = [];
  for (let i = 0; i < payers; i++) who.push(await payer(db, keyOf('evm')));
  const tasks = [0, 1].map(() => readerOf(db, liveChain(chain, rpcs)));
  return { db, world, chain, payers: who, faults, rpcs, tasks };
}

async function act(life: Life, each: Step): Promise<void> {
  const { world, db, chain, rpcs, tasks } = life;
  if (each.do === 'pay') pay(life, each);
  if (each.do === 'mine') world.mine(each.blocks);
  if (each.do === 'reorg') world.play.reorg(each.depth, each.payments);
  if (each.do === 'fault') {
    // Only one endpoint lies at a time: if both tell the same lie, nobody can notice it.
    const [one, other] = [life.faults[each.endpoint]!, life.faults[1 - each.endpoint]!];
    if (isLie(each.fault)) replaceFaults(other, {});
    replaceFaults(one, faultsOf(each.fault, life));
  }
  if (each.do === 'read') await readBy(life, tasks[each.process]!);
  if (each.do === 'read both') {
    await wakeChains(db);
    await Promise.all(tasks.map((task) => task.runOnce()));
  }
  if (each.do === 'crash') {
    const { step: next } = crashAt(each.call);
    const stepped = rpcs.map((rpc) => steppedRpc(rpc, next));
    const dying = readerOf(steppedDatabase(db, next, true), liveChain(chain, stepped));
    await wakeChains(db);
    await dying.runOnce().catch(() => {});
  }
}

function pay({ world, payers: who }: Life, { to, logs, dollars }: Extract<Step, { do: 'pay' }>) {
  const units = BigInt(dollars) * 10n ** 18n;
  const tx_hash = world.play.pay({ token: usdt, to: who[to]!.address, units });
  for (let i = 1; i < logs; i++) {
    const { address } = who[(to + i) % payers]!;
    world.play.pay({ token: usdt, to: address, units: units + BigInt(i) * 10n ** 18n, tx_hash });
  }
}

async function readBy({ db }: Life, task: ChainTask): Promise<void> {
  await wakeChains(db);
  await task.runOnce();
}

function isLie(fault: Fault): boolean {
  return !['none', 'few blocks', 'few addresses', 'few logs', 'away'].includes(fault);
}

function replaceFaults(faults: Faults, by: Faults): void {
  for (const name of Object.keys(faults)) delete faults[name as keyof Faults];
  Object.assign(faults, by);
}

function faultsOf(fault: Fault, { world, payers: who }: Life): Faults {
  const refusal = (code: number, text: string) => new RpcError('any', code, text);
  const all: Record<Fault, Faults> = {
    none: {},
    'drops logs': { forge: (method, answer) => (method === 'eth_getLogs' ? [] : answer) },
    'forges amounts': { forge: forgedAmounts },
    invents: {
      invents: { token: usdt, to: who[0]!.address, units: 10n ** 20n, height: world.head() },
    },
    behind: { behind: 4 },
    lags: { lag: 5 },
    'few blocks': { blocksMax: [2, refusal(-32602, 'exceed max block range: 2')] },
    'few addresses': { addressesMax: [2, refusal(-32602, 'exceed max topics: 2')] },
    'few logs': { logsMax: [1, refusal(-32005, 'query returned more than 1 results')] },
    away: { refuses: new RpcError('any', null, 'no reply (timeout)') },
    'no receipts': {
      forge: (method, answer) => (method === 'eth_getTransactionReceipt' ? null : answer),
    },
    'calls the newest final': {
      forge: (method, answer) =>
        method === 'eth_blockNumber' ? `0x${(BigInt(answer) + 3n).toString(16)}` : answer,
    },
  };
  return all[fault];
}

function forgedAmounts(method: string, answer: any): unknown {
  const forged = (log: object) => ({ ...log, data: `0x${'0'.repeat(44)}${'9'.repeat(20)}` });
  if (method === 'eth_getLogs') return answer.map(forged);
  return answer?.logs ? { ...answer, logs: answer.logs.map(forged) } : answer;
}

/** The transfers that the chain really has in final blocks. */
async function truthOf({ world, chain, payers: who }: Life) {
  const final = world.head() - BigInt(finalAfter);
  const filter = {
    address: usdt,
    fromBlock: '0x64',
    toBlock: `0x${final.toString(16)}`,
    topics: [null, null, who.map(({ address }) => `0x${address.slice(2).padStart(64, '0')}`)],
  };
  const logs = (await world.play.rpc('eth_getLogs', [filter])) as any[];
  return logs
    .map(({ topics, data, transactionHash }) => ({
      to: `0x${topics[2].slice(-40)}`,
      amount: BigInt(data) / 10n ** 12n,
      tx_hash: transactionHash as string,
    }))
    .filter(({ amount }) => amount >= chain.minimum_usd_micro);
}

/** Credited deposits that the chain does not have. */
async function falselyCredited(life: Life): Promise<string[]> {
  const truth = await truthOf(life);
  const rows = await life.db.run<{ tx_hash: string; amount: bigint }>(sql`
    select tx_hash, amount_usd_micro as amount from chain_deposits
       where chain = ${life.chain.name} and state = 'credited'`);
  return rows
    .filter((row) => !truth.some((t) => t.tx_hash === row.tx_hash && t.amount === row.amount))
    .map((row) => `${row.amount} of ${row.tx_hash} was credited and is not on the chain`);
}

async function differences(life: Life): Promise<string[]> {
  const wrong: string[] = [];
  const truth = await truthOf(life);
  for (const [i, who] of life.payers.entries()) {
    const own = truth.filter(({ to }) => to === who.address);
    const sum = own.reduce((total, { amount }) => total + amount, 0n);
    const available = await availableTo(life.db, who);
    if (available !== sum) wrong.push(`payer ${i} has ${available}, the chain says ${sum}`);
    const states = await statesOf(life.db, who);
    const credited = states.filter((state) => state === 'credited').length;
    if (credited !== own.length) wrong.push(`payer ${i}: ${credited} of ${own.length} credited`);
    const seen = await seenBy(life.db, who);
    if (seen.length > 0) wrong.push(`payer ${i} still sees ${seen.join()}`);
  }
  const { violations } = await audit(life.db);
  return [...wrong, ...violations.map(({ law }) => `audit: ${law}`)];
}
