import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { adjust, deposit } from '../kit/by-command-line.ts';
import type { EndTransition, Output } from '../../src/core/request/request.ts';
import * as files from '../../src/db/accounts/files.ts';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { createAccount } from '../../src/operations/accounts/account.ts';
import { moveMany } from '../../src/operations/requests/advance.ts';
import { endMany } from '../../src/operations/requests/settle.ts';
import { addXpub } from '../../src/db/deposits/addresses.ts';
import { createKey } from '../kit/keys.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { submitMany } from '../kit/by-hand.ts';
import { keyOf } from '../operations/deposits-kit.ts';

/** A database with rows of every kind, made by the operations, and its media. */
export interface FilledDatabase {
  account_id: string;
  key: string;
  key_id: string;
  /** Requests by their state. */
  queued: string;
  running: string;
  calling: string;
  completed: string;
  /** Storage key → bytes, of media that have not expired. */
  media: Map<string, Buffer>;
  /** A file whose bytes are deleted, as its row says. */
  expired: string;
}

const quote = {
  price_usd_micro: '10000',
  unit: 'image',
  unit_price_usd_micro: '10000',
  quantity: 1,
  breakdown: [],
  assumptions: {},
};

export async function fill(db: Database, storage: Storage): Promise<FilledDatabase> {
  const { id: account_id } = await createAccount(db, {
    email: 'ana@example.com',
    is_operator: false,
  });
  await createAccount(db, { email: 'boss@example.com', is_operator: true });
  await addXpub(db, { id: newId(), ...keyOf('evm', 1) });
  // More micro-USD than a double can represent exactly.
  await deposit(db, { account_id, amount: 9_100_000_000_000_001n, reference: 'wire "1"\\n' });
  await adjust(db, { account_id, amount: -3n, reference: 'fix', reason: 'Grüße, 💸' });
  const limits = { monthly_limit_usd_micro: 9_007_199_254_740_993n, rpm: null, open_jobs: 7 };
  const { key, key_id } = await createKey(db, { account_id, name: 'main', ...limits });
  const made = { account_id, key_id };
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) ids.push(await submit(db, made, { webhook: i === 3 }));
  const [queued, running, failed, completed, old, cancelled] = ids as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const calling = await submit(db, made, { call_seconds: 60 });
  for (const id of [running, failed, completed, old]) await begin(db, id);
  const media = new Map<string, Buffer>();
  await end(db, {
    ...base(made, failed),
    to: 'FAILED',
    code: 'upstream_failed',
    message: 'no\nluck',
    cost_usd_micro: null,
  });
  await end(db, { ...base(made, cancelled), attempt: null, to: 'CANCELLED' });
  for (const id of [completed, old]) {
    const output = await keep(storage, media, `outputs/${id}/1-0`, 700_000);
    await end(db, complete(made, id, output));
  }
  const expired = `outputs/${old}/1-0`;
  await db.run(sql`update requests set expires_at = now() - interval '1 s', wake_at = now()
    where id = ${old}`);
  await storage.remove(expired);
  media.delete(expired);
  for (const ttl_seconds of [3_600, -1]) await upload(db, storage, media, account_id, ttl_seconds);
  return { account_id, key, key_id, queued, running, calling, completed, media, expired };
}

export async function submit(
  db: Database,
  made: { account_id: string; key_id: string },
  options: { webhook?: boolean; call_seconds?: number } = {},
): Promise<string> {
  const { call_seconds = null } = options;
  const [verdict] = await submitMany(db, [
    {
      row: {
        id: newId(),
        ...made,
        model_id: 'fake/image',
        upstream_model: 'image',
        kind: call_seconds === null ? 'image' : 'text',
        upstream: 'fake',
        quoted_usd_micro: 10_000n,
        idempotency_key: newId(),
        fingerprint: randomBytes(32),
        prompt: null,
        input:
          '{"prompt":"a \\"cat\\"\\n\\\\ 猫","seed":12345678901234567890,"note":null,"scale":1.10}',
        quote: JSON.stringify(quote),
        person_id: null,
        queue_position: 0,
        webhook_url: options.webhook ? 'https://example.com/hook' : null,
        metadata: '{"customer":"42"}',
        caller_id: 'from-the-caller',
        traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
        door: null,
        call_seconds,
      },
      monthly_limit_usd_micro: null,
      open_jobs: null,
      refusal: null,
    },
  ]);
  if (!verdict || verdict instanceof Error) throw verdict;
  return verdict.request_id;
}

