/** Money on the web pages: the overview, the statement and its files, vouchers. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { adjust, deposit, createVouchers, voidVoucher } from '../../kit/by-command-line.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { newId } from '../../../src/lib/id.ts';
import { parseUsd } from '../../../src/core/price/money.ts';
import { hashVoucherCode, newVoucherCode } from '../../../src/core/account/voucher.ts';
import { redeemVoucher } from '../../../src/operations/accounts/voucher.ts';
import type { TestAccount } from '../../kit/service.ts';
import { before, person, withWebService, type Answer, type Person } from '../../kit/web.ts';

const { service } = withWebService({
  env: { FAREBOX_TOP_UP_TEXT: 'Send USDT and name {account_id} ({email}).' },
});

const balanceOf = async (account: TestAccount) => (await service.balance(account)).available;

/** The code of an expired voucher from before the operator's log had rows of vouchers. */
async function expiredVoucher(): Promise<string> {
  const code = newVoucherCode(randomBytes);
  await service.db.run(sql`
    insert into vouchers (id, code_hash, last4, amount_usd_micro, created_at, expires_at)
       values (gen_random_uuid(), ${hashVoucherCode(code)}, ${code.slice(-4)}, 9000000, '2025-01-01', '2025-01-02')`);
  return code;
}

const voucher = async (usd: number, more: object = {}) => {
  const wanted = { amount: BigInt(usd * 1e6), count: 1, expires_at: null, note: null };
  const [made] = await createVouchers(service.db, { ...wanted, ...more });
  return made!;
};
const submit = async (account: TestAccount, body: object = {}, model = 'fake/image') => {
  const reply = await account.post(`/v1/queue/${model}`, { prompt: 'a cat', ...body });
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id as string;
};
/** Removes requests that a test wrote without transfers. */
async function forget(account_id: string): Promise<void> {
  for (const table of ['requests', 'spend_days', 'spend_rollups'])
    await service.db.run(rawSql(`delete from ${table} where account_id = $1`, [account_id]));
}
async function finish(): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await service.wakeAll();
    await service.work();
  }
}

