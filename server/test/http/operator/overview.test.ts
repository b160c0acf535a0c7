/** The service's revenue, as the operator's console shows it; vouchers, invitations and the log. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { invite } from '../../../src/operations/accounts/person.ts';
import {
  before,
  operatorOf,
  password,
  person,
  stranger,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let operator: Person;
const { service, account } = withWebService({ account: { usd: 10 } });
before(async () => {
  operator = await operatorOf(service);
});

const ask = async (path: string) => {
  const { status, body, text } = await operator.call('GET', `/api/operator${path}`);
  assert.equal(status, 200, text);
  return body;
};

/** Makes `count` requests that ended `daysAgo` days ago. */
async function earn(count: number, daysAgo: number): Promise<void> {
  const call = { key: account.key, body: { prompt: 'a cat' } };
  for (let i = 0; i < count; i++) {
    assert.equal((await service.call('POST', '/v1/queue/fake/image', call)).status, 202);
  }
  await service.work();
  await service.db.run(sql`
    update request_results set created_at = created_at - ${daysAgo} * interval '1 day'
       where created_at > now() - interval '1 hour'`);
}

const figures = ({ totals }: { totals: Record<string, unknown> }) => [
  totals.completed,
  totals.charged_usd_micro,
  totals.cost_usd_micro,
  totals.margin_usd_micro,
];

