/** Alerts of keys, webhooks and jobs: one e-mail for each cause and period, if it is switched on. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { adjust, deposit } from '../../kit/by-command-line.ts';
import { newId } from '../../../src/lib/id.ts';
import type { Letter } from '../../../src/lib/mail.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { mailAlerts } from '../../../src/worker/background/alert-mail.ts';
import { notifyLowBalances } from '../../../src/worker/background/low-balance.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { person, startWebService } from '../../kit/web.ts';

let service: Service;
let letters: Letter[] = [];
let isMailBroken = false;

before(async () => {
  service = await startWebService({});
});
after(() => service.stop());
beforeEach(async () => {
  await run('delete from alert_causes; ');
  await run('update key_usage set posted_usd_micro = 0');
  await run('delete from webhook_deliveries');
  await run('delete from requests');
  letters = [];
  isMailBroken = false;
});

const run = (text: string, values: unknown[] = []) => service.db.run<any>(rawSql(text, values));
const deps = () => ({
  db: service.db,
  log: { warn: () => {} } as never,
  mail: async (letter: Letter) => {
    if (isMailBroken) throw new Error('no connection');
    letters.push(letter);
  },
  origin: () => 'https://pages.example',
});
const look = () => mailAlerts(deps(), { leaseSeconds: 120, triesMax: 5 });

/** Moves all that happened to an earlier time, as if it were later now. */
async function later(by: string) {
  for (const column of ['found_at', 'again_at', 'notified_at', 'period_start'])
    await run(`update alert_causes set ${column} = ${column} - interval '${by}'`);
}

async function watched(settings: object | null = null) {
  const account = await service.account({ usd: 10, monthly_limit_usd_micro: 1_000_000n });
  const owner = await person(service, { [account.account_id]: 'owner' });
  const { call } = owner.of(account.account_id);
  if (settings) {
    const wanted = { low_balance_usd_micro: null, emails: true, ...settings };
    const reply = await call('PUT', '/alerts', wanted);
    assert.equal(reply.status, 200, reply.text);
  }
  return { account, owner, call };
}

const spend = (micro: number) => (account: TestAccount) =>
  run(
    `update key_usage set posted_usd_micro = $2,
       month = date_trunc('month', now() at time zone 'utc') where key_id = $1`,
    [account.key_id, micro],
  );

/** Final deliveries with these answers, oldest first; null: the receiver was not reached. */
const deliver =
  (statuses: (number | null)[], ago = '0 s', cause = 'final') =>
  async ({ account_id }: TestAccount) => {
    for (const status of statuses)
      await run(
        `insert into webhook_deliveries
           (id, request_id, attempt, account_id, cause, url, status, duration_ms, created_at)
         values ($1, $2, 1, $3, $4, 'https://x.example/secret-path', $5, 1,
           now() - $6::text::interval)`,
        [newId(), newId(), account_id, cause, status, ago],
      );
  };

const jobs =
  (failed: number, done: number, { ago = '0 s', kind = 'image' } = {}) =>
  async (account: TestAccount) => {
    for (let n = 0; n < failed + done; n++)
      await run(
        `insert into requests (id, account_id, key_id, model_id, kind, upstream, status,
           quoted_usd_micro, charged_usd_micro, created_at, started_at, deadline_at, completed_at,
           error_code)
         select $1, $2, $3, 'fal/flux/dev', $4, 'fake', $5, 1, 0, at, at, at, at,
           case when $5 = 'FAILED' then 'upstream_failed' end
         from (select now() - $6::text::interval as at) d`,
        [
          newId(),
          account.account_id,
          account.key_id,
          kind,
          n < failed ? 'FAILED' : 'COMPLETED',
          ago,
        ],
      );
  };

type Switch = 'key_limits' | 'failing_webhooks' | 'failing_jobs';
const bad = [500, null, 404, 302, 500];
const causes: [string, (account: TestAccount) => Promise<unknown>, Switch, RegExp][] = [
  ['a key at 80 %', spend(800_000), 'key_limits', /has used 0\.8 of 1 USD[^]*потратил 0\.8 из 1/],
  ['a key at its limit', spend(1_000_000), 'key_limits', /has used up[^]*исчерпал лимит/],
  ['five failed webhooks', deliver([200, ...bad]), 'failing_webhooks', /The newest 5 all failed/],
  ['6 of 10 failed jobs', jobs(6, 4), 'failing_jobs', /6 of 10 [^]*6 из 10/],
  ['11 of 21 failed videos', jobs(11, 10, { kind: 'video' }), 'failing_jobs', /11 of 21/],
];