describe('the overview', () => {
  test('of a new account says what to do first', async () => {
    const account = await service.account({ usd: 0 });
    await service.db.run(rawSql('delete from key_usage where key_id = $1', [account.key_id]));
    await service.db.run(rawSql('delete from keys where id = $1', [account.key_id]));
    const { call } = (await person(service, { [account.account_id]: 'owner' })).of(
      account.account_id,
    );
    const { body } = await call('GET', '/overview');
    assert.deepEqual(body, {
      available_usd_micro: '0',
      reserved_usd_micro: '0',
      debt_usd_micro: '0',
      month: { spent_usd_micro: '0', resets_at: null, keys_total: 0, keys: [] },
      running: { total: 0, data: [] },
      steps: { topped_up: false, has_key: false, has_request: false },
      refused: [],
      failed_webhooks: 0,
      failing_jobs: null,
    });
  });

  test('shows money, this month against the limits of keys, and what runs', async () => {
    const account = await service.account({ monthly_limit_usd_micro: 1_000_000n });
    const { call } = (await person(service, { [account.account_id]: 'read_only' })).of(
      account.account_id,
    );
    const done = await submit(account, { num_images: 2 });
    await finish();
    const open = await submit(account);
    const { body } = await call('GET', '/overview');
    assert.equal(body.reserved_usd_micro, '10000');
    assert.equal(body.available_usd_micro, '99980000');
    assert.equal(body.month.spent_usd_micro, '20000');
    assert.match(body.month.resets_at, /^\d{4}-\d\d-01T00:00:00\.000Z$/);
    assert.deepEqual(body.month.keys, [
      {
        key_id: account.key_id,
        name: 'test',
        is_studio: false,
        revoked: false,
        monthly_limit_usd_micro: '1000000',
        spent_usd_micro: '20000',
      },
    ]);
    assert.equal(body.running.total, 1);
    assert.deepEqual(
      body.running.data.map((row: any) => row.request_id),
      [open],
    );
    assert.deepEqual(body.steps, { topped_up: true, has_key: true, has_request: true });
    const spend = (await call('GET', '/spend?days=7')).body;
    assert.equal(spend.days.length, 7);
    assert.equal(spend.days.at(-1), new Date().toISOString().slice(0, 10));
    assert.deepEqual(spend.data, [
      {
        day: spend.days.at(-1),
        kind: 'image',
        model_id: 'fake/image',
        requests: 2,
        charged_usd_micro: '10000',
      },
    ]);
    assert.ok(done);
    await finish();
    assert.deepEqual((await call('GET', '/overview')).body.running, { total: 0, data: [] });
  });

  test('counts a request on the UTC day on which it was made, and no older ones', async () => {
    const account = await service.account();
    const { account_id } = account;
    const { call } = (await person(service, { [account_id]: 'owner' })).of(account_id);
    await service.db.run(sql`
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status,
          quoted_usd_micro, charged_usd_micro, created_at, started_at, deadline_at, completed_at)
        select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
            || '7000' || '8000' || lpad(n::text, 12, '0'))::uuid, ${account_id}, ${account.key_id}, 'm' || n, 'text', 'fake',
          'COMPLETED', 100, n, at, at, at, now()
        from (select n, date_trunc('day', now() at time zone 'utc') at time zone 'utc'
          - make_interval(days => n - 1) + interval '23:59:59.999' as at
          from generate_series(1, 40) n) d where at < now() or n = 1`);
    for (const days of [7, 30, 90]) {
      const { body } = await call('GET', `/spend?days=${days}`);
      const seen = body.data.filter((row: any) => row.charged_usd_micro !== '0');
      const sum = seen.reduce((all: bigint, row: any) => all + BigInt(row.charged_usd_micro), 0n);
      const n = BigInt(Math.min(days, 40));
      assert.equal(sum, (n * (n + 1n)) / 2n, `${days} days`);
      // The seven most expensive models are named, the others are added up.
      const named = new Set(seen.map((row: any) => row.model_id));
      assert.equal(named.size, days === 7 ? 7 : 8);
      const oldest = seen.find((row: any) => row.day === body.days[0]);
      assert.equal(oldest !== undefined, days <= 30);
    }
    await forget(account_id);
  });

  test('stores the sums of past days, once, and of no day that may still change', async () => {
    const account = await service.account();
    const { account_id } = account;
    const { call } = (await person(service, { [account_id]: 'owner' })).of(account_id);
    const ids = await service.db.run<{ id: string }>(sql`
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status, wake_at,
          quoted_usd_micro, charged_usd_micro, created_at, started_at, deadline_at, completed_at)
        select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
            || '7000' || '9000' || lpad(n::text, 12, '0'))::uuid, ${account_id}, ${account.key_id}, 'm', 'text', 'fake',
          case n when 3 then 'IN_PROGRESS' else 'COMPLETED' end, case n when 3 then now() end,
          100, case when n <> 3 then n end, at, at, at, case when n <> 3 then now() end
        from (select n, now() - make_interval(days => n) as at from generate_series(0, 9) n) d
        returning id`);
    const sum = async () => {
      const { body } = await call('GET', '/spend?days=30');
      return body.data.reduce((all: number, row: any) => all + Number(row.charged_usd_micro), 0);
    };
    const sums = await Promise.all(Array.from({ length: 8 }, sum));
    assert.deepEqual(sums, Array(8).fill(42));
    const kept = async () =>
      service.db.run<{ n: bigint; charged: string }>(sql`
        select count(*) as n, sum(charged_usd_micro) as charged from spend_days
          where account_id = ${account_id}`);
    assert.deepEqual(await kept(), [{ n: 6n, charged: '39' }], 'the days before the open one');
    await service.db.run(sql`
      update requests set status = 'COMPLETED', charged_usd_micro = 58, completed_at = now(),
           wake_at = null where account_id = ${account_id} and status = 'IN_PROGRESS'`);
    assert.equal(await sum(), 100);
    // The newest stored day is yesterday; in the first hour after midnight, the day before.
    assert.ok(Number((await kept())[0]!.n) >= 8);
    assert.equal(await sum(), 100);
    assert.equal(ids.length, 10);
    await forget(account_id);
  });

  test('refuses other periods', async () => {
    const { account_id } = await service.account();
    const { call } = (await person(service, { [account_id]: 'owner' })).of(account_id);
    for (const days of ['8', '', 'x', '30&days=7']) {
      const reply = await call('GET', `/spend?days=${days}`);
      assert.equal(reply.status, 400, days);
      assert.equal(reply.body.error.param, 'days');
    }
  });
});

