/** Topping up from a terminal: the address, the progress, the end. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { showAddress } from '../../../server/src/core/deposit/address.ts';
import { rawSql } from '../../../server/src/lib/sql/sql.ts';
import { endpointOf, playWorld } from '../../../server/test/chains/play-kit.ts';
import { inLong, inShort } from '../../../server/test/kit/long.ts';
import { startService, type Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { chain, keyOf, usdc, usdt } from '../../../server/test/operations/deposits-kit.ts';
import { startAgent } from './mcp/mcp-kit.ts';
import { homeOf, onTerminal, refused, well, withoutTerminal } from './fare-kit.ts';

const world = playWorld();
const file = { ...chain, start_height: null };
const other = { ...file, name: 'other', title: 'Other chain', chain_id: 8 };
const otherWorld = playWorld(100, other);
const show = (address: string) => showAddress(address, 'evm');
let service: Service;
let bare: Service;
before(async () => {
  const live = [world, otherWorld].map(({ play }, i) => ({
    chain: [file, other][i]!,
    endpoints: [endpointOf(play.rpc)] as const,
    key: keyOf('evm'),
    show,
  }));
  [service, bare] = await Promise.all([
    startService({ chains: { live, play: null, hangUp: () => {} } }),
    startService(),
  ]);
  await service.app.chains!.runOnce();
});
after(async () => {
  await service.audit();
  await Promise.all([service.stop(), bare.stop()]);
});

/** Makes this chain due and reads only it. */
async function read(name = 'play'): Promise<void> {
  await service.db.run(rawSql(`update chains set wake_at = now() where name = '${name}'`));
  await service.db.run(rawSql(`update chains set wake_at = 'infinity' where name <> '${name}'`));
  await service.app.chains!.runOnce();
}

async function customer(usd = 0) {
  const account = await service.account({ usd });
  const home = homeOf(service, account.key);
  const { data } = (await service.call('GET', '/v1/deposit-addresses', account)).body;
  const { address } = data[0];
  const pay = (amount: bigint, token = usdt, { play } = world) =>
    play.pay({ token, to: address.toLowerCase(), units: amount * 10n ** 18n });
  return { account, home, address, pay };
}

const steps: Record<string, RegExp> = {
  waiting: /address\t/,
  seen: /Seen, 1 of 3 blocks: 25 USDT on play/,
};

