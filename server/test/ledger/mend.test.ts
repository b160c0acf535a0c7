/** Wrong counters are computed again; nothing else is ever changed. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { runCommand } from '../../src/commands/program.ts';
import { audit } from '../../src/ledger/audit.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { mend } from '../../src/operations/mend.ts';
import { inShort } from '../kit/long.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';

let service: Service;
let busy: TestAccount;
let other: TestAccount;
before(async () => {
  service = await startService();
  [busy, other] = [await service.account(), await service.account()];
  await submit(busy);
  await service.work();
  for (const each of [busy, busy, other]) await submit(each);
  // A past day whose sums are stored.
  await change(`update requests set created_at = created_at - interval '3 days'
    where status = 'COMPLETED'`);
  await change(`insert into spend_rollups select account_id, current_date - 4, current_date - 1
    from balances`);
  await change(`insert into spend_days select account_id, (created_at at time zone 'utc')::date, kind,
    model_id, charged_usd_micro, 1 from requests where status = 'COMPLETED'`);
  await change(`insert into usage_rollups select account_id, current_date - 4 from balances`);
  await service.audit();
});
after(() => service.stop());
beforeEach(() => service.audit());

async function submit(account: TestAccount): Promise<void> {
  const body = { prompt: 'a lighthouse' };
  const { status } = await service.call('POST', '/v1/queue/fake/image', { key: account.key, body });
  assert.equal(status, 202);
}

const change = (text: string, values: unknown[] = []) => service.db.run(rawSql(text, values));

/** Everything that a mend must leave as it is. */
async function books(): Promise<unknown> {
  const [row] = await change(`select
    (select jsonb_agg(t order by id) from transfers t) as transfers,
    (select jsonb_agg(r order by id) from requests r) as requests,
    (select jsonb_agg(to_jsonb(b) - 'open_requests' order by account_id) from balances b) as balances`);
  return row;
}

const logged = () =>
  service.db.run<{ account_id: string; counters: string[] }>(
    rawSql(`select account_id, details->'counters' as counters from operator_log
      where action = 'books.mend' order by id`),
  );

const jobs = 'update key_usage set open_requests';
const month = 'update key_usage set month';
const wrong: [what: string, sql: string, counters: RegExp[]][] = [
  [
    "an account's open jobs",
    'update balances set open_requests = open_requests + 15 where account_id = $1',
    [/^open_jobs of the account: 17 → 2$/],
  ],
  [
    "a key's open jobs, its account with it",
    `with k as (${jobs} = 9 where account_id = $1 returning account_id)
      update balances b set open_requests = 9 from k where k.account_id = b.account_id`,
    [/^open_jobs of the account: 9 → 2$/, /^open_jobs of key [^:]+: 9 → 2$/],
  ],
  [
    'the spending of a month',
    'update key_usage set posted_usd_micro = 5, pending_usd_micro = 6 where account_id = $1',
    [/^pending_usd_micro of key .*: 6 → 20000$/, /^posted_usd_micro of key .*: 5 → 10000$/],
  ],
  [
    'the sum of a day',
    'update spend_days set charged_usd_micro = 1 where account_id = $1',
    [/^daily_sums of the account: 1 wrong → computed again/],
  ],
  [
    'the usage of a day',
    `insert into usage_days select account_id, current_date - 4, 'm', id, null, 1, 0, 5, 0, 0, 0, 0
      from keys where account_id = $1`,
    [/^daily_usage of the account: 1 wrong → computed again/],
  ],
  [
    'the sums of a statement',
    `insert into transfer_sums values ($1, 0, 'debt', 1, 0, 5, 5, now(), now())`,
    [/^statement_sums of the account: \d wrong → computed again/],
  ],
  [
    'a month that is over',
    `${month} = month - interval '1 month' where account_id = $1`,
    [/^month of key .*-01 → /],
  ],
  [
    'a month that has not begun',
    `${month} = month + interval '2 months' where account_id = $1`,
    [/^month of key .*-01 → /],
  ],
  [
    "a key's open jobs alone",
    `${jobs} = 7 where account_id = $1`,
    [/^open_jobs of key [^:]+: 7 → 2$/],
  ],
  [
    "an account's open jobs, below the truth",
    'update balances set open_requests = 0 where account_id = $1',
    [/^open_jobs of the account: 0 → 2$/],
  ],
];