describe('the short statement', () => {
  test('has one line a request, with its cost, and balances that add up over its pages', async () => {
    const account = await service.account({ usd: 1 });
    const { call } = (await person(service, { [account.account_id]: 'read_only' })).of(
      account.account_id,
    );
    const paid = await submit(account, { num_images: 2 });
    const waits = await submit(account);
    const reply = await account.post(`/v1/requests/${waits}/cancel`);
    assert.equal(reply.status, 200);
    await finish();
    await adjust(service.db, {
      account_id: account.account_id,
      amount: -100_000n,
      reference: newId(),
      reason: 'twice',
    });
    const open = await submit(account);
    const lines: any[] = [];
    let cursor = '';
    do {
      const { body } = await call('GET', `/statement/lines?limit=2${cursor}`);
      lines.push(...body.data);
      cursor = body.next_cursor && `&cursor=${body.next_cursor}`;
    } while (cursor);
    const shown = lines.map((line) => [
      line.kind,
      line.request_id,
      line.effect_usd_micro,
      line.balance_usd_micro,
      line.held_usd_micro,
    ]);
    const charged = lines.find(({ request_id }) => request_id === paid).effect_usd_micro;
    const after = String(1_000_000n + BigInt(charged));
    const last = String(BigInt(after) - 100_000n);
    assert.deepEqual(
      [charged < '0', shown],
      [
        true,
        [
          ['reserve', open, '0', last, '10000'],
          ['adjustment', null, '-100000', last, null],
          ['charge', paid, charged, after, null],
          ['release', waits, '0', '1000000', null],
          ['deposit', null, '1000000', '1000000', null],
        ],
      ],
    );
    const [, , line] = lines;
    assert.equal(line.unit, 'image');
    assert.equal(line.status, 'COMPLETED');
    const { available, reserved } = await service.balance(account);
    assert.equal(String(available + reserved), last);
    const day = new Date(Date.now() + 86_400_000).toISOString();
    assert.deepEqual((await call('GET', `/statement/lines?from=${day}`)).body.data, []);
    const before = await call('GET', `/statement/lines?to=${lines[1].created_at}`);
    assert.equal(before.body.data[0].balance_usd_micro, after);
    await finish();
    const ended = (await call('GET', '/statement/lines')).body.data;
    assert.equal(ended.filter(({ request_id }: any) => request_id === open).length, 1);
    assert.equal(ended[0].kind, 'charge');
  });
});

