import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as pages from '../../src/db/requests/request-pages.ts';
import { list, listNewest } from '../../src/db/requests/request-lists.ts';
import type { Metadata } from '../../src/core/request/metadata.ts';
import type { Status } from '../../src/core/request/request.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { before, withDatabase } from '../kit/with-database.ts';

/** Pages of a search give each matching request once, however few a statement may read. */

interface MadeRequest {
  id: string;
  account_id: string;
  key_id: string;
  model_id: string;
  status: Status;
  created_ms: number;
  metadata: Metadata | null;
}

const uuid = (kind: number, n: number) =>
  `${n.toString(16).padStart(8, '0')}-000${kind}-7000-8000-000000000000`;
const account = uuid(1, 7);
const total = 240;
/** The time of request n, which its id contains. */
const madeAt = (n: number) => n * 65_536 + 3;
const statuses: Status[] = [
  'COMPLETED',
  'COMPLETED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'IN_QUEUE',
];
const made = Array.from({ length: total }, (_, n): MadeRequest => {
  const env = { env: n % 3 === 0 ? 'test' : 'prod' };
  return {
    id: uuid(3, n),
    account_id: n % 5 === 0 ? uuid(1, 8) : account,
    key_id: uuid(2, n % 4),
    model_id: n % 40 === 1 ? 'rare' : 'usual',
    status: statuses[n % statuses.length]!,
    created_ms: madeAt(n),
    metadata:
      n % 7 === 0 ? null : { ...env, ...(n % 11 === 0 && { customer: 'Zoë "猫"', empty: '' }) },
  };
});

const { db } = withDatabase();
before(async () => {
  for (const id of [account, uuid(1, 8)]) {
    await db.run(
      rawSql(`insert into accounts (id, email, webhook_secrets) values ($1, $2, '{x}')`, [
        id,
        `${id}@x.test`,
      ]),
    );
    await db.run(rawSql('insert into balances (account_id) values ($1)', [id]));
  }
  await db.run(sql`
    with d as materialized (select * from json_to_recordset(${JSON.stringify(made)}::json)
        as d (id uuid, account_id uuid, key_id uuid, model_id text, status text, created_ms float8, metadata jsonb)),
      inputs as (insert into request_inputs (request_id, account_id, input, quote, metadata)
        select id, account_id, '{}', '{}', metadata from d)
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status, quoted_usd_micro, charged_usd_micro,
        created_at, completed_at, wake_at, started_at, error_code)
      select id, account_id, key_id, model_id, 'image', 'u', status, 5,
        case status when 'COMPLETED' then 5 when 'IN_QUEUE' then null else 0 end, to_timestamp(created_ms / 1000),
        case when status <> 'IN_QUEUE' then now() end, case when status = 'IN_QUEUE' then now() end, null,
        case when status = 'FAILED' then 'timeout' end from d`);
});

const searches: Record<string, Partial<pages.PageFilter>> = {
  all: {},
  'a rare model': { model_id: 'rare' },
  'a model that nobody used': { model_id: 'none' },
  'one key': { key_id: uuid(2, 1) },
  'failed ones': { status: 'FAILED' },
  'completed ones of a rare model': { status: 'COMPLETED', model_id: 'rare' },
  'a pair of many': { metadata: { env: 'prod' } },
  'a pair of few': { metadata: { customer: 'Zoë "猫"' } },
  'an empty value': { metadata: { empty: '' } },
  'a pair of nobody': { metadata: { env: 'PROD' } },
  'two pairs': { metadata: { env: 'test', customer: 'Zoë "猫"' } },
  'two pairs that no request has together': { metadata: { env: 'test', tenant: 'x' } },
  'a pair, a status, a model and a key': {
    metadata: { env: 'prod' },
    status: 'COMPLETED',
    model_id: 'usual',
    key_id: uuid(2, 2),
  },
  'a period': { from_ms: madeAt(50), to_ms: madeAt(90) },
  'a pair in a period': { metadata: { env: 'prod' }, from_ms: madeAt(50), to_ms: madeAt(90) },
  'the beginning of an id': { first_id: uuid(3, 16), last_id: uuid(3, 31) },
};