describe('mending', () => {
  for (const [what, sql, counters] of inShort(5, wrong)) {
    test(`sets ${what}, and nothing else`, async () => {
      const before = [await books(), (await logged()).length] as const;
      await change(sql, [busy.account_id]);
      assert.equal((await audit(service.db)).ok, false);
      const { report, mended } = await mend(service.db);
      assert.equal(report.ok, true);
      assert.ok(mended.every(({ account_id }) => account_id === busy.account_id));
      assert.deepEqual(await books(), before[0]);
      const rows = (await logged()).slice(before[1]);
      assert.equal(rows.length, 1);
      assert.equal(rows[0]!.account_id, busy.account_id);
      assert.equal(rows[0]!.counters.length, counters.length);
      for (const [i, of] of counters.entries()) assert.match(rows[0]!.counters[i]!, of);
    });
  }

  test('sets the counters of several accounts, each with its row in the log', async () => {
    const before = (await logged()).length;
    await change('update balances set open_requests = open_requests + 3');
    const { report, mended } = await mend(service.db);
    assert.equal(report.ok, true);
    assert.deepEqual(
      mended.map(({ account_id, was, is }) => [account_id, was, is]).toSorted(),
      [
        [busy.account_id, '5', '2'],
        [other.account_id, '4', '1'],
      ].toSorted(),
    );
    assert.equal((await logged()).length, before + 2);
  });

  test('changes nothing while the books balance', async () => {
    const before = [await books(), await logged()];
    assert.deepEqual((await mend(service.db)).mended, []);
    assert.deepEqual([await books(), await logged()], before);
  });

  test('counts right while calls go on', async () => {
    await change('update balances set open_requests = open_requests + 4');
    const calls = Array.from({ length: 20 }, () => submit(busy));
    const [{ report }] = await Promise.all([mend(service.db), ...calls]);
    assert.equal(report.ok, true);
    await service.work();
    await service.audit();
    await submit(busy);
    await submit(busy);
  });
});

describe('mending is refused, and changes no counter,', () => {
  const wide = 'update balances set open_requests = open_requests + 1';
  const money: [what: string, broken: string, mended: string][] = [
    [
      'if a balance is wrong',
      'update balances set credits_posted = credits_posted + 1',
      'update balances set credits_posted = credits_posted - 1',
    ],
    [
      'if a debt is wrong',
      'update balances set debt = debt + 1',
      'update balances set debt = debt - 1',
    ],
    [
      'if a quote is wrong',
      `update requests set quoted_usd_micro = quoted_usd_micro + 1`,
      `update requests set quoted_usd_micro = quoted_usd_micro - 1`,
    ],
    [
      'if a guard is missing',
      'alter table requests disable trigger requests_version',
      'alter table requests enable trigger requests_version',
    ],
  ];
  for (const [what, broken, whole] of inShort(2, money)) {
    test(what, async () => {
      await change(broken);
      await change(wide);
      const before = [await books(), await logged()];
      const { report, mended } = await mend(service.db);
      assert.equal(report.ok, false);
      assert.deepEqual(mended, []);
      assert.deepEqual([await books(), await logged()], before);
      assert.ok(report.violations.some(({ law }) => law === 'account_jobs_recompute'));
      await change(whole);
      assert.equal((await mend(service.db)).report.ok, true);
    });
  }
});

describe('the command', () => {
  async function run(...args: string[]) {
    const lines: string[] = [];
    const out = (text: string) => void lines.push(text);
    const code = await runCommand(args, { db: service.db, env: {}, out, err: out });
    return { code, text: lines.join('\n') };
  }

  test('says how to mend, mends, and proves', async () => {
    await change(wrong[0]![1], [busy.account_id]);
    const broken = await run('audit');
    assert.equal(broken.code, 1);
    assert.match(broken.text, /broken: account_jobs_recompute[^]*run: farebox audit --mend$/);
    assert.equal(JSON.parse((await run('audit', '--json')).text).mendable, true);
    const mended = await run('audit', '--mend');
    assert.equal(mended.code, 0);
    assert.match(
      mended.text,
      /^Mended open_jobs of account \S+: was 17, is 2\.\nThe books balance: /,
    );
    assert.match((await run('audit')).text, /^The books balance: /);
  });

  test('says that no command corrects money', async () => {
    await change('update balances set credits_posted = credits_posted + 1');
    const { code, text } = await run('audit', '--mend');
    assert.equal(code, 1);
    assert.match(text, /More than a counter is wrong, so no command corrects it/);
    await change('update balances set credits_posted = credits_posted - 1');
  });
});