describe('the statement', () => {
  let account: TestAccount;
  let call: Person['call'];
  let failed: string;
  before(async () => {
    account = await service.account({ usd: 5 });
    const { account_id } = account;
    ({ call } = (await person(service, { [account_id]: 'read_only' })).of(account_id));
    // One of the three images is made.
    await submit(account, { num_images: 3 });
    await finish();
    failed = await submit(account);
    const cancelled = await account.post(`/v1/requests/${failed}/cancel`);
    assert.equal(cancelled.status, 200);
    await adjust(service.db, {
      account_id,
      amount: -1_500_000n,
      reference: '=cmd|"/C calc"!A0',
      reason: 'a slip, "quoted"\u00a0and ünïcode',
    });
  });

  test('shows every movement, its change, and the balance after it', async () => {
    const { body } = await call('GET', '/statement');
    assert.deepEqual(
      body.data.map((row: any) => [row.kind, row.change_usd_micro, row.available_after_usd_micro]),
      [
        ['adjustment', '-1500000', '3490000'],
        ['release', '10000', '4990000'],
        ['reserve', '-10000', '4980000'],
        ['charge', '20000', '4990000'],
        ['reserve', '-30000', '4970000'],
        ['deposit', '5000000', '5000000'],
      ],
    );
    assert.equal(body.next_cursor, null);
    assert.equal(body.data[1].request_id, failed);
    assert.equal(body.data[1].model_id, 'fake/image');
    assert.equal(body.data[3].reserved_usd_micro, '30000');
  });

  test('is read page by page, without a gap or a repeat, under any filter', async () => {
    for (const filter of ['', 'kind=reserve,release', 'kind=deposit,adjustment', 'kind=charge']) {
      const all = (await call('GET', `/statement?limit=100&${filter}`)).body.data;
      const paged = [];
      for (let cursor = ''; ;) {
        const { body } = await call('GET', `/statement?limit=1&${filter}${cursor}`);
        paged.push(...body.data);
        if (body.next_cursor === null) break;
        cursor = `&cursor=${body.next_cursor}`;
      }
      assert.deepEqual(paged, all, filter);
      assert.ok(all.length > 0 && all.length <= 6);
      if (filter) assert.ok(all.length < 6, filter);
    }
  });

  test('is added up over the whole filter, on every page', async () => {
    const micro = (row: any) => BigInt(row.change_usd_micro);
    const filters = ['', 'kind=charge', 'kind=reserve,release', 'kind=deposit,adjustment'];
    for (const filter of [...filters, 'from=2999-01-01', 'to=2999-01-01']) {
      const { data } = (await call('GET', `/statement?limit=100&${filter}`)).body;
      const paid = data.filter((row: any) => row.kind === 'charge');
      const sum = (rows: any[], of = micro) => rows.reduce((all, row) => all + of(row), 0n);
      const gave = sum(data.filter((row: any) => micro(row) > 0n));
      const took = -sum(data.filter((row: any) => micro(row) < 0n));
      const { body } = await call('GET', `/statement/totals?${filter}`);
      assert.deepEqual(
        body,
        {
          movements: data.length,
          in_usd_micro: String(gave),
          out_usd_micro: String(took),
          net_usd_micro: String(gave - took),
          charged_usd_micro: String(sum(paid, (row: any) => BigInt(row.amount_usd_micro))),
          by_source: data
            .filter((row: any) => row.kind === 'deposit')
            .map(({ source, amount_usd_micro }: any) => ({ source, amount_usd_micro })),
        },
        filter,
      );
    }
    const { body } = await call('GET', '/statement/totals');
    assert.equal(body.net_usd_micro, String(await balanceOf(account)));
    assert.equal(body.charged_usd_micro, '10000');
    assert.deepEqual(body.by_source, [{ source: 'paid', amount_usd_micro: '5000000' }]);
    const wrong = await call('GET', '/statement/totals?kind=gift');
    assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'kind']);
  });

  test('is limited to exact times', async () => {
    const { data } = (await call('GET', '/statement')).body;
    const moments = await service.db.run<{ seq: bigint; at: string }>(sql`
      select seq, to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
         from transfers where account_id = ${account.account_id} order by seq`);
    for (const { at } of moments) {
      const ms = Date.parse(at);
      const seqs = async (query: string) =>
        (await call('GET', `/statement?${query}`)).body.data.map((row: any) => row.seq);
      const from = await seqs(`from=${at}`);
      const to = await seqs(`to=${at}`);
      const later = data.filter((row: any) => Date.parse(row.created_at) >= ms);
      assert.deepEqual(
        from,
        later.map((row: any) => row.seq),
      );
      assert.deepEqual(
        [...from, ...to],
        data.map((row: any) => row.seq),
      );
    }
    assert.deepEqual((await call('GET', '/statement?from=2999-01-01')).body.data, []);
    assert.deepEqual((await call('GET', '/statement?to=2001-01-01')).body.data, []);
  });

  for (const [query, param] of Object.entries({
    'kind=gift': 'kind',
    'kind=reserve,reserve,x': 'kind',
    'from=yesterday': 'from',
    'to=2026-02-30': 'to',
    'limit=101': 'limit',
    'cursor=-1': 'cursor',
    'cursor=x': 'cursor',
  })) {
    test(`refuses ${query} and names it`, async () => {
      const reply = await call('GET', `/statement?${query}`);
      assert.deepEqual([reply.status, reply.body.error.param], [400, param]);
    });
  }

  test('as CSV adds up to the balance, in exact decimals, and starts no formula', async () => {
    const reply = await call('GET', '/statement/export?format=csv');
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get('content-type')!, /^text\/csv/);
    assert.match(reply.headers.get('content-disposition')!, /^attachment; filename="farebox-/);
    const [head, ...lines] = reply.text.trimEnd().split('\r\n');
    const names = head!.replaceAll('"', '').split(',');
    assert.equal(lines.length, 6);
    const cell = (line: string, name: string) => line.split(',')[names.indexOf(name)]!;
    const micro = (text: string) =>
      text.startsWith('-') ? -parseUsd(text.slice(1)) : parseUsd(text);
    const sum = lines.reduce((all, line) => all + micro(cell(line, 'change_usd')), 0n);
    assert.equal(sum, await balanceOf(account));
    assert.equal(micro(cell(lines.at(-1)!, 'available_after_usd')), sum);
    assert.deepEqual(
      lines.map((line) => cell(line, 'source')),
      ['"paid"', '', '', '', '', ''],
    );
    for (const line of lines) assert.match(cell(line, 'time_utc'), /^"\d{4}-\d\d-\d\dT.*Z"$/);
    assert.ok(reply.text.includes(`"'=cmd|""/C calc""!A0"`));
    assert.ok(reply.text.includes('"a slip, ""quoted""\u00a0and ünïcode"'));
  });

  test('as JSON has the same movements, oldest first, and only those asked for', async () => {
    const reply = await call('GET', '/statement/export?format=json');
    const file = JSON.parse(reply.text);
    const { data } = (await call('GET', '/statement')).body;
    assert.deepEqual(file.data, data.toReversed());
    const some = await call('GET', '/statement/export?format=json&kind=deposit&from=2020-01-01');
    assert.match(
      some.headers.get('content-disposition')!,
      /farebox-statement-deposit-2020-01-01\.json/,
    );
    const { kind, from, to, data: deposits } = JSON.parse(some.text);
    assert.deepEqual([kind, from, to], [['deposit'], '2020-01-01T00:00:00.000Z', null]);
    assert.deepEqual(deposits, data.slice(-1));
    const none = await call('GET', '/statement/export?format=json&to=2020-01-01');
    assert.deepEqual(JSON.parse(none.text).data, []);
    assert.equal((await call('GET', '/statement/export?format=xls')).status, 400);
  });

  test('of many pages is complete, even if more is booked meanwhile', async () => {
    const many = await service.account({ usd: 1 });
    const { account_id } = many;
    const owner = (await person(service, { [account_id]: 'billing' })).of(account_id);
    await service.db.run(
      rawSql(
        `with made as (insert into transfers (id, account_id, seq, kind, debit_account_id,
           credit_account_id, amount_usd_micro, available_after_usd_micro, reference, source,
           created_at)
           select gen_random_uuid(), $1, n + 1, 'deposit', '00000000-0000-0000-0000-000000000001',
             $1, 1, 1000000 + n, 'many ' || n, 'paid', '2025-01-01' from generate_series(1, 2500) n)
         update balances set credits_posted = credits_posted + 2500, last_seq = 2501
         where account_id = $1`,
        [account_id],
      ),
    );
    const exported = owner.call('GET', '/statement/export?format=json');
    await deposit(service.db, { account_id, amount: 1n, reference: 'meanwhile' });
    const { data } = JSON.parse((await exported).text);
    assert.ok(data.length === 2501 || data.length === 2502);
    assert.deepEqual(
      data.map((row: any) => row.seq),
      data.map((_: unknown, i: number) => i + 1),
    );
  });
});

