/** Each operator event is written once, with its data. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { eventTypes, type EventType } from '../../src/core/operator-event.ts';
import { createLog } from '../../src/lib/log.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { openReports } from '../../src/operations/operator-events.ts';
import { signUp } from '../../src/operations/accounts/person.ts';
import { creditDeposit } from '../../src/operations/deposits/decide-deposit.ts';
import { commandLine, runAction } from '../../src/operations/operator-action.ts';
import { auditWhenDue } from '../../src/worker/background/audit.ts';
import { watchSpace } from '../../src/worker/background/disk-space.ts';
import { notifyLowBalances } from '../../src/worker/background/low-balance.ts';
import { endpointOf, playWorld } from '../chains/play-kit.ts';
import { openReceiver, receiverEnv, webhookSecret, type Receiver } from '../kit/receiver.ts';
import { before, withService } from '../kit/with-service.ts';
import { endDay } from '../kit/end-day.ts';
import { until } from '../kit/until.ts';
import { chain, keyOf, show, usdt } from '../operations/deposits-kit.ts';
import { rounds, submitted } from './floor.ts';

const isId = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const isHash = /^0x[0-9a-f]{64}$/;
const world = playWorld();
const key = keyOf('evm');
let receiver: Receiver;
let address: string;
const { service, account } = withService(async () => {
  receiver = await openReceiver();
  const endpoints = [endpointOf(world.play.rpc)] as const;
  const file = { ...chain, start_height: null };
  const live = [{ chain: file, endpoints, key, show }];
  return {
    env: { ...receiverEnv(receiver), FAREBOX_DEPOSIT_REVIEW_USD: '100' },
    chains: { live, play: null, hangUp: () => {} },
    // The service's own audits would come between those of the test.
    times: { auditFirstMs: 3_600_000 },
  };
});
before(async () => {
  service.fake.class = 'C';
  await read();
  const { body } = await account.get('/v1/deposit-addresses');
  ({ address } = body.data[0]);
});
after(() => receiver.away(true));

const change = (text: string) => service.db.run(rawSql(text));

async function read(): Promise<void> {
  await change('update chains set wake_at = now()');
  await service.app.chains!.runOnce();
}

async function pay(usd: bigint): Promise<void> {
  world.play.pay({ token: usdt, to: address.toLowerCase(), units: usd * 10n ** 18n });
  world.mine(4);
  await read();
}

/** Lets starts of requests fail in this way. */
async function refuse(why: 'credential' | 'unreachable'): Promise<void> {
  service.fake.behave.start = () => ({ outcome: 'not_accepted', why, message: 'no such thing' });
  await submitted(account);
  await rounds(service, 3);
  await change('delete from upstreams');
  service.fake.behave = {};
  await rounds(service, 2);
}

const log = createLog('silent');
/** Audits as if the newest audit were old. */
async function audit(): Promise<void> {
  await change(`update audit_results set created_at = now() - interval '1 day'`);
  const { db, app } = service;
  const deps = { db, metrics: app.metrics, log, days: 1 };
  await auditWhenDue(deps, new AbortController().signal);
}

