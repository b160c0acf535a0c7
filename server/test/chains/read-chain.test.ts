import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChainEndpoint } from '../../src/chains/noted.ts';
import {
  demandSetting,
  readChain,
  ReplacedBlock,
  type ChainReading,
  type Cursor,
} from '../../src/chains/read-chain.ts';
import { RpcError } from '../../src/chains/rpc.ts';
import { hexOf } from '../../src/chains/wire.ts';
import { chain, usdt } from '../operations/deposits-kit.ts';
import { endpointOf, playWorld, withFaults, type Faults, type PlayWorld } from './play-kit.ts';

const ours = `0x${'0a'.repeat(20)}`;
const others = Array.from({ length: 600 }, (_, i) => `0x${String(i).padStart(40, 'b')}`);
const addresses = [ours, ...others];
const many = (count: number) => [
  ours,
  ...Array.from({ length: count - 1 }, (_, i) => `0x${String(i).padStart(40, 'c')}`),
];
const units = 5n * 10n ** 18n;

const read = (endpoints: [ChainEndpoint, ...ChainEndpoint[]], cursor: Cursor | null) =>
  readChain(chain, endpoints, cursor, () => Promise.resolve(addresses));
/** Null: reading begins at block 100, as the chain file says. */
const start = null;
const after = ({ scanned }: ChainReading): Cursor => ({ ...scanned!, seen: null });
const places = ({ final }: ChainReading) =>
  final.map(({ block_height, log_position }) => `${block_height}:${log_position}`);

/** A world with three payments in blocks 101, 103 and 106, and the final block 108. */
function paid(world: PlayWorld = playWorld()): PlayWorld {
  for (const wait of [1, 2, 3]) {
    world.mine(wait - 1);
    world.play.pay({ token: usdt, to: ours, units });
    world.mine();
  }
  world.mine(5);
  return world;
}

describe('a read', () => {
  test('finds what was paid in final blocks, and what is above them', async () => {
    const world = paid();
    world.play.pay({ token: usdt, to: ours, units });
    world.mine();
    const reading = await read([endpointOf(world.play.rpc)], start);
    assert.deepEqual(places(reading), ['101:0', '103:0', '106:0']);
    assert.deepEqual(
      reading.seen!.map(({ block_height }) => block_height),
      [112n],
    );
    assert.deepEqual([reading.scanned!.height, reading.head], [109n, 112n]);
  });

  test('goes on where the last one ended, and finds nothing twice', async () => {
    const world = paid();
    const endpoint = endpointOf(world.play.rpc);
    const first = await read([endpoint], start);
    const second = await read([endpoint], after(first));
    assert.deepEqual([second.final, second.scanned], [[], null]);
    world.mine(10);
    const third = await read([endpoint], after(first));
    assert.deepEqual([third.final, third.scanned!.height], [[], 118n]);
  });

  const late: [outcome: string, seen: bigint | null, blocksMax: number, asked: number][] = [
    ['never saw what is above it', null, 2_000, 2_000 + 5],
    ['saw what is above it', 9_990n, 2_000, 64 + 10 + 5],
    ['saw more than the endpoint has now', 20_000n, 2_000, 64 + 5],
    ['saw what is above it, and takes few blocks', 9_990n, 10, 64 + 10 + 5],
  ];
  for (const [outcome, seen, blocksMax, asked] of late)
    test(`whose final block is 5,000 blocks behind leaves most of them out if it ${outcome}`, async () => {
      const world = playWorld(10_000);
      const file = { ...chain, finality: { confirmations: 5_000 } };
      let blocks = 0;
      const refusal = new RpcError('eth_getLogs', -32600, `up to a ${blocksMax} block range`);
      const endpoint = endpointOf(
        withFaults(world.play.rpc, {
          blocksMax: [blocksMax, refusal],
          forge: (method, answer, [filter]) => {
            if (method === 'eth_getLogs')
              blocks += Number(BigInt(filter.toBlock) - BigInt(filter.fromBlock)) + 1;
            return answer;
          },
        }),
      );
      endpoint.limits.noteRefusal(refusal, { blocks: 4_000, addresses: 1 });
      const cursor = { height: 4_995n, hash: null, seen };
      const reading = await readChain(file, [endpoint], cursor, () => Promise.resolve([ours]));
      assert.equal(reading.scanned!.height, 5_000n);
      assert.equal(blocks, asked);
      const to = 10_000n - BigInt(asked - 5);
      assert.deepEqual(reading.skipped, { from: 5_001n, to });
    });

  test('of an idle chain with 10,000 addresses makes four calls', async () => {
    const world = paid();
    const endpoint = endpointOf(world.play.rpc);
    const load = () => Promise.resolve(many(10_000));
    const first = await readChain(chain, [endpoint], start, load);
    world.mine();
    endpoint.calls.length = 0;
    await readChain(chain, [endpoint], after(first), load);
    assert.equal(endpoint.calls.length, 4, endpoint.calls.join());
  });

  test('of 2,000 blocks with 10,000 addresses makes one call for logs', async () => {
    const world = paid();
    world.mine(1_988);
    const endpoint = endpointOf(world.play.rpc);
    const load = () => Promise.resolve(many(10_000));
    const { scanned } = await readChain(chain, [endpoint], start, load);
    assert.equal(scanned!.height, 2_096n);
    const questions = endpoint.calls.filter((method) => method === 'eth_getLogs');
    assert.equal(questions.length, 1);
    // The other calls read each payment's block and receipt, and the newest block.
    assert.ok(endpoint.calls.length <= 16, endpoint.calls.join());
  });

  test('after a long absence reads a part, and shows nothing above it yet', async () => {
    const world = paid();
    world.mine(5_000);
    const endpoint = endpointOf(world.play.rpc);
    let cursor: Cursor | null = start;
    const parts: [bigint, boolean][] = [];
    for (let seen: ChainReading['seen'] = null; seen === null;) {
      const reading = await read([endpoint], cursor);
      seen = reading.seen;
      cursor = after(reading);
      parts.push([cursor.height, seen === null]);
    }
    assert.deepEqual(parts, [
      [2_099n, true],
      [4_099n, true],
      [5_108n, false],
    ]);
  });
});