describe('a voucher', () => {
  test('is redeemed once, and its amount is available at once', async () => {
    const account = await service.account({ usd: 1 });
    const { account_id } = account;
    const owner = (await person(service, { [account_id]: 'billing' })).of(account_id);
    const { id, code } = await voucher(25);
    const reply = await owner.call('POST', '/vouchers', { code: code.toLowerCase() });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.amount_usd_micro, '25000000');
    assert.equal(reply.body.available_usd_micro, '26000000');
    assert.equal(reply.body.replayed, false);
    const again = await owner.call('POST', '/vouchers', { code });
    assert.deepEqual(
      [again.status, again.body.replayed, again.body.transfer_id],
      [200, true, reply.body.transfer_id],
    );
    assert.equal(await balanceOf(account), 26_000_000n);
    const [row] = (await owner.call('GET', '/statement?kind=deposit')).body.data;
    assert.equal(row.reference, `voucher:${id}`);
  });

  test('that a hundred redeem at once, for two accounts, is booked once', async () => {
    const [a, b] = [await service.account({ usd: 0 }), await service.account({ usd: 0 })];
    const { id, code } = await voucher(7);
    const tries = Array.from({ length: 100 }, (_, i) =>
      redeemVoucher(service.db, { account_id: (i % 2 ? a : b).account_id, code }),
    );
    const done = await Promise.allSettled(tries);
    const redeemed = done.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    assert.equal(redeemed.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(new Set(redeemed.map(({ transfer_id }) => transfer_id)).size, 1);
    assert.equal(redeemed.length, 50, 'the other account was told that it had it');
    assert.equal((await balanceOf(a)) + (await balanceOf(b)), 7_000_000n);
    const booked = await service.db.run(
      rawSql('select from transfers where reference = $1', [`voucher:${id}`]),
    );
    assert.equal(booked.length, 1);
  });

  test('through many calls of two people at once is booked once as well', async () => {
    const account = await service.account({ usd: 0 });
    const { account_id } = account;
    const { code } = await voucher(3);
    const owners = await Promise.all(
      Array.from({ length: 2 }, () => person(service, { [account_id]: 'owner' })),
    );
    const calls: Promise<Answer>[] = Array.from({ length: 18 }, (_, i) =>
      owners[i % 2]!.of(account_id).call('POST', '/vouchers', { code }),
    );
    const answers = await Promise.all(calls);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(answers.filter(({ body }) => !body.replayed).length, 1);
    assert.equal(await balanceOf(account), 3_000_000n);
  });

  for (const [what, spoil, says] of [
    ['of another account', 'redeemed', /already redeemed/],
    ['that was taken back', 'void', /cancelled by the operator/],
    ['whose time is over', 'expired', /expired at 20/],
    ['that there is not', 'unknown', /no voucher with this code/],
    ['with a slip in it', 'slip', /mistyped/],
  ] as const) {
    test(`${what} is refused with the reason`, async () => {
      const account = await service.account({ usd: 0 });
      const other = await service.account({ usd: 0 });
      const { account_id } = account;
      const { call } = (await person(service, { [account_id]: 'owner' })).of(account_id);
      const made = await voucher(9);
      let { code } = made;
      if (spoil === 'redeemed') await redeemVoucher(service.db, { ...other, code });
      if (spoil === 'void') await voidVoucher(service.db, made.id);
      if (spoil === 'expired') code = await expiredVoucher();
      if (spoil === 'unknown') code = newVoucherCode(randomBytes);
      if (spoil === 'slip') code = code.slice(0, -1) + (code.endsWith('0') ? '1' : '0');
      const reply = await call('POST', '/vouchers', { code });
      assert.equal(reply.status, 400);
      assert.match(reply.body.error.message, says);
      assert.equal(await balanceOf(account), 0n);
      if (spoil === 'redeemed') await assert.rejects(voidVoucher(service.db, made.id), /redeemed/);
    });
  }

  test('is voided once: a repeat changes nothing and is not logged again', async () => {
    const { id } = await voucher(1);
    await voidVoucher(service.db, id);
    await voidVoucher(service.db, id);
    const logged = await service.db.run(sql`
      select from operator_log where action = 'voucher.void' and target = ${id}`);
    assert.equal(logged.length, 1);
  });

  test('cannot be guessed: after twenty tries an account has to wait', async () => {
    const account = await service.account({ usd: 0 });
    const { account_id } = account;
    const { call } = (await person(service, { [account_id]: 'owner' })).of(account_id);
    const { id, code } = await voucher(1);
    await voidVoucher(service.db, id);
    const statuses = [];
    for (let i = 0; i < 21; i++) statuses.push((await call('POST', '/vouchers', { code })).status);
    assert.deepEqual(statuses, [...Array(20).fill(400), 429]);
    const good = await voucher(1);
    const reply = await call('POST', '/vouchers', { code: good.code });
    assert.equal(reply.status, 429);
    assert.ok(Number(reply.headers.get('retry-after')) > 0);
    assert.equal(await balanceOf(account), 0n);
  });

  test('has a reference that an operator cannot use for other bookings', async () => {
    const { account_id } = await service.account({ usd: 0 });
    const reference = `voucher:${newId()}`;
    await assert.rejects(
      deposit(service.db, { account_id, amount: 1n, reference }),
      /are reserved/,
    );
  });

  test('is not made with invalid values', async () => {
    const wrong: [object, RegExp][] = [
      [{ amount: 0n }, /more than 0/],
      [{ count: 1001 }, /Between 1 and 1000/],
      [{ expires_at: new Date(Date.now() - 1) }, /future/],
      [{ note: 'a\nb' }, /one line/],
    ];
    for (const [more, says] of wrong) await assert.rejects(voucher(1, more), says);
  });
});

