import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openRpc } from '../server/src/chains/rpc.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { createFetch } from '../server/src/lib/outbound/fetch.ts';
import { liveChain, readerOf, wakeChains } from '../server/test/chains/scene.ts';
import { playWorld } from '../server/test/chains/play-kit.ts';
import { serveRpc } from '../server/test/chains/rpc-server.ts';
import * as chains from '../server/src/db/deposits/chains.ts';
import { createAccount } from '../server/src/operations/accounts/account.ts';
import { issueAddress } from '../server/src/operations/deposits/deposit-address.ts';
import { chain, keyOf, usdt } from '../server/test/operations/deposits-kit.ts';
import type { Bench } from './service.ts';
import { round } from './calls.ts';
import type { Question, Row } from './run.ts';

const addresses = 10_000;
const behind = 2_000;
const deposits = 200;

setFlagsFromString('--expose-gc');
/** Collects garbage, so that the heap shows only what is kept. */
const collect = runInNewContext('gc') as () => void;

const question: Question = {
  asks: `with ${addresses} deposit addresses, how long does a reader that is ${behind} blocks behind take to catch up, and what does an idle chain cost?`,
  async measure(bench, { rounds }) {
    const to = await fill(bench);
    const rows: Row[] = [];
    for (let i = 0; i < rounds; i++) rows.push(...(await measureOne(bench, to, i)));
    return rows;
  },
};
export default question;

async function measureOne({ db }: Bench, to: string, i: number): Promise<Row[]> {
  const file = { ...chain, name: `bench-${i}`, chain_id: 100 + i, start_height: null };
  const world = playWorld(100, file);
  let calls = 0;
  const server = await serveRpc((method, params) => {
    calls += 1;
    return world.play.rpc(method, params);
  });
  const fetch = createFetch({ guard: false });
  const job = readerOf(db, liveChain(file, [openRpc(fetch, { url: server.url })]));
  await job.runOnce();
  const measured = async (what: string): Promise<Row> => {
    await wakeChains(db);
    calls = 0;
    const start = performance.now();
    await job.runOnce();
    const ms = performance.now() - start;
    collect();
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    return { what, ms: round(ms), calls, 'heap MB': heap, ...(await progressOf(db, file.name)) };
  };
  for (let n = 0; n < deposits; n++) {
    world.play.pay({ token: usdt, to, units: 5n * 10n ** 18n });
    world.mine(behind / deposits);
  }
  world.mine(3);
  const rows = [await measured(`${behind} blocks and ${deposits} deposits behind`)];
  world.mine();
  rows.push(await measured('idle'));
  await job.stop();
  await fetch.close();
  await server.close();
  return rows;
}

async function progressOf(db: Bench['db'], name: string): Promise<Row> {
  const row = (await chains.list(db)).find((each) => each.name === name)!;
  const [credited] = await db.run<{ n: bigint }>(
    rawSql(`select count(*) as n from chain_deposits where chain = $1 and state = 'credited'`, [
      name,
    ]),
  );
  return {
    'blocks left': Number(row.head_height! - row.scanned_height!),
    credited: Number(credited!.n),
  };
}

/** Makes accounts with one address each. Returns one of the addresses. */
async function fill({ db }: Bench): Promise<string> {
  const key = keyOf('evm');
  const { id } = await createAccount(db, { email: 'payer@example.com', is_operator: false });
  const { address } = await issueAddress(db, id, key);
  await db.run(
    rawSql(
      `insert into deposit_addresses (family, address, account_id, key_id, index, retired_at)
       select 'evm', '0x' || lpad(to_hex(n), 40, '0'), $1,
         (select id from deposit_keys where retired_at is null), n, now()
       from generate_series(1, $2::int - 1) n`,
      [id, addresses],
    ),
  );
  await db.run(rawSql('vacuum analyze'));
  return address!;
}