describe('an alert', () => {
  for (const [what, happen, name, words] of causes) {
    test(`about ${what} is sent once, by one of many processes, without any settings`, async () => {
      const { account, owner } = await watched();
      const payer = await person(service, { [account.account_id]: 'billing' });
      await person(service, { [account.account_id]: 'developer' });
      await happen(account);
      await Promise.all(Array.from({ length: 6 }, look));
      await look();
      assert.deepEqual(letters.map(({ to }) => to).sort(), [owner.email, payer.email].sort());
      assert.match(letters[0]!.text, words);
      assert.match(letters[0]!.text, /https:\/\/pages\.example\/dashboard\/money\/alerts/);
      assert.doesNotMatch(letters[0]!.text, /secret-path|whsec_|fb_/);
      await run(`update alert_causes set notified_at = now() - interval '2 hours'`);
      await look();
      assert.equal(letters.length, 2, 'nothing more in the same period');
    });

    test(`about ${what} is not sent if only it is switched off`, async () => {
      const { account } = await watched({ [name]: false });
      await happen(account);
      await look();
      assert.equal(letters.length, 0);
      assert.deepEqual(await run('select 1 from alert_causes'), []);
    });

    test(`about ${what} is sent if all others are switched off`, async () => {
      const off = { key_limits: false, failing_webhooks: false, failing_jobs: false };
      const { account } = await watched({ ...off, [name]: true });
      await happen(account);
      await look();
      assert.equal(letters.length, 1);
    });
  }

  const harmless: [string, (account: TestAccount) => Promise<unknown>][] = [
    ['a key just below 80 %', spend(799_999)],
    [
      'a spent limit of last month',
      async (account) => {
        await spend(1_000_000)(account);
        await run(`update key_usage set month = month - interval '1 month'`);
      },
    ],
    [
      'a revoked key',
      async (account) => {
        await spend(1_000_000)(account);
        await run('update keys set revoked_at = now() where id = $1', [account.key_id]);
      },
    ],
    ['four failed webhooks', deliver(bad.slice(1))],
    ['five failed webhooks and then one that arrived', deliver([...bad, 204])],
    ['failed webhooks of an earlier hour', deliver(bad, '61 minutes')],
    ['failed tests of a webhook', deliver(bad, '0 s', 'test')],
    ['5 of 10 failed jobs', jobs(5, 5)],
    ['9 of 9 failed jobs', jobs(9, 0)],
    ['failed jobs of an earlier hour', jobs(12, 0, { ago: '61 minutes' })],
    ['failed chats', jobs(12, 0, { kind: 'text' })],
  ];
  for (const [what, happen] of harmless) {
    test(`does not come of ${what}`, async () => {
      const { account } = await watched();
      await happen(account);
      await look();
      assert.deepEqual(await run('select cause from alert_causes'), []);
      assert.equal(letters.length, 0);
    });
  }

  test('tells all causes of an account in one e-mail, and others an hour later', async () => {
    const { account } = await watched();
    await spend(900_000)(account);
    await deliver(bad)(account);
    await look();
    assert.equal(letters.length, 1);
    assert.match(letters[0]!.text, /The key "[^"]+" \(…\w{4}\) has used[^]*Webhooks fail/);
    await jobs(10, 0)(account);
    await look();
    assert.equal(letters.length, 1, 'held back for the hour');
    await run(`update alert_causes set notified_at = notified_at - interval '61 minutes'`);
    await look();
    assert.equal(letters.length, 2);
    assert.match(letters[1]!.text, /10 of 10/);
    assert.doesNotMatch(letters[1]!.text, /Webhooks fail/);
  });

  test('comes again in the next period if it still holds', async () => {
    const { account } = await watched();
    await jobs(10, 0)(account);
    await look();
    await later('1 day');
    await look();
    assert.equal(letters.length, 2);
  });

  test('tells keys of the same name apart', async () => {
    const { account } = await watched();
    await spend(800_000)(account);
    await look();
    const { text } = letters[0]!;
    const last = account.key.slice(-4);
    assert.ok(text.includes(`" (…${last}) has used`), text);
    assert.ok(text.includes(`» (…${last}) потратил`), text);
  });

  test('lists at most 20 keys', async () => {
    const { account } = await watched();
    await run(
      `with k as (insert into keys (id, account_id, name, hash, prefix, last4,
           monthly_limit_usd_micro)
         select gen_random_uuid(), $1::uuid, 'k' || n, sha256(gen_random_uuid()::text::bytea), 'fb_x', 'abcd', 5
         from generate_series(1, 30) n returning id)
       insert into key_usage (key_id, account_id, month, posted_usd_micro)
       select id, $1::uuid, date_trunc('month', now() at time zone 'utc'), 5 from k`,
      [account.account_id],
    );
    await look();
    assert.equal(letters.length, 1);
    assert.match(letters[0]!.text, /and 10 more/);
    assert.equal(letters[0]!.text.match(/The key/g)!.length, 20);
  });

  test('is tried again while mail does not work, five times at most', async () => {
    const { account } = await watched();
    await spend(1_000_000)(account);
    isMailBroken = true;
    for (let i = 0; i < 7; i++) {
      await look();
      await run('update alert_causes set again_at = now() where again_at is not null');
    }
    const [{ tries, notified_at }] = await run('select tries, notified_at from alert_causes');
    assert.deepEqual([tries, notified_at], [5, null]);
    isMailBroken = false;
    await look();
    assert.equal(letters.length, 0, 'given up');
  });

  test('that waits is not sent once it is switched off', async () => {
    const { account, call } = await watched();
    await deliver(bad)(account);
    isMailBroken = true;
    await look();
    isMailBroken = false;
    await call('PUT', '/alerts', { emails: true, failing_webhooks: false });
    await run('update alert_causes set again_at = now() where again_at is not null');
    await look();
    assert.equal(letters.length, 0);
  });

  test('about jobs is shown on the overview', async () => {
    const { account, call } = await watched();
    assert.equal((await call('GET', '/overview')).body.failing_jobs, null);
    await jobs(7, 3)(account);
    await look();
    assert.deepEqual((await call('GET', '/overview')).body.failing_jobs, { ended: 10, failed: 7 });
  });
});