describe('rights about money', () => {
  test('read-only people may read and export; people who pay may redeem; strangers find nothing', async () => {
    const account = await service.account({ usd: 0 });
    const { account_id } = account;
    const paths = ['/overview', '/spend', '/statement', '/statement/export', '/top-up'];
    for (const role of ['read_only', 'developer', 'billing', 'owner'] as const) {
      const { call } = (await person(service, { [account_id]: role })).of(account_id);
      for (const path of paths) assert.equal((await call('GET', path)).status, 200, path);
      const { code } = await voucher(1);
      const pays = role === 'billing' || role === 'owner';
      assert.equal((await call('POST', '/vouchers', { code })).status, pays ? 200 : 403, role);
    }
    assert.equal(await balanceOf(account), 2_000_000n);
    const { call } = (await person(service)).of(account_id);
    for (const path of paths) assert.equal((await call('GET', path)).status, 404, path);
  });

  test("the way to pay is told in the operator's words, with the account's own names", async () => {
    const { account_id, email } = await service.account();
    const { call } = (await person(service, { [account_id]: 'read_only' })).of(account_id);
    const { body } = await call('GET', '/top-up');
    assert.deepEqual(body, {
      text: `Send USDT and name ${account_id} (${email}).`,
      takes_usdt: false,
      account_id,
      email,
    });
  });
});
