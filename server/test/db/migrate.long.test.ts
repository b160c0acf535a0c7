import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { migrate, verifySchema } from '../../src/db/migrate.ts';
import { audit } from '../../src/ledger/audit.ts';
import { openDatabase, rawSql, sql } from '../../src/lib/sql/sql.ts';
import { withDatabase } from '../kit/with-database.ts';

/** Further ways in which a migration fails, and the effect of each released one on rows. */

const database = withDatabase();
const { db } = database;
beforeEach(async () => {
  await db.run(rawSql('drop schema public cascade; create schema public'));
});

describe('migrating', () => {
  test('that cannot be recorded is rolled back', async () => {
    await db.run(
      rawSql(`create table migrations (number integer primary key check (number > 1), name text not null,
        sha256 text not null, applied_at timestamptz not null default now())`),
    );
    await assert.rejects(migrate(db), /migrations_number_check/);
    const made = await db.run(sql`select relname from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r'`);
    assert.deepEqual(made, [{ relname: 'migrations' }]);
  });

  test('frees its lock when it fails, so that the next one need not wait for ever', async () => {
    await db.run(rawSql('create view outputs as select 1 as in_the_way'));
    const results = await Promise.allSettled([migrate(db), migrate(db), migrate(db)]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
  });
});

describe('a migration', () => {
  const folder = join(import.meta.dirname, '../../migrations');
  const apply = async (wanted: (name: string) => boolean) => {
    await db.run(rawSql('create table if not exists migrations (number integer)'));
    for (const name of readdirSync(folder).toSorted().filter(wanted))
      await db.run(rawSql(readFileSync(join(folder, name), 'utf8')));
  };
  const leftOutcomes = readdirSync(folder).find((name) => name.endsWith('_left_outcomes.sql'))!;

  test('counts left starts in the stored daily sums, and no other starts', async () => {
    await apply((name) => name < leftOutcomes);
    await db.run(
      rawSql(`
      create function uid(n int) returns uuid language sql immutable
        as $$ select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid $$;
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status,
          quoted_usd_micro, charged_usd_micro, started_at, completed_at)
        select uid(n), uid(0), uid(0), 'm', 'image', 'next', 'COMPLETED', 5, 5, now(), now()
        from generate_series(1, 3) n;
      insert into attempts (request_id, attempt, upstream, class, request_hash, outcome, left_at)
        select uid(n), 1, 'u', 'C', sha256(''), 'unknown', case n when 1 then now()
          when 2 then now() - interval '3 days' end from generate_series(1, 3) n;
      insert into revenue_days (day) select (now() at time zone 'utc')::date - 3;
      insert into resolutions (request_id, account_id, outcome, cost_usd_micro, by_email)
        select uid(1), uid(0), 'ran', 5, 'op@x.test'`),
    );
    await apply((name) => name === leftOutcomes);
    const days = await db.run(sql`select upstream, completed, failed, cost_usd_micro as cost,
      uncosted from revenue`);
    const none = { completed: 0n, failed: 0n, cost: 0n };
    assert.deepEqual(days, [{ upstream: 'u', ...none, uncosted: 1n }]);
    assert.equal((await db.run(rawSql('select from spending'))).length, 1);
    assert.deepEqual(await db.run(rawSql('select attempt from resolutions')), [{ attempt: 0 }]);
  });

  test('keeps the models stopped that an operator stopped, and no other of their routes', async () => {
    const stoppedModels = readdirSync(folder).find((name) => name.endsWith('_stopped_models.sql'))!;
    await apply((name) => name < stoppedModels);
    const log = (n: number, action: string, target: string, routes: string[]) =>
      `select uid(${n}), ${n}, 'op@x.test', 'model.${action}', '${target}',
        '${JSON.stringify({ routes })}'::json`;
    await db.run(
      rawSql(`
      create function uid(n int) returns uuid language sql immutable
        as $$ select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid $$;
      insert into upstreams (name, model, stopped, paused_until) values
        ('a', 'both', false, null), ('b', 'both', true, now() + interval '100 years'),
        ('a', 'woken', false, null), ('a', 'busy', false, now() + interval '1 hour');
      insert into operator_log (id, seq, by_email, action, target, details)
        ${log(1, 'stop', 't/both', ['a both', 'b both'])} union all
        ${log(2, 'stop', 't/resumed', ['b both'])} union all
        ${log(3, 'resume', 't/resumed', ['b both'])} union all
        ${log(4, 'stop', 't/woken', ['a woken'])}`),
    );
    await apply((name) => name === stoppedModels);
    const kept = await db.run(rawSql('select model_id, stopped_by from stopped_models'));
    assert.deepEqual(kept, [{ model_id: 't/both', stopped_by: 'op@x.test' }]);
    const paused = rawSql('select model from upstreams where paused_until is not null');
    assert.deepEqual(await db.run(paused), [{ model: 'busy' }]);
  });

  test('lists late jobs as unknown outcomes, and jobs that no upstream accepted at no cost', async () => {
    await apply((name) => name < '0008');
    await db.run(
      rawSql(`
      create function uid(n int) returns uuid language sql immutable
        as $$ select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid $$;
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status, error_code,
          quoted_usd_micro, charged_usd_micro, started_at, completed_at)
        select uid(n), uid(0), uid(0), 'm', 'image', 'u', 'FAILED',
          case n when 3 then 'outcome_unknown' when 4 then 'upstream_failed' else 'timeout' end,
          5, 0, now(), now() from generate_series(1, 4) n;
      insert into request_results (request_id, account_id, created_at)
        select id, account_id, now() - interval '3 days' from requests;
      insert into attempts (request_id, attempt, upstream, class, request_hash, handle, outcome)
        select uid(n), 1, 'u', 'A', sha256(''), case n when 1 then '{"key": 1}'::json end,
          case n when 1 then 'accepted' else 'not_accepted' end from generate_series(1, 2) n;
      insert into revenue
        select created_at::date, 'image', 'm', 'u', 1, 4, 5, 0, 1
        from request_results where request_id = uid(1)`),
    );
    await apply((name) => name.startsWith('0008'));
    const costs = await db.run<{ cost: bigint | null }>(sql`select cost_usd_micro as cost
      from request_results order by request_id`);
    assert.deepEqual(
      costs.map(({ cost }) => cost),
      [null, 0n, null, null],
    );
    const [{ open }] = (await db.run(sql`
      select count(*)::int as open from requests r join request_results s
        on s.request_id = r.id where error_code in ('outcome_unknown', 'timeout')
          and cost_usd_micro is null`)) as [{ open: number }];
    const days = await db.run(rawSql('select uncosted from revenue'));
    assert.deepEqual([open, days], [2, [{ uncosted: 3n }]]);
  });

  test('counts the tokens of chats whose usage is kept, whatever their upstream wrote', async () => {
    await apply((name) => name < '0031');
    const usages: [kind: string, output: object | null, tokens: (number | null)[]][] = [
      ['text', { usage: { prompt_tokens: 5, completion_tokens: 2 } }, [5, 2, 0, 0]],
      [
        'text',
        {
          choices: [],
          usage: {
            prompt_tokens: 5,
            completion_tokens: 2,
            prompt_tokens_details: { cached_tokens: 9 },
            completion_tokens_details: { reasoning_tokens: 1 },
          },
        },
        [5, 2, 5, 1],
      ],
      [
        'text',
        {
          usage: {
            prompt_tokens: 5,
            completion_tokens: 2,
            prompt_tokens_details: { cached_tokens: 'all' },
            completion_tokens_details: [],
          },
        },
        [5, 2, 0, 0],
      ],
      ['text', { usage: { prompt_tokens: 1e15, completion_tokens: 2 } }, [null, null, null, null]],
      ['text', null, [null, null, null, null]],
      ['image', { usage: { prompt_tokens: 5, completion_tokens: 2 } }, [null, null, null, null]],
    ];
    for (const [i, [kind, output]] of usages.entries())
      await db.run(sql`with r as (
            insert into requests (id, account_id, key_id, model_id, kind, upstream, status,
              quoted_usd_micro, charged_usd_micro, started_at, completed_at)
            select uid, uid, uid, 'm', ${kind}, 'u', 'COMPLETED', 5, 5, now(), now()
            from (select (lpad(to_hex(${i}::int), 8, '0') || '-0000-7000-8000-000000000000')::uuid) u (uid)
            returning id
          ) insert into request_results (request_id, account_id, output) select id, id, ${output && JSON.stringify(output)} from r`);
    await apply((name) => name.startsWith('0031'));
    const rows = await db.run<Record<string, number | null>>(sql`
      select input_tokens, output_tokens, cached_tokens, reasoning_tokens
        from request_results order by request_id`);
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      usages.map(([, , tokens]) => tokens),
    );
  });
});

