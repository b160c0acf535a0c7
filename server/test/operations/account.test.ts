import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { hashKey, parseAuthorization } from '../../src/core/account/key.ts';
import * as accounts from '../../src/db/accounts/accounts.ts';
import { findAccountOfSecret } from '../../src/db/accounts/keys.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { createAccount, requireAccount } from '../../src/operations/accounts/account.ts';
import { Refusal } from '../../src/operations/refusal.ts';
import { createKey } from '../kit/keys.ts';
import { withBooks } from '../kit/with-database.ts';

const { db } = withBooks();

const create = (email: string) => createAccount(db, { email, is_operator: false });
const count = async () =>
  Number((await db.run<{ n: bigint }>(rawSql('select count(*) as n from accounts')))[0]!.n);

describe('an account', () => {
  test('begins with a balance of 0, under the lower-case address', async () => {
    const { email, status, is_operator, available_usd_micro, reserved_usd_micro, webhook_secrets } =
      await create(' Ann@Example.COM ');
    assert.deepEqual(
      [email, status, is_operator, available_usd_micro, reserved_usd_micro],
      ['ann@example.com', 'active', false, 0n, 0n],
    );
    assert.match(webhook_secrets[0]!, /^whsec_/);
  });

  test('and its first deposit are made together or not at all', async () => {
    const wanted = { email: 'gift@example.com', is_operator: false, first_deposit: 7n };
    const before = await count();
    // As if the process had died between the two statements.
    await db.run(
      rawSql(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'gone'; end $$;
        create trigger fail before insert on transfers for each row execute function fail()`),
    );
    await assert.rejects(createAccount(db, wanted), /gone/);
    assert.equal(await count(), before, 'no account without its deposit');
    await db.run(rawSql('drop function fail() cascade'));
    const { id, available_usd_micro } = await createAccount(db, wanted);
    assert.equal(available_usd_micro, 7n);
    await assert.rejects(createAccount(db, wanted), Refusal);
    assert.equal((await requireAccount(db, id)).available_usd_micro, 7n, 'it is booked once');
  });

  test('is found by its address in any case and by its id, and by nothing else', async () => {
    const made = await create('bob@example.com');
    for (const name of ['bob@example.com', ' BOB@example.com ', made.id, made.id.toUpperCase()]) {
      assert.equal((await requireAccount(db, name)).id, made.id, name);
    }
    for (const name of [
      'bo@example.com',
      randomUUID(),
      '',
      "' or true --",
      'bob@example.com\u0001',
    ]) {
      await assert.rejects(requireAccount(db, name), Refusal, name);
    }
  });

  test('of one address is made once, even if many calls make it at once', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        create(i % 2 === 0 ? 'eve@example.com' : 'EVE@example.com'),
      ),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const each of results) {
      if (each.status === 'rejected')
        assert.match(
          String(each.reason.message),
          /There is already an account for eve@example\.com/,
        );
    }
  });

  for (const email of [
    '',
    'x',
    '@example.com',
    'a@',
    'a b@example.com',
    'a@b@c',
    `${'x'.repeat(65)}@example.com`,
    `a@${'x'.repeat(190)}`,
  ]) {
    test(`is not made for ${JSON.stringify(email.slice(0, 30))}`, async () => {
      const before = await count();
      await assert.rejects(create(email), Refusal);
      assert.equal(await count(), before);
    });
  }

  test('shows page by page, newest first', async () => {
    for (let i = 0; i < 3; i++) await create(`page${i}@example.com`);
    const seen: string[] = [];
    for (let before: string | undefined; ;) {
      const page = await accounts.list(db, { limit: 2, before });
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      before = page.at(-1)!.id;
    }
    assert.equal(seen.length, await count());
    assert.deepEqual(seen, seen.toSorted().toReversed());
  });
});

describe('a key', () => {
  test('is shown once and stored only as its hash', async () => {
    const { id: account_id } = await create('key@example.com');
    const { key, key_id } = await createKey(db, { account_id, name: 'mine' });
    assert.equal(parseAuthorization([`Key ${key}`]), key);
    assert.equal(await findAccountOfSecret(db, hashKey(key)), account_id);
    const [row] = await db.run<{ all: string }>(sql`select to_jsonb(k)::text as all from keys k
      where id = ${key_id}`);
    assert.ok(!row!.all.includes(key.slice(12, -4)));
  });

  for (const name of ['', 'x'.repeat(101)]) {
    test(`is not made under a name of ${name.length} characters`, async () => {
      const { id: account_id } = await create(`name${name.length}@example.com`);
      await assert.rejects(createKey(db, { account_id, name }), Refusal);
    });
  }
});