describe('fare topup', () => {
  test('shows the address and, in a pipe, a line for each step until the deposit is credited', async () => {
    const { account, home, address, pay } = await customer(1);
    const running = home.start(['topup', '--chain', 'play']);
    await until('it waits', () => steps.waiting!.test(running.stdout()));
    pay(25n);
    world.mine(2);
    await read();
    await until('it is seen', () => steps.seen!.test(running.stderr()));
    world.mine(2);
    pay(7n, usdt, otherWorld);
    otherWorld.mine(5);
    await read('other');
    await read();
    const ran = well(await running.ended);
    assert.doesNotMatch(ran.stderr, /on other/);
    assert.equal(
      ran.stdout,
      [
        'network\tPlay chain',
        `address\t${address}`,
        'minimum\t$1.00 of USDT',
        'timing\tcredited after 3 blocks, usually after 3 s',
        'warning\tSend only USDT, and only on Play chain. Anything else may be lost.',
        'credited\t$25.00',
        'available\t$33.00\n',
      ].join('\n'),
    );
    assert.match(
      ran.stderr,
      /^Waiting for a new deposit \(--since TIME [^]*Credited: 25 USDT on play: 0x/,
    );
    assert.equal((await service.balance(account)).available, 33_000_000n);
  });

  inLong('does not wait with --no-wait, and takes no earlier deposit for a new one', async () => {
    const { home, address, pay } = await customer();
    pay(3n);
    world.mine(5);
    await read();
    const shown = well(await home.run(['topup', '--no-wait', '--json'])).json;
    assert.deepEqual([shown.chain, shown.address], ['play', address]);
    const running = home.start(['topup', '--chain', 'play', '--json']);
    await until('it waits', () => running.stdout().endsWith('\n'));
    pay(4n);
    world.mine(5);
    await read();
    const [first, ...changes] = well(await running.ended).lines;
    assert.equal(first.address, address);
    assert.deepEqual(
      changes.map(({ state, amount }) => `${state} ${amount}`),
      ['credited 4'],
    );
  });

  test('counts a deposit that was credited before it began with --since, and none before that', async () => {
    const { home, pay } = await customer();
    const send = async (amount: bigint) => {
      pay(amount);
      world.mine(5);
      await read();
    };
    await send(3n);
    const since = new Date().toISOString();
    await send(4n);
    const ran = well(await home.run(['topup', '--chain', 'play', '--since', since]));
    assert.match(ran.stdout, /^credited\t\$4\.00$/m);
    assert.match(ran.stdout, /^available\t\$7\.00$/m);
    refused(await home.run(['topup', '--since', 'noon']), 2, /It must be a time, such as/);
  });

  test('ends after --timeout, and says that the address stays valid', async () => {
    const { home } = await customer();
    const ran = refused(
      await home.run(['topup', '--timeout', '1', '--json']),
      5,
      /No deposit was credited within 1 s[^]*the address stays yours/,
    );
    assert.match(ran.stdout, /"address"/);
  });

  inLong('says that another token is not credited', async () => {
    const { account, home, pay } = await customer();
    const running = home.start(['topup', '--chain', 'play', '--quiet']);
    await until('it waits', () => steps.waiting!.test(running.stdout()));
    pay(1n, usdc);
    world.mine(5);
    await read();
    const ran = refused(
      await running.ended,
      1,
      /The deposit is not credited: it is of a token [^]*Ask the operator/,
    );
    assert.doesNotMatch(ran.stdout, /credited\t\$/);
    assert.equal((await service.balance(account)).available, 0n);
  });

  const signals = inShort<NodeJS.Signals>(1, ['SIGINT', 'SIGTERM']);
  for (const signal of signals)
    test(`ends cleanly at ${signal}`, async () => {
      const { home } = await customer();
      const running = home.start(['topup']);
      await until('it waits', () => steps.waiting!.test(running.stdout()));
      running.child.kill(signal);
      refused(await running.ended, 130, /credited without this command, and the address stays/);
    });

  inLong('names the known chains', async () => {
    const { home } = await customer();
    refused(await home.run(['topup', '--chain', 'tron']), 2, /"tron"[^]*There are: .*play/);
    const account = await bare.account();
    const ran = await homeOf(bare, account.key).run(['topup']);
    refused(ran, 1, /takes no deposits from blockchains[^]*\/dashboard\/money\/top-up/);
    assert.equal(ran.stdout, '');
  });

  inLong(
    'draws the address for scanners in a terminal',
    { skip: withoutTerminal() ?? false },
    async () => {
      const { home, address } = await customer();
      const terminal = onTerminal(home, ['topup', '--chain', 'play', '--no-wait']);
      assert.equal(await terminal.ended, 0);
      assert.ok(terminal.shown().includes(address));
      assert.match(terminal.shown().replaceAll('\u001B', '␛'), /␛\[30;107m[ ▀▄█]{33}␛\[0m/);
    },
  );
});

describe('the deposit address is shown', () => {
  inLong('by fare balance', async () => {
    const { home, address } = await customer();
    const { stdout } = well(await home.run(['balance']));
    assert.ok(
      stdout.includes(`top up\t1.00 USDT or more on Play chain to ${address} (only `),
      stdout,
    );
  });

  test('when the balance does not cover a request', async () => {
    const { home, address } = await customer();
    const ran = await home.run(['run', 'fake/image', '--prompt', 'a cat', '--yes']);
    refused(ran, 4, /`fare topup` waits until the deposit is credited/);
    assert.ok(
      ran.stderr.includes(`Send 1.00 USDT or more on Play chain to ${address} (only `),
      ran.all,
    );
  });

  test('to an agent, with its refusal and its balance', async () => {
    const { account, address } = await customer();
    const agent = await startAgent(service, account, ['--max-usd', '1', '--yes']);
    try {
      const refusal = await agent.refused('generate', {
        model_id: 'fake/image',
        input: { prompt: 'a cat' },
        max_usd: 0.01,
      });
      assert.equal(refusal.code, 'insufficient_balance');
      assert.ok(
        refusal.message.includes(`can send 1.00 USDT or more on Play chain to ${address} (only `),
      );
      const { top_up } = (await agent.use('get_balance')).fields;
      assert.deepEqual(top_up, refusal.details.top_up);
    } finally {
      await agent.close();
    }
  });
});