/** The action that causes each event, and the event's data. */
const scenes: Record<EventType, { act: () => Promise<unknown>; facts: Record<string, unknown> }> = {
  'account.created': {
    act: async () => {
      const person = { name: 'Ana', email: 'ana@example.com', password: 'correct horse battery' };
      await signUp(service.db, { ...person, token: null, email_verified: true, has_mail: false });
    },
    facts: { email: 'ana@example.com' },
  },
  'deposit.credited': {
    act: async () => {
      await pay(25n);
      await read();
    },
    facts: {
      deposit_id: isId,
      chain: 'play',
      token: show(usdt),
      tx_hash: isHash,
      log_position: 0,
      amount_usd_micro: '25000000',
      transfer_id: isId,
    },
  },
  'deposit.held': {
    act: async () => {
      await pay(200n);
      await read();
      // Dust causes no event.
      await pay(0n);
    },
    facts: {
      deposit_id: isId,
      chain: 'play',
      token: show(usdt),
      tx_hash: isHash,
      log_position: 0,
      amount_usd_micro: '200000000',
      why: 'review',
    },
  },
  'balance.low': {
    act: async () => {
      await change(`insert into alerts (account_id, low_balance_usd_micro, emails)
        values ('${account.account_id}', 1000000000, false)`);
      const deps = { db: service.db, log, mail: null, webhookMs: 1_000, origin: () => '' };
      const look = () =>
        notifyLowBalances({ ...deps, webhooks: null as never, localWebhooks: null });
      await Promise.all([look(), look(), look()]);
      await look();
    },
    facts: { available_usd_micro: /^\d+$/, low_balance_usd_micro: '1000000000' },
  },
  'upstream.credential': {
    act: async () => {
      await refuse('credential');
      await refuse('credential');
    },
    facts: { upstream: 'fake', model: null, key: null, why: 'credential', cause: 'no such thing' },
  },
  'upstream.paused': {
    act: async () => {
      await refuse('unreachable');
      await refuse('unreachable');
    },
    facts: {
      upstream: 'fake',
      model: 'image',
      key: null,
      why: 'unreachable',
      cause: 'no such thing',
      seconds: 30,
    },
  },
  'chain.stopped': {
    act: async () => {
      await change(`update chains set scanned_hash = '0x' || repeat('7', 64)`);
      await read();
      await read();
      await change('update chains set stopped_why = null, scanned_hash = null');
      await read();
    },
    facts: { chain: 'play', why: /^block \d+ was 0x7+ and is 0x[0-9a-f]+ now$/ },
  },
  'books.broken': {
    act: async () => {
      await audit();
      const one = `account_id = '${account.account_id}'`;
      await change(`update balances set credits_posted = credits_posted + 1 where ${one}`);
      await audit();
      await audit();
      await change(`update balances set credits_posted = credits_posted - 1 where ${one}`);
      await audit();
    },
    facts: { laws: /./ },
  },
  'books.sealed': {
    act: async () => {
      await endDay(service.db);
      await audit();
      await audit();
    },
    facts: {
      head: /^1-[0-9a-f]{64}$/,
      day: new Date(Date.now() - 86_400_000).toISOString().slice(0, 10),
      seals: 1,
      transfers: 10,
    },
  },
  'disk.low': {
    act: async () => {
      const report = openReports(service.db, log);
      const data = { host: 'box', disk: 'data', free_bytes: 5 } as const;
      const disk = { holds: 'data', isGuarded: true, free: async () => 5 } as const;
      const watch = () =>
        watchSpace([disk], log, (_holds, free_bytes) =>
          report({ type: 'disk.low', account_id: null, data: { ...data, free_bytes } }, 'box'),
        );
      const [one, other] = [watch(), watch()];
      await until('both have noticed', () => one.low() && other.low());
      one.stop();
      other.stop();
    },
    facts: { host: 'box', disk: 'data', free_bytes: 5 },
  },
  'outcome.unknown': {
    act: async () => {
      service.fake.behave.start = () => ({ outcome: 'unknown', message: 'lost' });
      for (let n = 0; n < 2; n++) await submitted(account);
      await rounds(service, 3);
      service.fake.behave = {};
      await change(`update request_results set created_at = now() - interval '1 minute'`);
      await change(`update operator_channels set began_at = now() - interval '1 hour'`);
      await service.app.events.runOnce();
      await service.app.events.runOnce();
    },
    facts: { count: 2, request_ids: /^[0-9a-f-]{36},[0-9a-f-]{36}$/, since: /Z$/, until: /Z$/ },
  },
};

const ofAccount = new Set<EventType>(['deposit.credited', 'deposit.held', 'balance.low']);

describe('an event', () => {
  for (const type of eventTypes) {
    test(`${type} is written once, with its data`, async () => {
      await service.app.events.runOnce();
      receiver.posts = [];
      const { act, facts } = scenes[type];
      await act();
      await until('it was sent', async () => {
        await service.app.events.runOnce();
        return receiver.posts.length > 0;
      });
      const [{ event, body }, ...more] = receiver.posts as [Receiver['posts'][number]];
      assert.deepEqual(
        more.map(({ event: { type: other, data } }) => [other, data]),
        [],
      );
      assert.equal(event.type, type);
      if (ofAccount.has(type)) assert.equal(event.account_id, account.account_id);
      else assert.equal(event.account_id === null, type !== 'account.created');
      assert.deepEqual(Object.keys(event.data).toSorted(), Object.keys(facts).toSorted());
      for (const [name, wanted] of Object.entries(facts))
        if (wanted instanceof RegExp) assert.match(String(event.data[name]), wanted, name);
        else assert.deepEqual(event.data[name], wanted, name);
      for (const secret of [webhookSecret, receiver.url, account.key, key.xpub])
        assert.ok(!body.includes(secret));
    });
  }

  test('can come by the chains, the review limit and the webhook that the log names', () => {
    const line = service.log.find((each) => JSON.parse(each).msg === 'started');
    const { chains, deposit_review_usd, operator_webhook } = JSON.parse(line!);
    assert.deepEqual([chains, deposit_review_usd, operator_webhook], [['play'], '100', true]);
  });

  test('deposit.credited comes once too if an operator credits a held deposit', async () => {
    await pay(300n);
    await service.app.events.runOnce();
    receiver.posts = [];
    const [held] = await service.db.run<{ id: string }>(sql`select id from chain_deposits
      where state = 'held' and amount_usd_micro = 300000000`);
    const deposit_id = held!.id;
    const credit = () =>
      runAction(service.db, commandLine, 'deposit.credit', (db) =>
        creditDeposit(db, { deposit_id }, []),
      );
    const { transfer_id } = await credit();
    await assert.rejects(credit(), { why: { reason: 'deposit_credited' } });
    await read();
    await service.app.events.runOnce();
    const [{ event }, ...more] = receiver.posts as [Receiver['posts'][number]];
    assert.deepEqual(more, []);
    assert.deepEqual([event.type, event.account_id], ['deposit.credited', account.account_id]);
    const { chain: name, token, tx_hash, log_position, ...data } = event.data;
    assert.deepEqual([name, token, log_position], ['play', usdt, 0]);
    assert.match(String(tx_hash), isHash);
    assert.deepEqual(data, { deposit_id, amount_usd_micro: '300000000', transfer_id });
  });

  test('shows neither the address nor the secret of its webhook in the log', () => {
    const lines = service.log.join('\n');
    assert.ok(!lines.includes(receiver.url));
    assert.ok(!lines.includes(webhookSecret));
  });
});
