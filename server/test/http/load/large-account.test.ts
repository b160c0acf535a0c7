import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { rawSql, type Statement } from '../../../src/lib/sql/sql.ts';
import { executeWith, planForAll, recorded, rowsRead } from '../../kit/plans.ts';
import { startService, type Service, type TestAccount } from '../../kit/service.ts';
import { requestIn } from '../../kit/states.ts';
import { operatorOf, person, type Person } from '../../kit/web.ts';

/**
 * However much an account has stored, a read of it costs no more than what it shows. Each call is
 * made once, and then the plans of all statements that it sent are judged by the rows they read.
 */

/** Rows of each kind that the account has. */
const many = 20_000;
/** The limits on keys are 1,000 and 2,000; a page shows 100 at most. */
const most = 2_500;

let service: Service;
let sent: Statement[];
let large: TestAccount;
let owner: Person;
let operator: Person;
let job: string;
/** A key that manages keys. */
let managing: string;

before(async () => {
  service = await startService({
    env: { FAREBOX_TRUSTED_PROXIES: '1', FAREBOX_FILES_MAX: '2000' },
  });
  const record = recorded(service.db);
  ({ sent } = record);
  large = await service.account();
  job = await requestIn(service, large, 'COMPLETED');
  const recording = await service.another({}, { db: record.db });
  service.base = recording.base;
  service.app = recording.app;
  owner = await person(service, { [large.account_id]: 'owner' });
  operator = await operatorOf(service);
  const manager = await byOwner('POST', '/keys', { name: 'manager', scope: 'keys' });
  assert.equal(manager.status, 201, manager.text);
  managing = manager.body.key;
  await fill();
});
after(() => service.stop());

async function fill(): Promise<void> {
  const { account_id: account } = large;
  const run = (text: string) => service.db.run(rawSql(text));
  const n = `generate_series(1, ${many}) n`;
  const uid = (kind: number) =>
    `(lpad(to_hex(n), 8, '0') || '-000${kind}-7000-8000-000000000000')::uuid`;
  await run(`insert into keys (id, account_id, name, hash, prefix, last4, created_at, revoked_at)
    select ${uid(1)}, '${account}', 'k' || n, sha256(n::text::bytea), 'fbx_ab', 'last', now() - interval '2 days', case when n > 900 then now() end from ${n}`);
  await run(`insert into key_usage (key_id, account_id, month)
    select id, account_id, '1970-01-01' from keys where name like 'k%'`);
  await run(`insert into refusals (account_id, key_id, began_at, code, calls)
    select '${account}', ${uid(1)}, now() - interval '1 minute', 'rate_limited', n from ${n}`);
  await run(
    `insert into people (id, name, email) select ${uid(2)}, 'x', n || '@large.test' from ${n}`,
  );
  await run('analyze people'); // Otherwise each member is looked for in the whole table.
  await run(`insert into members (account_id, person_id, role)
    select '${account}', ${uid(2)}, 'owner' from ${n}`);
  await run(`insert into invitations (id, account_id, email, role, token_hash, expires_at)
    select ${uid(3)}, '${account}', n || '@new.test', 'owner', sha256(n::text::bytea), now() - interval '1 day' from ${n}`);
  await run(`insert into webhook_deliveries (id, request_id, account_id, cause, url, status, duration_ms)
    select ${uid(4)}, case when n % 2 = 0 then '${job}'::uuid end, '${account}', case when n % 2 = 0 then 'resend' else 'test' end, 'u', 200, 1 from ${n}`);
  await run(`insert into files (id, account_id, storage_key, content_type, size, sha256, expires_at)
    select ${uid(5)}, '${account}', 'k', 'image/png', 1, repeat('0', 64), now() + interval '7 days' from ${n}`);
  await run(`insert into operator_log (id, seq, by_email, action, account_id, created_at)
    select ${uid(6)}, n + 1000, 'key', 'key.create', '${account}', now() - interval '2 days' from ${n}`);
  await run('analyze');
}

/** The calls of an account, in the names of its key, its owner or an operator. */
const calls: [
  name: string,
  make: () => Promise<{ status: number; text: string }>,
  status?: number,
][] = [
  ...[
    '/keys',
    '/keys?state=all',
    '/balance',
    '/requests',
    '/requests/JOB',
    '/requests/JOB/status',
  ].map((path) => [`GET /v1${path}`, () => byKey('GET', path)] as (typeof calls)[number]),
  ['POST /v1/queue', () => byKey('POST', '/queue/fake/image', { prompt: 'x' }), 202],
  ...[
    '/overview',
    '/keys',
    '/keys?state=all',
    '/requests',
    '/requests/choices',
    '/requests/JOB',
    '/requests/JOB/deliveries',
    '/deliveries',
    '/deliveries?failed=true',
    '/team',
    '/alerts',
    '/statement',
  ].map((path) => [`page ${path}`, () => byOwner('GET', path)] as (typeof calls)[number]),
  ['a new key', () => byOwner('POST', '/keys', { name: 'new' }), 201],
  ['an upload', upload, 413],
  [
    'an invitation',
    () => byOwner('POST', '/invitations', { email: 'a@b.test', role: 'billing' }),
    400,
  ],
  ['GET /api/me', () => owner.call('GET', '/api/me')],
  ...['/accounts', '/accounts/ID', '/requests/JOB'].map(
    (path) =>
      [
        `console ${path}`,
        () => operator.call('GET', `/api/operator${named(path)}`),
      ] as (typeof calls)[number],
  ),
];

function upload() {
  const { base } = service;
  return large.upload('text', 'text/plain', { base });
}
const named = (path: string) => path.replace('JOB', job).replace('ID', large.account_id);
const byKey = (method: string, path: string, body?: unknown) => {
  const key = path.startsWith('/keys') ? managing : large.key;
  return service.call(method, `/v1${named(path)}`, { key, base: service.base, body });
};
const byOwner = (method: string, path: string, body?: unknown) =>
  owner.of(large.account_id).call(method, named(path), body);

const reads =
  /^\s*(select|with)\b(?!.*\b(insert into|delete from|for (no key )?update|update \w+ )\b)/is;

describe('an account with very many rows', () => {
  for (const [name, make, expected = 200] of calls)
    test(name, async () => {
      sent.length = 0;
      const reply = await make();
      assert.equal(reply.status, expected, reply.text);
      const read = sent.filter(({ text }) => reads.test(text));
      assert.ok(read.length > 0, 'the call reads');
      const slow: string[] = [];
      for (const one of new Map(read.map((each) => [each.text, each])).values()) {
        const plan = await planForAll(service.db, one, executeWith(one), 'analyze, ');
        if (rowsRead(plan) > most) slow.push(`${rowsRead(plan)} rows: ${one.text}`);
      }
      assert.deepEqual(slow, []);
    });
});