describe('the overview', () => {
  test('is 0 on every day before any revenue', async () => {
    const overview = await ask('/overview?days=7');
    assert.deepEqual(figures(overview), [0, '0', '0', '0']);
    assert.equal(overview.by_day.length, 7);
    assert.equal(overview.by_day.at(-1).name, new Date().toISOString().slice(0, 10));
    assert.equal(overview.available_usd_micro, '10000000');
    assert.equal(overview.accounts, 2);
    assert.equal(overview.by_day.at(-1).new_accounts, 2);
  });

  test('tells the worth of vouchers that may still be redeemed, not of void ones', async () => {
    const worth = async () => (await ask('/overview')).vouchers_usd_micro;
    const had = BigInt(await worth());
    const make = async () => {
      const body = { amount_usd_micro: '2500000', count: 2 };
      return (await operator.call('POST', '/api/operator/vouchers', body)).body.data;
    };
    const [first] = await make();
    assert.equal(await worth(), String(had + 5_000_000n));
    await operator.call('POST', `/api/operator/vouchers/${first.id}/void`);
    assert.equal(await worth(), String(had + 2_500_000n));
    assert.equal((await ask('/overview')).available_usd_micro, '10000000');
  });

  test('counts ended requests on their day, with and without stored sums', async () => {
    await earn(1, 40);
    await earn(3, 3);
    await earn(2, 0);
    // Deletes stored sums, because this test lets requests end in the past.
    await service.db.run(rawSql('truncate revenue_days, revenue, spending'));
    assert.deepEqual(figures(await ask('/overview?days=7')), [5, '50000', '20000', '30000']);
    const { by_day, before: last } = await ask('/overview?days=30');
    assert.equal(last.length, 30);
    const dayBefore = Date.parse(by_day[0].name) - 86_400_000;
    assert.equal(last.at(-1).name, new Date(dayBefore).toISOString().slice(0, 10));
    const earned = last.filter((day: { completed: number }) => day.completed > 0);
    assert.deepEqual(
      earned.map((totals: Record<string, unknown>) => figures({ totals })),
      [[1, '10000', '4000', '6000']],
    );
    const day = await ask('/overview?days=1');
    assert.deepEqual(figures(day), [2, '20000', '8000', '12000']);
    assert.deepEqual([day.by_day.length, day.before.length], [24, 24]);
    assert.match(day.by_day.at(-1).name, /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/);
    assert.equal(Date.parse(day.by_day[0].name) - Date.parse(day.before.at(-1).name), 3_600_000);
    const month = await ask('/overview?days=90');
    assert.deepEqual(figures(month), [6, '60000', '24000', '36000']);
    assert.deepEqual(
      month.by_day.filter((day: { completed: number }) => day.completed > 0).length,
      3,
    );
    for (const part of ['by_model', 'by_kind', 'by_upstream', 'top_accounts']) {
      assert.equal(month[part].length, 1, part);
      assert.equal(month[part][0].charged_usd_micro, '60000', part);
    }
    assert.equal(month.top_accounts[0].email, account.email);
  });

  test('of 24 hours has each request in its hour, and those of the day before beside them', async () => {
    const move = (hours: number) =>
      service.db.run(sql`update request_results
        set created_at = now() - ${hours} * interval '1 hour'
        where request_id = (select max(request_id::text)::uuid from request_results)`);
    const counts = ({ by_day, before: last, totals, top_accounts }: any) => [
      by_day.findIndex(({ completed }: any) => completed === 1),
      last.findIndex(({ completed }: any) => completed === 1),
      totals.completed,
      top_accounts[0]?.completed ?? 0,
    ];
    await move(23);
    assert.deepEqual(counts(await ask('/overview?days=1')), [0, -1, 2, 2]);
    await move(24);
    assert.deepEqual(counts(await ask('/overview?days=1')), [23, 23, 1, 1]);
    await move(47);
    assert.deepEqual(counts(await ask('/overview?days=1')), [23, 0, 1, 1]);
    await move(0);
  });

  test('agrees with the ledger, and does not count a day twice when many ask at once', async () => {
    await service.db.run(rawSql('truncate revenue_days, revenue, spending'));
    const told = await Promise.all(Array.from({ length: 6 }, () => ask('/overview?days=90')));
    for (const overview of told) assert.deepEqual(figures(overview), figures(told[0]));
    const [row] = await service.db.run<{ sum: bigint }>(sql`select sum(amount_usd_micro)::bigint as
      sum from transfers where kind = 'charge'`);
    assert.equal(told[0].totals.charged_usd_micro, String(row!.sum));
  });

  test("agrees with the account's own overview, which counts by the day of the submit", async () => {
    const { account_id } = account;
    const own = (await person(service, { [account_id]: 'read_only' })).of(account_id);
    const { body: spend } = await own.call('GET', '/spend?days=90');
    const { top_accounts, by_day } = await ask('/overview?days=90');
    const sum = (rows: { charged_usd_micro: string }[]) =>
      rows.reduce((all, row) => all + BigInt(row.charged_usd_micro), 0n);
    assert.equal(String(sum(spend.data)), top_accounts[0].charged_usd_micro);
    const days = (rows: any[], name: string) =>
      rows.filter((row) => row.charged_usd_micro !== '0').map((row) => row[name]);
    assert.equal(new Set(days(spend.data, 'day')).size, 1);
    assert.equal(days(by_day, 'name').length, 3);
  });

  test('leaves unknown costs out of the sum, and says so', async () => {
    await earn(1, 0);
    await service.db.run(sql`
      update request_results set cost_usd_micro = null where created_at > now() - interval '1 minute'
           and request_id = (select max(request_id::text)::uuid from request_results)`);
    const { totals } = await ask('/overview?days=7');
    assert.deepEqual([totals.uncosted, totals.cost_usd_micro], [1, '20000']);
  });

  test('shows an open reservation', async () => {
    const call = { key: account.key, body: { prompt: 'a cat', num_images: 4 } };
    await service.call('POST', '/v1/queue/fake/image', call);
    assert.equal((await ask('/overview')).reserved_usd_micro, '40000');
  });

  test('of an invalid period is refused', async () => {
    const { status } = await operator.call('GET', '/api/operator/overview?days=8');
    assert.equal(status, 400);
  });

  test('shows the newest audit, also one that found a broken law', async () => {
    const proof = async () => (await operator.call('POST', '/api/operator/audit', {})).body;
    const first = await proof();
    assert.deepEqual([first.proved, first.books.ok], [true, true]);
    assert.equal((await ask('/overview')).books.proved_at, first.books.proved_at);
    await service.db.run(sql`update balances set credits_posted = credits_posted + 1
      where account_id = ${account.account_id}`);
    const broken = await proof();
    assert.equal(broken.books.ok, false);
    assert.ok(broken.books.violations.length > 0);
    assert.equal((await ask('/overview')).books.ok, false);
    await service.db.run(sql`update balances set credits_posted = credits_posted - 1
      where account_id = ${account.account_id}`);
    assert.equal((await proof()).books.ok, true);
    const { data } = await ask('/log?action=books.prove');
    assert.deepEqual(
      data.map(({ details }: { details: { ok: boolean } }) => details.ok),
      [true, false, true],
    );
  });
});