describe('migrating refuses', () => {
  test('a file that was put in between two applied ones', async () => {
    await migrate(db);
    await db.run(rawSql(`update migrations set number = number + 100`));
    await db.run(sql`insert into migrations (number, name, sha256)
      values (1, '0001_other.sql', 'x')`);
    await assert.rejects(migrate(db), /0001_other|at migration/);
  });
});

describe('verifying', () => {
  test('accepts a schema of this version with read-only rights', async () => {
    await migrate(db);
    const role = `reader_${process.pid}`;
    await db.run(rawSql(`create role ${role} login`));
    await db.run(rawSql(`grant usage on schema public to ${role}`));
    await db.run(rawSql(`grant select on all tables in schema public to ${role}`));
    const reader = openDatabase({
      connection: database.url.replace(/\/\/[^@/]*@/, `//${role}@`),
      max: 2,
      statementTimeoutMs: 10_000,
      applicationName: 'reader',
    });
    try {
      assert.equal(
        (await reader.run<{ name: string }>(rawSql('select current_user as name')))[0]!.name,
        role,
      );
      await verifySchema(reader);
      assert.equal((await audit(reader)).ok, true);
      await assert.rejects(migrate(reader), /permission denied/);
    } finally {
      await reader.close();
      await db.run(rawSql(`drop owned by ${role}`));
      await db.run(rawSql(`drop role ${role}`));
    }
  });
});
