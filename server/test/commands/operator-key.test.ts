/** `farebox operator-key`: what is printed, stored and logged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { withService } from '../kit/with-service.ts';
import { assertSaid, placeFor } from './cli.ts';

const { service } = withService();

const logged = () =>
  service.db.run<{ action: string; target: string; by_email: string; text: string }>(sql`
    select action, target, by_email, l::text as text from operator_log l order by seq`);

test('a key is printed once, works, is listed without its secret, and ends', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const run = (...args: string[]) => place.run(['operator-key', ...args]);
  const made = await run('create', '--name', 'billing', '--scope', 'money', 'read', '--json');
  const { key, operator_key_id, ...rest } = made.json;
  assert.match(key, /^fbo_[0-9A-Za-z]{38}$/);
  assert.deepEqual(rest, { name: 'billing', scopes: ['read', 'money'] });
  const call = () => service.call('GET', '/v1/operator/accounts', { key });
  assert.equal((await call()).status, 200);

  const { json, stdout } = await run('list', '--json');
  assert.ok(!stdout.includes(key.slice(8, 30)));
  const [row] = json.data;
  assert.deepEqual(
    [row.operator_key_id, row.name, row.scopes, row.created_by, row.revoked_at, row.last4],
    [operator_key_id, 'billing', ['read', 'money'], 'command line', null, key.slice(-4)],
  );
  assert.match((await run('list')).stdout, /billing +fbo_.{2}….{4} +read money +command line/);

  assert.deepEqual((await run('revoke', operator_key_id, '--json')).json, {
    operator_key_id,
    revoked: true,
  });
  assert.equal((await call()).status, 401);
  assertSaid(await run('revoke', operator_key_id), /already revoked/);
  const rows = await logged();
  assert.deepEqual(
    rows.map(({ action, target, by_email }) => [action, target, by_email]),
    [
      ['operator_key.create', 'billing', 'command line'],
      ['operator_key.revoke', 'billing', 'command line'],
    ],
  );
  for (const { text } of rows) assert.ok(!text.includes(key.slice(8, 30)));
});

test('at most a hundred keys work at a time; a revoked one makes room', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const create = () => place.run(['operator-key', 'create', '--scope', 'read', '--json']);
  await service.db.run(sql`
    insert into operator_keys (id, name, hash, prefix, last4, scopes, created_by)
      select gen_random_uuid(), 'many', sha256(n::text::bytea), 'fbo_ab', 'wxyz', '{read}', 'test'
      from generate_series(1, 99) n`);
  const { json } = await create();
  const before = (await logged()).length;
  assertSaid(await create(), /at most 100 operator keys. Revoke one first/);
  assert.equal((await logged()).length, before);
  await place.run(['operator-key', 'revoke', json.operator_key_id]);
  assert.equal((await create()).code, 0);
});

test('an invalid scope, name or key is refused and leaves nothing', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const before = (await logged()).length;
  const refused: [args: string[], says: RegExp][] = [
    [['create', '--scope', 'all'], /'all' is invalid.*choices are read, accounts, keys/],
    [['create'], /required option '--scope/],
    [['create', '--scope', 'read', '--name', ' '], /1 to 100 characters/],
    [['revoke', newId()], /already revoked, or never existed/],
    [['revoke', 'x'], /There is no operator key with the id x/],
  ];
  for (const [args, says] of refused) assertSaid(await place.run(['operator-key', ...args]), says);
  assert.equal((await logged()).length, before);
});