describe('the log', () => {
  test('is read a page after the other, by action, operator and account', async () => {
    for (let i = 0; i < 5; i++) {
      const body = { amount_usd_micro: '1', reference: `log ${i}`, source: 'paid' };
      await operator.call('POST', `/api/operator/accounts/${account.account_id}/credits`, body);
    }
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await ask(`/log?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.data.map((row: { log_id: string }) => row.log_id));
      assert.deepEqual(page.authors, ['command line', operator.email]);
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual(seen, [...new Set(seen)].sort().reverse());
    const filters = [`account_id=${account.account_id}`, `by=${operator.email}`];
    for (const filter of ['action=account.credit', ...filters]) {
      const { data } = await ask(`/log?${filter}&limit=100`);
      assert.ok(data.length >= 5, filter);
    }
    assert.deepEqual((await ask('/log?by=nobody@example.com')).data, []);
  });

  test('cannot be changed, nor emptied', async () => {
    for (const change of [`update operator_log set action = 'x'`, 'delete from operator_log'])
      await assert.rejects(service.db.run(rawSql(change)), /append-only/);
  });
});

describe('vouchers', () => {
  test('are made in number, and can be voided', async () => {
    const body = { amount_usd_micro: '2500000', count: 3, note: 'course' };
    const { status, body: made } = await operator.call('POST', '/api/operator/vouchers', body);
    assert.equal(status, 201);
    assert.equal(new Set(made.data.map(({ code }: { code: string }) => code)).size, 3);
    const [{ id }] = made.data;
    const gone = await operator.call('POST', `/api/operator/vouchers/${id}/void`, {});
    assert.equal(gone.status, 200);
    const { data } = await ask('/vouchers?limit=3');
    const states = data.map(({ status: state }: { status: string }) => state);
    assert.deepEqual(states.sort(), ['open', 'open', 'void']);
  });

  for (const [what, wrong] of Object.entries({
    'no worth': { amount_usd_micro: '0', count: 1 },
    'too many': { amount_usd_micro: '1', count: 1001 },
    'an end in the past': { amount_usd_micro: '1', count: 1, expires_at: '2020-01-01T00:00:00Z' },
    'a note that is too long': { amount_usd_micro: '1', count: 1, note: 'x'.repeat(201) },
  })) {
    test(`of ${what} are refused, and none is made`, async () => {
      const before = (await ask('/vouchers')).data.length;
      const { status } = await operator.call('POST', '/api/operator/vouchers', wrong);
      assert.equal(status, 400);
      assert.equal((await ask('/vouchers')).data.length, before);
    });
  }
});

describe('an invitation to sign up', () => {
  test('is listed while it is open, and is void once it is withdrawn', async () => {
    const { body } = await operator.call('POST', '/api/operator/invitations', {
      email: 'guest@example.com',
    });
    const listed = await ask('/invitations');
    assert.equal(listed.sign_up, 'open');
    assert.deepEqual(
      listed.data.map(({ email }: { email: string }) => email),
      ['guest@example.com'],
    );
    const path = `/api/operator/invitations/${body.invitation_id}`;
    assert.equal((await operator.call('DELETE', path, {})).status, 200);
    assert.equal((await operator.call('DELETE', path, {})).status, 404);
    assert.deepEqual((await ask('/invitations')).data, []);
    const token = new URL(body.link).searchParams.get('token');
    assert.equal((await operator.call('POST', '/api/invitation', { token })).status, 404);
  });

  for (const [what, end] of Object.entries({
    'is an operator’s no more':
      'update accounts set is_operator = false where id = $1 and $2::uuid is not null',
    'is suspended': `update accounts set status = 'suspended'
      where id = $1 and $2::uuid is not null`,
    'they do not own any more': `update members set role = 'developer'
      where account_id = $1 and person_id = $2`,
  })) {
    test(`is void once its maker’s account ${what}, and makes no person`, async () => {
      const maker = await operatorOf(service);
      const email = `late-${maker.email}`;
      const { body } = await maker.call('POST', '/api/operator/invitations', { email });
      const token = new URL(body.link).searchParams.get('token');
      const shown = async () => (await operator.call('POST', '/api/invitation', { token })).status;
      assert.equal(await shown(), 200);
      const { accounts } = (await maker.call('GET', '/api/me')).body;
      const { account_id } = accounts[0];
      // Otherwise the account would have no owner, which the database refuses.
      await person(service, { [account_id]: 'owner' });
      await service.db.run(rawSql(end, [account_id, maker.id]));
      assert.equal(await shown(), 404);
      const form = { name: 'Late', email, password, token };
      assert.equal((await stranger(service).call('POST', '/api/sign-up', form)).status, 400);
      const made = await service.db.run(rawSql('select from people where email = $1', [email]));
      assert.equal(made.length, 0);
      assert.deepEqual(
        (await ask('/invitations')).data.filter((row: { email: string }) => row.email === email),
        [],
      );
    });
  }

  test('of the command line, which has no maker, stays valid', async () => {
    const wanted = { account_id: null, email: 'shell@example.com', role: 'owner' } as const;
    const { token } = await invite(service.db, { ...wanted, invited_by: null });
    const form = { name: 'Shell', email: wanted.email, password, token };
    assert.equal((await stranger(service).call('POST', '/api/sign-up', form)).status, 200);
  });
});