describe('an endpoint', () => {
  const rpcError = (code: number, text: string) => new RpcError('eth_getLogs', code, text);
  const sizes: Record<string, Faults> = {
    'that takes 10 blocks, and says so': {
      blocksMax: [
        10,
        rpcError(-32600, 'You can make eth_getLogs requests with up to a 10 block range'),
      ],
    },
    'that takes 3 blocks, without a number': { blocksMax: [3, rpcError(-32000, 'range too wide')] },
    'that takes 50 addresses, and says so': {
      addressesMax: [50, rpcError(-32602, 'exceed max topics: 50')],
    },
    'that gives one log at a time': {
      logsMax: [1, rpcError(-32005, 'query returned more than 1 results')],
    },
    'that answers 413': { blocksMax: [7, rpcError(413, 'request entity too large')] },
    'that times out over many blocks': {
      blocksMax: [2, rpcError(-32000, 'query timeout exceeded')],
    },
    'that does not answer in time for many blocks': {
      blocksMax: [2, new RpcError('eth_getLogs', null, 'no reply (timeout)')],
    },
    'that takes one block, in a code of its own': {
      blocksMax: [1, rpcError(-32614, 'eth_getLogs is limited to a 1 range')],
    },
    'that takes 3 addresses of a block, without a word about it': {
      addressesMax: [3, rpcError(-32603, 'Internal error')],
    },
    'that takes few blocks and few addresses, and blames somebody else': {
      blocksMax: [4, rpcError(-32001, 'resource not found')],
      addressesMax: [9, rpcError(502, 'Bad Gateway')],
    },
    'that answers null for many blocks': {
      forge: (method, answer, [filter]) =>
        method === 'eth_getLogs' && filter.fromBlock !== filter.toBlock ? null : answer,
    },
  };
  for (const [outcome, faults] of Object.entries(sizes))
    test(`${outcome} is asked for less, and nothing is missed`, async () => {
      const world = paid();
      const reading = await read([endpointOf(withFaults(world.play.rpc, faults))], start);
      assert.deepEqual(places(reading), ['101:0', '103:0', '106:0']);
    });

  const crowds: [outcome: string, refusal: RpcError, left: number][] = [
    ['that calls them too many', rpcError(-32602, 'too many addresses'), 1_000],
    ['that names its number', rpcError(-32602, 'exceed max topics: 5000'), 5_000],
    ['whose proxy refuses so long a question', rpcError(413, 'Request Entity Too Large'), 1_000],
    ['that says only that it failed', rpcError(500, 'Internal error'), 1_000],
  ];
  for (const [outcome, refusal, left] of crowds)
    test(`${outcome} gets fewer of 10,000 addresses at once, and as many blocks`, async () => {
      const world = paid();
      const faults: Faults = { addressesMax: [left, refusal] };
      const endpoint = endpointOf(withFaults(world.play.rpc, faults));
      const load = () => Promise.resolve(many(10_000));
      const reading = await readChain(chain, [endpoint], start, load);
      assert.deepEqual(places(reading), ['101:0', '103:0', '106:0']);
      assert.deepEqual([endpoint.limits.addresses, endpoint.limits.blocks], [left, 2_000]);
      const questions = endpoint.calls.filter((method) => method === 'eth_getLogs');
      // One refusal, and two smaller questions to find out what it is about.
      assert.equal(questions.length, 1 + 2 + 10_000 / left);
    });

  test('that does not answer for 10,000 addresses is seldom asked for so many again', async () => {
    const world = paid();
    const slow = new RpcError('eth_getLogs', null, 'no reply (timeout)');
    const endpoint = endpointOf(withFaults(world.play.rpc, { addressesMax: [1_000, slow] }));
    const load = () => Promise.resolve(many(10_000));
    for (let i = 0; i < 20; i++) await readChain(chain, [endpoint], start, load);
    assert.equal(endpoint.limits.blocks, 2_000);
    const questions = endpoint.calls.filter((method) => method === 'eth_getLogs');
    assert.ok(questions.length <= 20 * 10 + 6 * 3, `${questions.length} questions`);
  });

  test('whose limit is gone is asked for much again', async () => {
    const world = paid();
    const faults: Faults = { blocksMax: [1, rpcError(-32000, 'try again later')] };
    const endpoint = endpointOf(withFaults(world.play.rpc, faults));
    await read([endpoint], start);
    assert.ok(endpoint.limits.blocks <= 2);
    faults.blocksMax = undefined;
    world.mine(2_000);
    await read([endpoint], start);
    assert.ok(endpoint.limits.blocks > 50, `${endpoint.limits.blocks} blocks`);
  });

  test('that is away keeps its size, and is asked only twice', async () => {
    const world = paid();
    for (const code of [null, 401, 403, 429, 500, 503, -32005, -32603]) {
      const refusal = new RpcError('eth_getLogs', code, 'unavailable');
      const faults: Faults = { blocksMax: [0, refusal] };
      const endpoint = endpointOf(withFaults(world.play.rpc, faults));
      await assert.rejects(read([endpoint], start), refusal);
      const questions = endpoint.calls.filter((method) => method === 'eth_getLogs');
      assert.deepEqual([endpoint.limits.blocks, questions.length], [2_000, 2]);
    }
  });

  test('that limits the rate is not asked for 10,000 addresses in pieces', async () => {
    const world = paid();
    const refusal = rpcError(429, 'Too Many Requests');
    const endpoint = endpointOf(withFaults(world.play.rpc, { addressesMax: [0, refusal] }));
    const load = () => Promise.resolve(many(10_000));
    await assert.rejects(readChain(chain, [endpoint], start, load), /429 Too Many/);
    const questions = endpoint.calls.filter((method) => method === 'eth_getLogs');
    assert.equal(questions.length, 2);
  });

  test('is asked for no more than the number that it named', async () => {
    const world = paid();
    world.mine(300);
    const refusal = rpcError(-32602, 'exceed max block range: 10');
    const endpoint = endpointOf(withFaults(world.play.rpc, { blocksMax: [10, refusal] }));
    await read([endpoint], start);
    assert.equal(endpoint.limits.blocks, 10);
    const questions = endpoint.calls.filter((method) => method === 'eth_getLogs');
    assert.equal(questions.length, 1 + 2 + 32);
  });

  const refusals: Record<string, [faults: Faults, error: RegExp]> = {
    'that limits the rate': [
      { blocksMax: [0, rpcError(403, 'The key exceeds the frequency')] },
      /403 The key/,
    ],
    'that lags behind its own answer': [{ lag: 20 }, /does not have block 108 yet/],
    'that answers with another contract': [
      { forge: forgedLog({ address: `0x${'dd'.repeat(20)}` }) },
      /a log of another contract/,
    ],
    'that answers with another block': [
      { forge: forgedLog({ blockNumber: '0x5' }) },
      /a log of block 5, asked/,
    ],
    'that answers with somebody else’s address': [
      { forge: forgedLog({ topics: { 2: `0x${'ee'.repeat(32)}` } }) },
      /a log to an address not asked for/,
    ],
    'that answers with another event': [
      { forge: forgedLog({ topics: [`0x${'11'.repeat(32)}`] }) },
      /a log is not a Transfer/,
    ],
    'that answers with a short amount': [{ forge: forgedLog({ data: '0x5' }) }, /an amount is/],
    'that answers with no list': [
      { forge: (method, answer) => (method === 'eth_getLogs' ? {} : answer) },
      /not a list/,
    ],
    'that answers for another block': [
      {
        forge: (method, answer) =>
          method === 'eth_getBlockByNumber' ? { ...(answer as object), number: '0x1' } : answer,
      },
      /asked for block 108, got 1/,
    ],
    'that invents a payment without a receipt': [
      { forge: (method, answer) => (method === 'eth_getTransactionReceipt' ? null : answer) },
      /has found the transfer 0x.*, but does not confirm it/,
    ],
  };
  for (const [outcome, [faults, error]] of Object.entries(refusals))
    test(`${outcome} is not believed`, async () => {
      const world = paid();
      const endpoint = endpointOf(withFaults(world.play.rpc, faults));
      await assert.rejects(read([endpoint], start), error);
    });

  test('of another chain is refused with both numbers', async () => {
    const endpoint = endpointOf(playWorld().play.rpc);
    await demandSetting(chain, endpoint);
    await assert.rejects(
      demandSetting({ ...chain, chain_id: 56 }, endpoint),
      /: The first endpoint is of the chain 7, but the chain file play says 56\. Set FAREBOX_RPC_PLAY to/,
    );
  });

  test('whose token has other decimals is refused with both numbers', async () => {
    const endpoint = endpointOf(playWorld().play.rpc);
    const tokens = chain.tokens.map((token) => ({ ...token, decimals: 6 }));
    await assert.rejects(
      demandSetting({ ...chain, tokens }, endpoint),
      /USDT has 18 decimals, but the chain file play says 6\. Correct decimals or address/,
    );
  });
});