function expected(filter: Partial<pages.PageFilter>, owner: string | null = account): string[] {
  return made
    .filter(
      (row) =>
        (owner === null || row.account_id === owner) &&
        (filter.status === undefined || row.status === filter.status) &&
        (filter.model_id === undefined || row.model_id === filter.model_id) &&
        (filter.key_id === undefined || row.key_id === filter.key_id) &&
        (filter.from_ms === undefined || row.created_ms >= filter.from_ms!) &&
        (filter.to_ms === undefined || row.created_ms < filter.to_ms!) &&
        (filter.first_id === undefined || row.id >= filter.first_id!) &&
        (filter.last_id === undefined || row.id <= filter.last_id!) &&
        Object.entries(filter.metadata ?? {}).every(
          ([name, said]) => row.metadata?.[name] === said,
        ),
    )
    .map(({ id }) => id)
    .toReversed();
}

describe('following the pages gives all that match, once and in order', () => {
  for (const [what, more] of Object.entries(searches))
    for (const [limit, look] of [
      [3, 10],
      [50, 30],
      [1, 1_000],
    ] as const)
      test(`${what}, ${limit} a page of ${look}`, async () => {
        const filter = { ...pages.anyRequest, account_id: account, ...more };
        const seen: string[] = [];
        const listed: string[] = [];
        let below_id: string | null = null;
        let count = 0;
        do {
          const bounds: pages.PageBounds = { below_id, limit, look };
          const page = await pages.pageBelow(db, filter, bounds);
          seen.push(...page.ids);
          const { rows, next } = await list(db, filter, bounds);
          listed.push(...rows.map(({ id }) => id));
          below_id = pages.nextBehind(page);
          assert.equal(next, below_id);
          assert.ok(++count <= total + 1, 'the pages do not end');
        } while (below_id !== null);
        assert.deepEqual(seen, expected(more));
        assert.deepEqual(listed, seen);
      });
});

test('a page upwards gives the next newer ones, oldest first', async () => {
  const filter = { ...pages.anyRequest, account_id: account, metadata: { env: 'prod' } };
  const all = expected({ metadata: { env: 'prod' } }).toReversed();
  const bounds = { above_id: all[9]!, limit: 4, look: 1_000 };
  assert.deepEqual(await pages.listIdsAbove(db, filter, bounds), all.slice(10, 14));
});

test("the operator's list searches on until it is full or everything was searched", async () => {
  const find = async (more: Partial<pages.PageFilter>, limit: number) =>
    (await listNewest(db, { ...pages.anyRequest, ...more }, { limit, look: 10 })).map(
      ({ id }) => id,
    );
  const rare = expected({ model_id: 'rare' }, null);
  assert.deepEqual(await find({ model_id: 'rare' }, 4), rare.slice(0, 4));
  assert.deepEqual(await find({ model_id: 'rare' }, 100), rare);
  assert.deepEqual(await find({ model_id: 'none' }, 4), []);
});

test('a request whose metadata are changed or removed is found by the new ones alone', async () => {
  const find = async (metadata: Metadata) => {
    const filter = { ...pages.anyRequest, account_id: account, metadata };
    const bounds = { below_id: null, limit: 9, look: 1_000 };
    return (await pages.pageBelow(db, filter, bounds)).ids;
  };
  const change = (metadata: Metadata | null) =>
    db.run(sql`update request_inputs set metadata = ${metadata && JSON.stringify(metadata)}::jsonb
      where request_id = ${made[1]!.id}`);
  await change({ env: 'moved' });
  assert.deepEqual(await find({ env: 'moved' }), [made[1]!.id]);
  assert.ok(!(await find({ env: 'prod' })).includes(made[1]!.id));
  await change(null);
  assert.deepEqual(await find({ env: 'moved' }), []);
  await change(made[1]!.metadata);
});