async function begin(db: Database, id: string): Promise<void> {
  await db.run(rawSql('update requests set attempt = 1, slot = true where id = $1', [id]));
  const attempt = { id, attempt: 1 };
  const times = { deadline_seconds: 600, lease_seconds: 60 };
  await moveMany(db, [
    {
      ...attempt,
      to: 'begin',
      upstream: 'fake',
      model: 'm',
      key: '0123abcd',
      class: 'A',
      request_hash: randomBytes(32),
      ...times,
    },
  ]);
  await moveMany(db, [
    { ...attempt, to: 'accepted', started_in: 1, handle: { key: id }, wake_seconds: 60 },
  ]);
}

async function end(db: Database, ending: EndTransition): Promise<void> {
  const [verdict] = await endMany(db, [ending]);
  if (verdict !== true) throw new Error(`not ended: ${String(verdict)}`);
}

function base({ account_id, key_id }: { account_id: string; key_id: string }, id: string) {
  return { id, attempt: 1, account_id, key_id, opens_job: true };
}

function complete(
  made: { account_id: string; key_id: string },
  id: string,
  output: Output,
): EndTransition {
  return {
    ...base(made, id),
    to: 'COMPLETED',
    charge: 9_999n,
    output: { seed: 7, text: 'tab\there' },
    outputs: [output],
    quantity: 0.1 + 0.2,
    cost_usd_micro: 4_000n,
    ttl_seconds: 86_400,
  };
}

async function keep(
  storage: Storage,
  media: Map<string, Buffer>,
  storage_key: string,
  size: number,
): Promise<Output> {
  const bytes = randomBytes(size);
  media.set(storage_key, bytes);
  const stored = await storage.put(storage_key, once(bytes));
  const measured = { width: 640, height: 480, duration_seconds: null };
  return {
    index: 0,
    field: 'images',
    storage_key,
    content_type: 'image/png',
    ...stored,
    ...measured,
    file_name: 'a.png',
  };
}

/**
 * Uploads a file. The bytes of an expired one still exist, because nothing has deleted them yet.
 */
async function upload(
  db: Database,
  storage: Storage,
  media: Map<string, Buffer>,
  account_id: string,
  ttl_seconds: number,
): Promise<void> {
  const id = newId();
  const storage_key = `files/${account_id}/${id}`;
  const bytes = Buffer.from(`a file of ${ttl_seconds} s`);
  const { size, sha256 } = await storage.put(storage_key, once(bytes));
  const type = { content_type: 'text/plain', size: BigInt(size), sha256, metadata: { a: 1 } };
  const room = { max_bytes: 1_000_000, max_files: 100 };
  await files.insert(db, { id, account_id, storage_key, ...type, ttl_seconds, ...room });
  if (ttl_seconds > 0) media.set(storage_key, bytes);
}

export async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** Files below a store's folder, by key, without hidden files, which are the store's own. */
export function storedIn(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const found = names.filter(
    (name) => !name.startsWith('.') && statSync(join(folder, name)).isFile(),
  );
  return new Map(found.sort().map((name) => [name, readFileSync(join(folder, name))]));
}

/** MD5 and count of the rows of every logged table, except those about the database itself. */
export async function digests(db: Database): Promise<Record<string, string>> {
  const tables = await db.run<{ name: string }>(sql`
    select c.relname as name from pg_class c where relkind = 'r' and relpersistence = 'p'
     and relnamespace = 'public'::regnamespace and relname not in ('migrations', 'installation') order by 1`);
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await db.run<{ digest: string }>(
      rawSql(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') as digest
       from "${name}" t`,
      ),
    );
    found[name] = row!.digest;
  }
  return found;
}

/** Tables with values that JSON, doubles or milliseconds cannot represent exactly. */
export const oddTables = `
  create table zz_parents (id bigint generated always as identity primary key, name text not null);
  create table a_children (
    id serial primary key,
    parent_id bigint not null references zz_parents (id),
    doubled bigint generated always as (parent_id * 2) stored,
    "Odd ""name" numeric, at timestamptz, day date, span interval, raw bytea, doc jsonb, plain json,
    list text[], ratio double precision, flag boolean, code char(4)
  )`;

export const oddRows = `
  insert into zz_parents (name) select 'parent ' || n from generate_series(1, 700) n;
  insert into a_children (parent_id, "Odd ""name", at, day, span, raw, doc, plain, list, ratio, flag, code) values
    (1, 12345678901234567890.123456789012345678901234567890, '2026-03-04 05:06:07.123456+02', '0044-03-15 BC',
      '1 year 2 mons -3 days 04:05:06.789', '\\x00ff5c0a', 'null', '{"b":1,  "a":1.10, "a":2}',
      array['a,b', null, '"q"', ''], 'NaN', true, 'ab'),
    (2, 'NaN', 'infinity', '-infinity', '0', '', '{"n":1e400,"u":"\\u00e9"}', 'null', '{}', '-Infinity', false, ''),
    (700, null, null, null, null, null, null, null, null, 5e-324, null, null)`;