describe('two endpoints', () => {
  test('that agree confirm a payment', async () => {
    const { play } = paid();
    const { final } = await read([endpointOf(play.rpc), endpointOf(play.rpc)], start);
    assert.ok(final.every(({ is_confirmed }) => is_confirmed));
  });

  const unsure: Record<string, (world: PlayWorld) => Faults> = {
    'that does not know it': () => ({
      forge: (method, answer) => (method === 'eth_getTransactionReceipt' ? null : answer),
    }),
    'that says it failed': () => ({
      forge: (method, answer) =>
        method === 'eth_getTransactionReceipt' ? { ...(answer as object), status: '0x0' } : answer,
    }),
    'that knows another amount': () => ({
      forge: (method, answer) =>
        method === 'eth_getTransactionReceipt'
          ? forgedLogs(answer, { data: `0x${'0'.repeat(63)}1` })
          : answer,
    }),
    'that knows it of another transaction': () => ({
      forge: (method, answer) =>
        method === 'eth_getTransactionReceipt'
          ? forgedLogs(answer, { transactionHash: `0x${'9e'.repeat(32)}` })
          : answer,
    }),
    'that does not answer': () => ({
      forge: () => {
        throw new RpcError('eth_getTransactionReceipt', null, 'no reply (timeout)');
      },
    }),
  };
  for (const [outcome, faults] of Object.entries(unsure))
    test(`do not confirm it with one ${outcome}`, async () => {
      const world = paid();
      const second = endpointOf(withFaults(world.play.rpc, faults(world)));
      const { final } = await read([endpointOf(world.play.rpc), second], start);
      assert.deepEqual(
        final.map(({ is_confirmed }) => is_confirmed),
        [false, false, false],
      );
    });

  test('are each asked once for a block that many transfers share', async () => {
    const world = playWorld();
    const tx_hash = world.play.pay({ token: usdt, to: ours, units });
    for (let i = 1; i < 50; i++) world.play.pay({ token: usdt, to: ours, units, tx_hash });
    world.mine(5);
    const both = [endpointOf(world.play.rpc), endpointOf(world.play.rpc)] as const;
    const { final } = await read([...both], start);
    assert.equal(final.filter(({ is_confirmed }) => is_confirmed).length, 50);
    for (const { calls } of both) {
      const receipts = calls.filter((method) => method === 'eth_getTransactionReceipt');
      assert.equal(receipts.length, 1);
      assert.ok(calls.length < 10, calls.join());
    }
  });

  test('of which one hangs cost one timeout', async () => {
    const { play } = paid();
    const away = new RpcError('any', null, 'no reply (timeout)');
    const second = endpointOf(withFaults(play.rpc, { refuses: away }));
    const { final } = await read([endpointOf(play.rpc), second], start);
    assert.deepEqual([final.length, second.calls.length], [3, 1]);
  });

  test('of which one calls blocks final an hour late do not confirm meanwhile', async () => {
    const world = paid();
    const cursor = after(await read([endpointOf(world.play.rpc)], start));
    world.mine(3_600);
    world.play.pay({ token: usdt, to: ours, units });
    world.mine(5);
    const early = (await read([endpointOf(world.play.rpc)], cursor)).scanned!;
    const late = withFaults(world.play.rpc, {
      forge: (method, answer) => (method === 'eth_blockNumber' ? hexOf(120n) : answer),
    });
    const { final } = await read([endpointOf(world.play.rpc), endpointOf(late)], {
      ...early,
      seen: null,
    });
    assert.deepEqual(
      final.map(({ is_confirmed }) => is_confirmed),
      [false],
    );
  });
});