describe('a low balance of an account that has chosen nothing', () => {
  const check = () =>
    notifyLowBalances({ ...deps(), webhooks: null as never, localWebhooks: null, webhookMs: 1 });
  let moves = 0;
  const move = ({ account_id }: TestAccount, usd: number) => {
    const wanted = { account_id, amount: BigInt(usd * 1e6), reference: `usual ${++moves}` };
    return usd > 0
      ? deposit(service.db, wanted)
      : adjust(service.db, { ...wanted, reason: 'spent' });
  };

  test('is told once it has fallen below 5 USD', async () => {
    const { account, call } = await watched();
    assert.equal((await call('GET', '/alerts')).body.low_balance_usd_micro, '5000000');
    await check();
    assert.equal(letters.length, 0);
    await move(account, -6);
    await check();
    await check();
    assert.equal(letters.length, 1);
    assert.match(letters[0]!.text, /has 4 USD available/);
  });

  test('is not told if it was never above it', async () => {
    const account = await service.account({ usd: 4 });
    await person(service, { [account.account_id]: 'owner' });
    await check();
    await move(account, -3);
    await check();
    assert.equal(letters.length, 0);
  });

  test('is not told if the account has switched it off', async () => {
    const { account } = await watched({});
    await check();
    await move(account, -6);
    await check();
    assert.equal(letters.length, 0);
  });
});

test('a switch that the settings do not name stays as it is', async () => {
  const { call } = await watched({ failing_jobs: false });
  const reply = await call('PUT', '/alerts', { emails: true, key_limits: false });
  const { key_limits, failing_webhooks, failing_jobs } = reply.body;
  assert.deepEqual([key_limits, failing_webhooks, failing_jobs], [false, true, false]);
  const wrong = await call('PUT', '/alerts', { emails: true, failing_jobs: 'no' });
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'failing_jobs']);
});
