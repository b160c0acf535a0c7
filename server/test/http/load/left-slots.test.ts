import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { schemaOfSession } from '../../../src/db/schema.ts';
import { openDatabase, rawSql, sql, type Database } from '../../../src/lib/sql/sql.ts';
import { finished } from '../../kit/finished.ts';
import { requestIn } from '../../kit/states.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import {
  before,
  newAddress,
  originOf,
  password,
  person,
  withWebService,
  type Person,
} from '../../kit/web.ts';
import { operatorKey } from '../operator/world.ts';

/**
 * A call keeps its slot until its work is over, although its caller has left. An owner gets two of
 * three slots, and a stranger the only one.
 */

let locker: Database;
let owner: Person;
let operator: string;
let job: string;
let output: string;
const { service, account } = withWebService({ env: { FAREBOX_IN_FLIGHT_MAX: '3' } });
before(async () => {
  locker = openDatabase({
    connection: service.databaseUrl,
    max: 3,
    statementTimeoutMs: 30_000,
    applicationName: 'locker',
    session: schemaOfSession,
  });
  owner = await person(service, { [account.account_id]: 'owner' });
  operator = (await operatorKey(service)).key;
  const id = await requestIn(service, account, 'COMPLETED');
  job = `/v1/requests/${id}`;
  const response = await account.get(`${job}/response`);
  const link = new URL(response.body.images[0].url);
  output = link.pathname + link.search;
});
after(() => locker.close());

interface Row {
  name: string;
  /** The table that the work reads, which is locked meanwhile. */
  table: string;
  /** Seldom a GET, because its statement is given up two seconds after its caller has left. */
  call: () => Parameters<typeof send>[0];
  /** Another call in the same share, which does not read that table. */
  next: () => Parameters<typeof send>[0];
  refused: 'rate_limited' | 'capacity_unavailable';
  /** The calls that are made, and the statements that wait for the table then. */
  count?: number;
  statements?: number;
}

const keyed = (path: string, key: string, method = 'GET', body?: object) => {
  return { method, path, headers: { authorization: `Key ${key}` }, body };
};
const paged = (path: string, method = 'GET') => {
  const cookie = [...owner.cookies].map((pair) => pair.join('=')).join('; ');
  return { method, path, headers: { cookie } };
};
/** No key and no file has it, so the calls change nothing. */
const unknownId = '01a00000-0000-7000-8000-000000000000';
const image_url = `file_${unknownId.replaceAll('-', '')}`;
const open = (path: string, body?: object) => {
  return { method: body ? 'POST' : 'GET', path, headers: {}, body };
};

const rows: Row[] = [
  {
    name: 'while its key is checked',
    table: 'key_windows',
    call: () => keyed('/v1/balance', account.key),
    next: () => open('/v1/models'),
    refused: 'capacity_unavailable',
  },
  {
    name: 'with a key',
    table: 'files',
    statements: 2,
    call: () => keyed('/v1/queue/fake/image', account.key, 'POST', { prompt: 'x', image_url }),
    next: () => keyed('/v1/balance', account.key),
    refused: 'rate_limited',
  },
  {
    name: 'while its operator key is checked',
    table: 'operator_keys',
    call: () => keyed(`/v1/operator/keys/${unknownId}`, operator, 'DELETE'),
    next: () => open('/v1/models'),
    refused: 'capacity_unavailable',
  },
  {
    name: 'with an operator key',
    table: 'keys',
    statements: 2,
    call: () => keyed(`/v1/operator/keys/${unknownId}`, operator, 'DELETE'),
    next: () => keyed('/v1/operator/events', operator),
    refused: 'rate_limited',
  },
  {
    name: 'of a page while its session is checked',
    table: 'sessions',
    call: () => paged('/api/me'),
    next: () => open('/v1/models'),
    refused: 'capacity_unavailable',
  },
  {
    name: 'of a page',
    table: 'keys',
    statements: 2,
    call: () => paged(`/api/accounts/${account.account_id}/keys/${unknownId}`, 'DELETE'),
    next: () => paged('/api/me'),
    refused: 'rate_limited',
  },
  {
    name: 'of a stranger',
    table: 'logins',
    call: () => open('/api/auth/sign-in/email', { email: owner.email, password }),
    next: () => open('/api/invitation', { code: 'none' }),
    refused: 'capacity_unavailable',
    count: 1,
  },
  {
    name: 'with a signed link',
    table: 'outputs',
    statements: 2,
    call: () => open(output),
    next: () => open('/v1/models'),
    refused: 'capacity_unavailable',
  },
];

/** Makes a call and returns the status and the error. */
async function send(
  {
    method,
    path,
    headers,
    body,
  }: { method: string; path: string; headers: Record<string, string>; body?: object | undefined },
  address: string,
  signal?: AbortSignal,
): Promise<{ status: number; error: any }> {
  const reply = await fetch(`${service.base}${path}`, {
    method,
    headers: {
      ...headers,
      'x-forwarded-for': address,
      origin: originOf(service),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await reply.text();
  const isJson = reply.headers.get('content-type')?.includes('json');
  return { status: reply.status, error: isJson ? JSON.parse(text).error : undefined };
}

/** How many statements wait for this table. */
async function waiting(table: string): Promise<number> {
  const [row] = await locker.run<{ n: number }>(sql`select count(*)::int as n from pg_locks
    where not granted and relation = ${table}::regclass`);
  return row!.n;
}

/** Leaves the calls, and waits until the service has noticed. */
async function leave(calls: Promise<unknown>[], gone: AbortController): Promise<void> {
  const { metrics } = service.app;
  const over = (await finished(metrics)) + calls.length;
  gone.abort();
  for (const each of calls) await assert.rejects(each, { name: 'AbortError' });
  await until('the service has noticed', async () => (await finished(metrics)) >= over);
}

/** Runs `work` while nobody can read the table. */
async function locked(table: string, work: () => Promise<unknown>): Promise<void> {
  await locker.tx(async (tx) => {
    await tx.run(rawSql(`lock table ${table} in access exclusive mode`));
    await work();
  });
}

/** Strangers are not counted. */
const arrived = (count: number) => count === 1 || service.app.metrics.counts.inFlight === count;

const noWork = () => until('no work goes on', () => service.app.metrics.counts.inFlight === 0);

describe('a caller who leaves keeps the slots of calls that go on', () => {
  for (const { name, table, call, next, refused, count = 2, statements = 1 } of rows)
    test(name, async () => {
      const address = newAddress();
      const earlier = await traces(service);
      await locked(table, async () => {
        const gone = new AbortController();
        const left = Array.from({ length: count }, () => send(call(), address, gone.signal));
        const all = async () => (await waiting(table)) >= statements && arrived(count);
        await until('the calls are here', all);
        await leave(left, gone);
        const { error } = await send(next(), address);
        assert.equal(error?.code, refused);
        if (refused === 'rate_limited') assert.equal(error.details.held, count);
      });
      await noWork();
      await until('the slots are free', async () => {
        const { status } = await send(next(), address);
        return status !== 429 && status !== 503;
      });
      assert.deepEqual(await traces(service), earlier);
    });
});

test('a call whose caller left while the key was checked ends there', async () => {
  const gone = new AbortController();
  await locked('requests', async () => {
    await locked('key_windows', async () => {
      const left = send(keyed(job, account.key), newAddress(), gone.signal);
      await until('the call is here', async () => (await waiting('key_windows')) > 0);
      await leave([left], gone);
    });
    await noWork();
    assert.equal((await send(keyed('/v1/balance', account.key), newAddress())).status, 200);
    assert.equal(await waiting('requests'), 0);
  });
});