test('a flood of transfers of 0 costs neither calls nor rows', async () => {
  const world = playWorld();
  for (let i = 0; i < 5_000; i++) world.play.pay({ token: usdt, to: ours, units: BigInt(i) });
  world.mine(5);
  const endpoint = endpointOf(world.play.rpc);
  const load = () => Promise.resolve([ours]);
  const { final } = await readChain(chain, [endpoint], start, load);
  assert.deepEqual([final, endpoint.calls.length], [[], 4]);
});

describe('a flood of transfers', () => {
  /** Pays in this many blocks, from block 101 on. */
  function flooded(blocks: number, each: number): PlayWorld {
    const world = playWorld();
    for (let i = 0; i < blocks; i++) {
      for (let n = 0; n < each; n++) world.play.pay({ token: usdt, to: ours, units });
      world.mine();
    }
    world.mine(5);
    return world;
  }

  test('is read in parts that end with a block, and nothing is missed or found twice', async () => {
    const world = flooded(9, 60);
    const endpoint = endpointOf(world.play.rpc);
    const parts: [found: number, upTo: bigint, isBehind: boolean][] = [];
    const found = new Set<string>();
    let cursor: Cursor | null = start;
    for (let seen: ChainReading['seen'] = null; seen === null;) {
      const reading = await read([endpoint], cursor);
      for (const { tx_hash } of reading.final) found.add(tx_hash);
      ({ seen } = reading);
      cursor = after(reading);
      parts.push([reading.final.length, cursor.height, seen === null]);
      const block = await world.play.rpc('eth_getBlockByNumber', [hexOf(cursor.height), false]);
      assert.equal(cursor.hash, (block as { hash: string }).hash);
    }
    assert.deepEqual(parts, [
      [240, 104n, true],
      [240, 108n, true],
      [60, 111n, false],
    ]);
    assert.equal(found.size, 540);
  });

  test('that an endpoint limits is read up to the last whole block', async () => {
    const world = flooded(5, 2);
    let left = 0;
    const endpoint = endpointOf(
      withFaults(world.play.rpc, {
        forge: (method, answer) => {
          if (method === 'eth_getTransactionReceipt' && (left -= 1) < 0)
            throw new RpcError(method, 429, 'too many requests');
          return answer;
        },
      }),
    );
    const parts: string[][] = [];
    let cursor: Cursor | null = start;
    for (let seen: ChainReading['seen'] = null; seen === null;) {
      left = 5;
      const reading = await read([endpoint], cursor);
      parts.push(places(reading));
      ({ seen } = reading);
      cursor = after(reading);
    }
    assert.deepEqual(parts, [
      ['101:0', '101:0', '102:0', '102:0'],
      ['103:0', '103:0', '104:0', '104:0'],
      ['105:0', '105:0'],
    ]);
    left = 1;
    await assert.rejects(read([endpoint], start), /too many requests/);
  });
});

