/** The copy of an account in one file: nothing of it is missing, and nothing is secret. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../src/commands/program.ts';
import { parseVoucherCode } from '../../../src/core/account/voucher.ts';
import { accountLines } from '../../../src/db/account-export.ts';
import { newId } from '../../../src/lib/id.ts';
import { rawSql, sql, type Connection } from '../../../src/lib/sql/sql.ts';
import { createVouchers, redeemVoucher } from '../../../src/operations/accounts/voucher.ts';
import { commandLine, runAction } from '../../../src/operations/operator-action.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';
import { chargedRequest, logRows, ok, operatorKey, withRows } from './world.ts';

const { service, account } = withWebService({ account: { usd: 10 } });
let operator: Person;
let owner: Person;
let other: string;
let charged: string;
before(async () => {
  operator = await operatorOf(service);
  owner = await person(service, { [account.account_id]: 'owner' });
  charged = await chargedRequest(service, account);
  ok(await account.upload('a text', 'text/plain'), 201);
  const stranger = await service.account({ usd: 2 });
  other = stranger.account_id;
  const body = { prompt: 'a prompt of somebody else' };
  ok(await stranger.post('/v1/queue/fake/image', body), 202);
});

type Line = Record<string, unknown> & { kind: string };
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
const exported = () => operator.call('GET', `/api/operator/accounts/${account.account_id}/export`);

/** Tables that know accounts, people or requests, and are not read, with the reason. */
const leftOut = {
  'derived from what is exported': [
    ['account_windows', 'balances', 'bonuses', 'key_usage', 'metadata_pairs', 'refusals'],
    ['spend_days', 'spend_rollups', 'spending', 'transfer_sums', 'usage_days', 'usage_rollups'],
  ].flat(),
  'proofs about the books': ['seals', 'audit_progress', 'resolutions'],
  'of somebody who is erased': ['erasures'],
  'beside its request': ['request_inputs', 'request_results', 'outputs', 'favorites'],
  'beside the account or a transfer': ['alerts', 'deposit_addresses', 'receipts', 'vouchers'],
  'how a person signs in, in whatever account': ['logins', 'passkeys', 'sessions', 'two_factors'],
  'how the operator buys': ['attempts'],
  'for the operator': ['operator_events'],
  'not final yet': ['chain_sightings'],
};

