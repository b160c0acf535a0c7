import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { deposit } from '../../kit/by-command-line.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { TestAccount } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { requestIn } from '../../kit/states.ts';

/** The money that a key may spend. Two images cost $0.02. */

const { service } = withService();

const price = 20_000n;

async function balance(account: TestAccount) {
  const reply = await account.get('/v1/balance');
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const submit = (account: TestAccount) =>
  account.post('/v1/queue/fake/image', { prompt: 'a cat', num_images: 2 });

/** The end of this month (UTC), computed by the test. */
function monthsEnd(): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
}

describe('GET /v1/balance', () => {
  test('shows a new key without a limit the balance of its account, and nothing spent', async () => {
    const account = await service.account({ usd: 5 });
    assert.deepEqual(await balance(account), {
      currency: 'USDT',
      available_usd_micro: '5000000',
      reserved_usd_micro: '0',
      key: {
        key_id: account.key_id,
        name: 'test',
        limit_usd_micro: null,
        spent_usd_micro: '0',
        resets_at: monthsEnd(),
      },
      bonuses: [],
      top_up: [],
    });
  });

  test('names the bonuses that end, with what is left after the first ones were spent', async () => {
    const [account, other] = [await service.account({ usd: 5 }), await service.account()];
    const { account_id } = account;
    const give = async (amount: bigint, days: number) => {
      const expires_at = new Date(Date.now() + days * 86_400_000);
      const reference = `bonus ${account_id} ${days}`;
      await deposit(service.db, { account_id, amount, reference, source: 'bonus', expires_at });
      return expires_at.toISOString();
    };
    const later = await give(1_000_000n, 60);
    const sooner = await give(15_000n, 30);
    const shown = async () => (await balance(account)).bonuses;
    const untouched = { left_usd_micro: '1000000', expires_at: later };
    assert.deepEqual(await shown(), [{ left_usd_micro: '15000', expires_at: sooner }, untouched]);
    for (const left of ['5000', null]) {
      await requestIn(service, account, 'IN_PROGRESS');
      await service.wakeAll();
      await service.work();
      // One of two images was delivered, for $0.01.
      const first = left === null ? [] : [{ left_usd_micro: left, expires_at: sooner }];
      const rest = left === null ? { ...untouched, left_usd_micro: '995000' } : untouched;
      assert.deepEqual(await shown(), [...first, rest]);
    }
    assert.deepEqual((await balance(other)).bonuses, []);
  });

  test('reserves the price while a job runs, then takes the charge and releases the rest', async () => {
    const account = await service.account({ usd: 5, monthly_limit_usd_micro: 1_000_000n });
    const amounts = async () => {
      const { available_usd_micro, reserved_usd_micro, key } = await balance(account);
      return [available_usd_micro, reserved_usd_micro, key.spent_usd_micro, key.limit_usd_micro];
    };
    await requestIn(service, account, 'IN_PROGRESS');
    assert.deepEqual(await amounts(), ['4980000', '20000', '20000', '1000000']);
    await service.wakeAll();
    await service.work();
    // One of the two images was delivered.
    assert.deepEqual(await amounts(), ['4990000', '0', '10000', '1000000']);
  });

  for (const state of ['FAILED', 'CANCELLED'] as const) {
    test(`releases the reservation of a request that is ${state}`, async () => {
      const account = await service.account({ usd: 5 });
      await requestIn(service, account, state);
      const { available_usd_micro, reserved_usd_micro, key } = await balance(account);
      assert.deepEqual(
        [available_usd_micro, reserved_usd_micro, key.spent_usd_micro],
        ['5000000', '0', '0'],
      );
    });
  }

  test("counts each key's own spending, from one balance", async () => {
    const account = await service.account({ usd: 5 });
    const second = await account.another({ monthly_limit_usd_micro: 50_000n });
    await submit(second);
    const [first, other] = [await balance(account), await balance(second)];
    assert.equal(first.key.spent_usd_micro, '0');
    assert.equal(other.key.spent_usd_micro, String(price));
    assert.equal(other.key.name, 'another');
    assert.equal(first.available_usd_micro, other.available_usd_micro);
    assert.equal(first.reserved_usd_micro, String(price));
  });

  test('says nothing of another account', async () => {
    const [rich, poor] = [await service.account({ usd: 50 }), await service.account({ usd: 0 })];
    await submit(rich);
    const { available_usd_micro, reserved_usd_micro, key } = await balance(poor);
    assert.deepEqual(
      [available_usd_micro, reserved_usd_micro, key.key_id],
      ['0', '0', poor.key_id],
    );
  });

  test('agrees with the 402 of a submit, for the limit and for the balance', async () => {
    const limited = await service.account({ usd: 5, monthly_limit_usd_micro: 30_000n });
    await submit(limited);
    const { key } = await balance(limited);
    const reached = assertRefused(await submit(limited), 'key_limit_reached').details;
    const { limit_usd_micro, spent_usd_micro, resets_at } = key;
    const month = { limit_usd_micro, spent_usd_micro, resets_at };
    assert.deepEqual(reached, { required_usd_micro: String(price), ...month });

    const short = await service.account({ usd: 0.03 });
    await submit(short);
    const { available_usd_micro, reserved_usd_micro, top_up } = await balance(short);
    const refused = assertRefused(await submit(short), 'insufficient_balance').details;
    const funds = { available_usd_micro, reserved_usd_micro, top_up };
    assert.deepEqual(refused, { required_usd_micro: String(price), ...funds });
  });

  test('shows nothing spent at the beginning of a month, and the same balance', async () => {
    const account = await service.account({ usd: 5, monthly_limit_usd_micro: 1_000_000n });
    await submit(account);
    // Moves the key's last spending to the month before; undone, so that the audit passes.
    const shift = (by: string) =>
      service.db.run(
        rawSql(`update key_usage set month = month ${by} interval '1 month' where key_id = $1`, [
          account.key_id,
        ]),
      );
    await shift('-');
    const { available_usd_micro, key } = await balance(account);
    await shift('+');
    assert.equal(key.spent_usd_micro, '0');
    assert.equal(key.limit_usd_micro, '1000000');
    assert.equal(key.resets_at, monthsEnd());
    assert.equal(available_usd_micro, '4980000');
  });

  test('counts as a call of the key, says so in its headers, and moves no money', async () => {
    const account = await service.account({ rpm: 2 });
    const earlier = await service.transfers();
    const reply = await account.get('/v1/balance');
    assert.equal(reply.headers.get('ratelimit-remaining'), '1');
    await balance(account);
    const again = await account.get('/v1/balance');
    assertRefused(again, 'rate_limited');
    assert.equal(await service.transfers(), earlier);
  });
});