describe('the time of a block', () => {
  const hexSeconds = (date: string) => hexOf(BigInt(Date.parse(date) / 1000));
  const times: Record<string, [timestamp: unknown, told: RegExp]> = {
    'in milliseconds': [hexOf(1_790_000_000_000n), /the block's time is in the year 58692/],
    'in microseconds': [hexOf(1_790_000_000_000_000n), /the block's time is not a date/],
    'of zero': ['0x0', /the block's time is in the year 1970/],
    'long before the chain': [hexSeconds('2009-01-03'), /the block's time is in the year 2009/],
    'in years to come': [hexSeconds('2106-02-07'), /the block's time is in the year 2106/],
    'as a fraction': [1_790_000_000.5, /the block's time is missing or malformed/],
    'that may be rounded': [2 ** 53, /the block's time is missing or malformed/],
    'in digits after a zero': ['01790000000', /the block's time is missing or malformed/],
    'in hex digits without 0x': ['6ab13b80', /the block's time is missing or malformed/],
    'as text': ['0xsoon', /the block's time is missing or malformed/],
    'as 0x alone': ['0x', /the block's time is missing or malformed/],
    'below zero': ['-0x1', /the block's time is missing or malformed/],
    'that is missing': [undefined, /the block's time is missing or malformed/],
    'larger than any number': [`0x${'f'.repeat(64)}`, /the block's time is not a date/],
  };
  for (const [what, [timestamp, told]] of Object.entries(times))
    test(`${what} is not believed, and the read goes on when it is right again`, async () => {
      const world = paid();
      const faults: Faults = {
        forge: (method, answer) =>
          method === 'eth_getBlockByNumber' ? { ...answer, timestamp } : answer,
      };
      const endpoint = endpointOf(withFaults(world.play.rpc, faults));
      await assert.rejects(read([endpoint], start), told);
      faults.forge = undefined;
      assert.deepEqual(places(await read([endpoint], start)), ['101:0', '103:0', '106:0']);
    });

  test('a day ahead is said to be in the future', async () => {
    const ahead = hexOf(BigInt(Math.floor(Date.now() / 1000) + 3 * 86_400));
    const endpoint = endpointOf(
      withFaults(paid().play.rpc, {
        forge: (method, answer) =>
          method === 'eth_getBlockByNumber' ? { ...answer, timestamp: ahead } : answer,
      }),
    );
    await assert.rejects(read([endpoint], start), /the block's time is in the (future|year)/);
  });

  for (const [what, seconds] of [
    ['a second', 2n],
    ['an hour', 3_600n],
  ] as const)
    test(`${what} before its parent is not believed`, async () => {
      const world = paid();
      const newest = await world.play.rpc('eth_getBlockByNumber', [hexOf(108n), false]);
      const { timestamp } = newest as { timestamp: string };
      const endpoint = endpointOf(
        withFaults(world.play.rpc, {
          forge: (method, answer) =>
            method === 'eth_getBlockByNumber' && answer?.timestamp === timestamp
              ? { ...answer, timestamp: hexOf(BigInt(timestamp) - seconds) }
              : answer,
        }),
      );
      await assert.rejects(
        read([endpoint], start),
        /the block's time is before that of an earlier block: 108 has .*, 107 has /,
      );
    });

  test('with zeros in front, in capitals or the same as its parent is taken', async () => {
    const world = paid();
    const same = (await world.play.rpc('eth_getBlockByNumber', [hexOf(101n), false])) as any;
    const endpoint = endpointOf(
      withFaults(world.play.rpc, {
        forge: (method, answer) =>
          method === 'eth_getBlockByNumber'
            ? { ...answer, timestamp: `0x000${same.timestamp.slice(2).toUpperCase()}` }
            : answer,
      }),
    );
    assert.deepEqual(places(await read([endpoint], start)), ['101:0', '103:0', '106:0']);
  });
});

describe('a reorg', () => {
  test('of a final block stops the reading', async () => {
    const world = paid();
    const endpoint = endpointOf(world.play.rpc);
    const cursor = after(await read([endpoint], start));
    world.play.reorg(5, 'paid later');
    await assert.rejects(read([endpoint], cursor), ReplacedBlock);
  });
});

/** Changes the logs of each answer to eth_getLogs. */
function forgedLog(change: Record<string, unknown>) {
  return (method: string, answer: unknown) =>
    method === 'eth_getLogs' ? (answer as object[]).map((log) => forged(log, change)) : answer;
}

function forgedLogs(receipt: any, change: Record<string, unknown>) {
  return { ...receipt, logs: receipt.logs.map((log: object) => forged(log, change)) };
}

function forged(log: any, { topics, ...change }: any): object {
  const kept = log.topics.map((topic: string, i: number) => topics?.[i] ?? topic);
  return { ...log, ...change, topics: kept };
}