test('has every table that knows accounts, people or requests, or says why not', async () => {
  const tables = await service.db.run<{ name: string }>(
    rawSql(`select distinct c.relname as name from pg_class c
      join pg_attribute a on a.attrelid = c.oid
      left join pg_constraint f on f.conrelid = c.oid and f.contype = 'f'
        and f.confrelid in ('accounts'::regclass, 'people'::regclass, 'requests'::regclass)
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
        and (f.oid is not null or a.attname in ('account_id', 'person_id', 'request_id'))
      order by 1`),
  );
  const file = new URL('../../../src/db/account-export.ts', import.meta.url);
  const text = readFileSync(file, 'utf8');
  const sections = [...text.matchAll(/from: `(\w+) \w+/g)].map(([, name]) => name!);
  assert.deepEqual(
    [...Object.values(leftOut).flat(), ...sections]
      .filter((name) => name !== 'accounts')
      .toSorted(),
    tables.map(({ name }) => name),
  );
});

test('is a line for each thing, of this account only, without secrets, and has an end', async () => {
  const earlier = await traces(service);
  const reply = await exported();
  assert.equal(reply.status, 200, reply.text);
  assert.match(reply.headers.get('content-type')!, /^application\/x-ndjson/);
  const lines = linesOf(reply.text);
  assert.deepEqual(lines.at(-1), { kind: 'end', lines: lines.length });
  const of = (kind: string) => lines.filter((line) => line.kind === kind);
  const [first] = lines;
  assert.equal(first!.account_id, account.account_id);
  assert.equal(first!.available_usd_micro, String((await service.balance(account)).available));
  assert.deepEqual(
    of('person').map((row) => [row.email, row.role]),
    [[owner.email, 'owner']],
  );
  const [request, ...more] = of('request');
  assert.deepEqual(more, []);
  assert.equal(request!.request_id, charged);
  assert.deepEqual(request!.input, { prompt: 'a cat' });
  assert.equal((request!.outputs as unknown[]).length, 1);
  assert.deepEqual(
    of('transfer').map((row) => row.transfer_kind),
    ['deposit', 'reserve', 'charge'],
  );
  assert.equal(of('file').length, 1);
  assert.equal(of('key').length >= 1, true);
  const [secrets] = await service.db.run<{ all: string[] }>(sql`
    select webhook_secrets || array(select encode(hash, 'hex') from keys
        where account_id = accounts.id) || array(select password from logins) as all
      from accounts where id = ${account.account_id}`);
  for (const secret of [...secrets!.all, account.key, other, 'somebody else'])
    assert.ok(!reply.text.includes(secret), secret);
  for (const [time] of reply.text.matchAll(/(?<=")\d{4}-\d\d-\d\d[T ][^"]*/g))
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(
    first!.created_at,
    (await operator.call('GET', `/api/operator/accounts/${account.account_id}`)).body.created_at,
  );
  assert.deepEqual(await traces(service), earlier);
  assert.equal(
    (await operator.call('GET', `/api/operator/accounts/${newId()}/export`)).status,
    404,
  );
});

test('has all of a long account, once each, and a command writes the same into a new file', async () => {
  await service.db.run(sql`
    insert into webhook_deliveries (id, account_id, cause, url, status, duration_ms)
    select gen_random_uuid(), ${account.account_id}, 'test', 'https://example.com/' || n, 200, n
    from generate_series(1, 1234) n`);
  const { text } = await exported();
  const sent = linesOf(text).filter(({ kind }) => kind === 'delivery');
  assert.equal(sent.length, 1234);
  assert.equal(new Set(sent.map(({ duration_ms }) => duration_ms)).size, 1234);

  const out = join(service.dir, 'account.ndjson');
  const run = async (...args: string[]) => {
    let said = '';
    const say = (part: string) => void (said += part);
    const options = { out: say, err: say, db: service.db, env: {} };
    return { code: await runCommand(['account', 'export', ...args], options), said };
  };
  const done = await run(account.email, '--out', out, '--json');
  assert.equal(done.code, 0, done.said);
  const written = readFileSync(out, 'utf8');
  const things = (whole: string) =>
    linesOf(whole).filter(({ kind }) => kind !== 'action' && kind !== 'end');
  assert.deepEqual(things(written), things(text));
  assert.equal(statSync(out).mode & 0o777, 0o600);
  assert.equal(JSON.parse(done.said).lines, linesOf(written).length);
  writeFileSync(out, 'kept');
  const logged = await logRows(service);
  const { action, by_email, account_id } = logged.at(-1)!;
  assert.deepEqual(
    { action, by_email, account_id },
    { action: 'account.export', by_email: 'command line', account_id: account.account_id },
  );
  const again = await run(account.email, '--out', out);
  assert.equal(again.code, 2);
  assert.match(again.said, /exists already/);
  assert.equal(readFileSync(out, 'utf8'), 'kept');
  const unknown = join(service.dir, 'nobody.ndjson');
  assert.equal((await run('nobody@example.com', '--out', unknown)).code, 2);
  assert.equal(existsSync(unknown), false);
  assert.deepEqual(await logRows(service), logged);
});

test('has only the origins of webhooks, and nothing of an address whose origin is not plain', async () => {
  const hook = 'https://hooks.example.com:8443/in/hidden-path?token=hidden-query#hidden-end';
  const customer = await service.account({ usd: 1 });
  const { account_id } = customer;
  ok(await customer.post('/v1/queue/fake/image', { prompt: 'a cat' }), 202);
  await service.db.run(sql`
    update request_inputs set webhook_url = ${hook} where account_id = ${account_id}`);
  await service.db.run(sql`
    insert into alerts (account_id, webhook_url) values (${account_id}, ${hook})`);
  const plain = {
    'HTTPS://a.example': 'HTTPS://a.example',
    'http://[2600::1]:80?hidden': 'http://[2600::1]:80',
  };
  const odd = [
    'https://ann:hidden@b.example/in',
    'https:\\\\c.example\\hidden',
    'https://d.example\\@hidden',
    'hidden',
  ];
  for (const url of [hook, ...Object.keys(plain), ...odd])
    await service.db.run(sql`
      insert into webhook_deliveries (id, account_id, cause, url, status, duration_ms)
      values (${newId()}, ${account_id}, 'test', ${url}, 200, 5)`);
  const { text } = await operator.call('GET', `/api/operator/accounts/${account_id}/export`);
  assert.ok(!text.includes('hidden'), text);
  const lines = linesOf(text);
  const origin = 'https://hooks.example.com:8443';
  assert.equal((lines[0]!.alerts as { webhook_origin: string }).webhook_origin, origin);
  assert.equal(lines.find(({ kind }) => kind === 'request')!.webhook_origin, origin);
  assert.deepEqual(
    lines.filter(({ kind }) => kind === 'delivery').map((row) => row.origin),
    [origin, ...Object.values(plain), ...odd.map(() => null)],
  );
});

test('tells which voucher a deposit came from, but nothing of its code and note', async () => {
  const customer = await service.account();
  const wanted = { amount: 7n, count: 1, expires_at: null, note: 'for a friend' };
  const [voucher] = await runAction(service.db, commandLine, 'voucher.create', (db) =>
    createVouchers(db, commandLine, wanted),
  );
  const { account_id } = customer;
  await redeemVoucher(service.db, { account_id, code: parseVoucherCode(voucher!.code)! });
  const { text } = await operator.call('GET', `/api/operator/accounts/${account_id}/export`);
  const transfer = linesOf(text).find(({ source }) => source === 'voucher');
  assert.equal((transfer!.voucher as { voucher_id: string }).voucher_id, voucher!.id);
  for (const hidden of [voucher!.code, 'for a friend']) assert.ok(!text.includes(hidden), hidden);
});

test('is in the log before its first byte, and no row is left of one that is not sent', async () => {
  const path = `/api/operator/accounts/${account.account_id}/export`;
  const { rows } = await withRows(service, exported);
  assert.deepEqual(
    rows.map(({ action, account_id, person_id }) => ({ action, account_id, person_id })),
    [{ action: 'account.export', account_id: account.account_id, person_id: operator.id }],
  );
  const looking = await operatorOf(service, 'read_only');
  const unsent = await withRows(service, async () => [
    (await looking.call('GET', path)).status,
    (await operator.call('HEAD', path)).status,
    (await operator.call('GET', `/api/operator/accounts/${newId()}/export`)).status,
  ]);
  assert.deepEqual(unsent, { reply: [403, 200, 404], rows: [] });
});

test('is made twice at once at most, once by one operator, and its place comes free', async () => {
  const path = `/operator/accounts/${account.account_id}/export`;
  const [two, three] = [await operatorOf(service), await operatorOf(service)];
  const { key } = await operatorKey(service, 'exports', ['accounts']);
  const begun = async <T>(work: () => Promise<T>) => {
    const count = (await logRows(service)).length;
    const reply = work();
    await until('it is in the log', async () => (await logRows(service)).length === count + 1);
    return { reply };
  };
  const left = new AbortController();
  const one = await service.db.tx(async (tx) => {
    await tx.run(rawSql('lock table files in access exclusive mode'));
    const byOperator = await begun(exported);
    const again = await exported();
    assert.equal(again.status, 429, again.text);
    assert.equal(again.body.error.details.reason, 'account_share');
    const { signal } = left;
    const byKey = await begun(() => service.call('GET', `/v1${path}`, { key, signal }));
    const { rows } = await withRows(service, async () => {
      for (const each of [two, three]) {
        const { status, body } = await each.call('GET', `/api${path}`);
        assert.deepEqual([status, body.error.code], [503, 'capacity_unavailable']);
      }
    });
    assert.deepEqual(rows, []);
    const gone = assert.rejects(byKey.reply, { name: 'AbortError' });
    left.abort();
    await gone;
    return byOperator;
  });
  assert.equal(linesOf((await one.reply).text).at(-1)!.kind, 'end');
  await until('both places are free', async () => {
    const replies = await Promise.all([two, three].map((each) => each.call('GET', `/api${path}`)));
    return replies.every(({ status }) => status === 200);
  });
  assert.equal((await exported()).status, 200);
});

test('reads a page when the one before is written, and long requests few at a time', async () => {
  const long = await service.account({ usd: 1 });
  for (let n = 0; n < 6; n++)
    ok(await long.post('/v1/queue/fake/image', { prompt: `a cat ${n}` }), 202);
  // Random, so that it is stored as long as it is.
  await service.db.run(sql`
    update request_inputs set input = json_build_object('prompt', (
      select string_agg(gen_random_uuid()::text || n, '') from generate_series(1, 3000) n))
    where account_id = ${long.account_id}`);
  const pages: number[] = [];
  const db: Connection = {
    run: async (statement, ...rest) => {
      const rows = await service.db.run<any>(statement, ...rest);
      pages.push(rows.length);
      return rows;
    },
  };
  const lines = accountLines(db, long.account_id);
  await lines.next();
  assert.deepEqual(pages, [1]);
  const kinds: string[] = [];
  for await (const line of lines) {
    const { kind, input } = JSON.parse(line);
    kinds.push(kind);
    if (kind !== 'request') continue;
    assert.ok(input.prompt.length > 100_000);
    assert.equal(pages.at(-1), 1);
  }
  assert.equal(kinds.filter((kind) => kind === 'request').length, 6);
});
