/** All that is kept about an account, in one file: nothing of it is missing, and nothing is secret. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../src/commands/program.ts';
import { newId } from '../../../src/lib/id.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { traces } from '../../kit/traces.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';
import { chargedRequest, ok } from './world.ts';

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

/** Derived from what is exported, kept for days at most, or not about the account. */
const leftOut = {
  counters: ['account_windows', 'balances', 'bonuses', 'key_usage', 'metadata_pairs', 'refusals'],
  sums: ['spend_days', 'spend_rollups', 'spending', 'transfer_sums', 'usage_days', 'usage_rollups'],
  proofs: ['seals', 'audit_progress', 'erasures', 'resolutions'],
  'of a request': ['request_inputs', 'request_results', 'outputs', 'favorites'],
  'of the account or a transfer': ['alerts', 'deposit_addresses', 'receipts'],
  'for the operator': ['operator_events'],
  'not final yet': ['chain_sightings'],
};

test('has every table that knows accounts, or says why not', async () => {
  const tables = await service.db.run<{ name: string }>(
    rawSql(`select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
        and a.attname = 'account_id' order by 1`),
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
  const [secrets] = await service.db.run<{ all: string[] }>(
    sql`select webhook_secrets || array(select encode(hash, 'hex') from keys
        where account_id = accounts.id) || array(select password from logins) as all
      from accounts where id = ${account.account_id}`,
  );
  for (const secret of [...secrets!.all, account.key, other, 'somebody else'])
    assert.ok(!reply.text.includes(secret), secret);
  assert.deepEqual(await traces(service), earlier);
  assert.equal(
    (await operator.call('GET', `/api/operator/accounts/${newId()}/export`)).status,
    404,
  );
});

test('has all of a long account, once each, and a command writes the same into a new file', async () => {
  await service.db.run(sql`
    insert into webhook_deliveries (id, account_id, cause, url, status, duration_ms)
    select gen_random_uuid(), ${account.account_id}, 'test', 'https://example.com/' || n, 200, 5
    from generate_series(1, 1234) n`);
  const { text } = await exported();
  const urls = linesOf(text).filter(({ kind }) => kind === 'delivery');
  assert.equal(urls.length, 1234);
  assert.equal(new Set(urls.map(({ url }) => url)).size, 1234);

  const out = join(service.dir, 'account.ndjson');
  const run = async (...args: string[]) => {
    let said = '';
    const say = (part: string) => void (said += part);
    const options = { out: say, err: say, db: service.db, env: {} };
    return { code: await runCommand(['account', 'export', ...args], options), said };
  };
  const done = await run(account.email, '--out', out, '--json');
  assert.equal(done.code, 0, done.said);
  assert.equal(readFileSync(out, 'utf8'), text);
  assert.equal(statSync(out).mode & 0o777, 0o600);
  assert.equal(JSON.parse(done.said).lines, linesOf(text).length);
  writeFileSync(out, 'kept');
  const again = await run(account.email, '--out', out);
  assert.equal(again.code, 2);
  assert.match(again.said, /exists already/);
  assert.equal(readFileSync(out, 'utf8'), 'kept');
  const unknown = join(service.dir, 'nobody.ndjson');
  assert.equal((await run('nobody@example.com', '--out', unknown)).code, 2);
  assert.equal(existsSync(unknown), false);
});
