import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { openDatabase, rawSql, sql, type Database } from '../../../src/lib/sql/sql.ts';
import { schemaOfSession } from '../../../src/db/schema.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { CallOptions, Reply, TestAccount } from '../../kit/service.ts';
import { requestIn } from '../../kit/states.ts';
import { until } from '../../kit/until.ts';
import {
  before,
  password,
  person,
  stranger,
  withWebService,
  type Answer,
  type Person,
} from '../../kit/web.ts';

/** No account holds more than a share of the database's connections, and calls wait in turns. */

/** Five of ten connections are for statements of calls, and two of these for one account. */
const pool = 10;
const places = 5;
const share = 2;
const shareWaitMs = 400;

let base: string;
/** A process with its own ten connections. */
let own: Database;
let locker: Database;
let quiet: TestAccount;

const { service, account: noisy } = withWebService({
  times: { shareWaitMs, usageSumMs: 3_600_000 },
});
before(async () => {
  const open = (max: number, applicationName: string) =>
    openDatabase({
      connection: service.databaseUrl,
      max,
      statementTimeoutMs: 30_000,
      applicationName,
      session: schemaOfSession,
    });
  own = open(pool, 'shares');
  locker = open(3, 'locker');
  ({ base } = await service.another({}, { db: own }));
  quiet = await service.account();
});
after(async () => {
  await own.close();
  await locker.close();
});

const get = (path: string, { key }: TestAccount, more: CallOptions = {}): Promise<Reply> =>
  service.call('GET', path, { key, base, ...more });

/** How many statements wait for this table. */
async function waiting(table: string): Promise<number> {
  const [row] = await locker.run<{ n: number }>(sql`select count(*)::int as n from pg_locks
    where not granted and relation = ${table}::regclass`);
  return row!.n;
}

/** Runs `work` while nobody can read the table. */
async function locked(table: string, work: () => Promise<unknown>): Promise<void> {
  await locker.tx(async (tx) => {
    await tx.run(rawSql(`lock table ${table} in access exclusive mode`));
    await work();
  });
}

/** The quiet account submits and asks for a status, and notices nothing. */
async function assertServed(more: CallOptions = {}): Promise<void> {
  const body = { prompt: 'x' };
  const own = { key: quiet.key, base, body, ...more };
  const submitted = await service.call('POST', '/v1/queue/fake/image', own);
  assert.equal(submitted.status, 202, submitted.text);
  const { status } = await get(`/v1/requests/${submitted.body.request_id}/status`, quiet, more);
  assert.equal(status, 200);
}

const search = '/v1/requests?metadata.tenant=nobody';

type Judge = (reply: Answer) => boolean;

/** Calls that read for themselves, with a table that each of them reads. */
const doors: [path: string, table: string, most: number][] = [
  [search, 'metadata_pairs', share],
  ['/v1/requests?metadata.a=b&metadata.c=d&status=FAILED', 'metadata_pairs', share],
  ['/v1/deposits', 'chain_deposits', share],
  ['/v1/requests/JOB', 'outputs', share],
  ['/v1/requests/JOB/response', 'outputs', share],
  ['/v1/usage?by=day&metadata.customer=42', 'metadata_pairs', 1],
];

describe('an account holds its share of the connections, and its other calls wait', () => {
  for (const [door, table, most] of doors)
    test(door, async () => {
      const account = await service.account();
      const path = door.replace('JOB', await requestIn(service, account, 'COMPLETED'));
      let calls: Promise<Reply>[] = [];
      await locked(table, async () => {
        calls = Array.from({ length: 12 }, () => get(path, account));
        await until('the share is used', async () => (await waiting(table)) === most);
        await assertServed();
        const refused = await Promise.race(calls);
        const { details } = assertRefused(refused, 'rate_limited');
        assert.equal(details.reason, 'account_share');
        assert.match(refused.headers.get('retry-after')!, /^[1-9]\d*$/);
        assert.equal(await waiting(table), most);
        await assertServed();
      });
      const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
      assert.deepEqual(statuses, new Set([200, 429]));
    });

  test('its people on the pages and its keys have one share', async () => {
    const owner = await person(service, { [noisy.account_id]: 'owner' });
    const here = { base: service.base };
    let calls: Promise<unknown>[] = [];
    await locked('webhook_deliveries', async () => {
      const pages = owner.of(noisy.account_id);
      calls = Array.from({ length: 6 }, () => pages.call('GET', '/deliveries'));
      await until('the share is used', async () => (await waiting('webhook_deliveries')) === share);
      const refused = await get(search, noisy, here);
      assert.equal(assertRefused(refused, 'rate_limited').details.reason, 'account_share');
      await assertServed(here);
      assert.equal(await waiting('webhook_deliveries'), share);
    });
    await Promise.all(calls);
  });
});

test('accounts that hold all places leave submits and statuses alone; the next one gets 503', async () => {
  const others = await Promise.all([1, 2, 3].map(() => service.account()));
  const calls: Promise<Reply>[] = [];
  await locked('metadata_pairs', async () => {
    for (const each of others) calls.push(...[1, 2].map(() => get(search, each)));
    await until('all are used', async () => (await waiting('metadata_pairs')) === places);
    const late = await get(search, quiet);
    assertRefused(late, 'capacity_unavailable');
    assert.ok(late.headers.get('retry-after'));
    await assertServed();
    assert.equal(await waiting('metadata_pairs'), places);
  });
  await Promise.all(calls);
  assert.equal((await get(search, quiet)).status, 200);
});

test('a caller who leaves gives up waiting, and the database soon ends what has begun', async () => {
  await locked('metadata_pairs', async () => {
    const gone = new AbortController();
    const calls = Array.from({ length: 12 }, () => get(search, noisy, { signal: gone.signal }));
    await until('the share is used', async () => (await waiting('metadata_pairs')) === share);
    gone.abort();
    await Promise.allSettled(calls);
    await until('nothing runs', async () => (await waiting('metadata_pairs')) === 0);
    await until('its share is free', () => isFree('statements'));
    await assertServed();
  });
  assert.equal((await get(search, noisy)).status, 200);
  assert.ok(!service.log.some((line) => line.includes('connection was lost')));
});

/** No work has a place in this share. */
async function isFree(name: string): Promise<boolean> {
  const { text } = await service.call('GET', '/metrics', { base });
  return text.includes(`\nfarebox_share_running{share="${name}"} 0\n`);
}

test('a sum, which is a transaction, ends soon after its caller has left', async () => {
  const account = await service.account();
  await locked('metadata_pairs', async () => {
    const gone = new AbortController();
    const { signal } = gone;
    const summing = get('/v1/usage?by=day&metadata.customer=42', account, { signal });
    await until('it runs', async () => (await waiting('metadata_pairs')) === 1);
    gone.abort();
    await Promise.allSettled([summing]);
    await until('it has ended', async () => (await waiting('metadata_pairs')) === 0);
    await until('its share is free', () => isFree('sums'));
  });
});

test('a change goes on although its caller has left', async () => {
  const account = await service.account();
  const owner = await person(service, { [account.account_id]: 'owner' });
  const { origin } = new URL(service.app.baseUrl);
  const gone = new AbortController();
  const { signal } = gone;
  await locked('metadata_pairs', async () => {
    const searching = get(search, noisy, { signal });
    await until('it waits', async () => (await waiting('metadata_pairs')) === 1);
    await locked('key_usage', async () => {
      const making = fetch(`${origin}/api/accounts/${account.account_id}/keys`, {
        method: 'POST',
        signal,
        headers: {
          origin,
          cookie: [...owner.cookies].map((pair) => pair.join('=')).join('; '),
          'content-type': 'application/json',
        },
        body: JSON.stringify({ name: 'made after all' }),
      });
      await until('it waits, too', async () => (await waiting('key_usage')) > 0);
      gone.abort();
      await Promise.allSettled([searching, making]);
      await until('the search has ended', async () => (await waiting('metadata_pairs')) === 0);
      assert.ok((await waiting('key_usage')) > 0, 'the change goes on');
    });
  });
  await until('the key is made', async () => {
    const { body } = await owner.of(account.account_id).call('GET', '/keys');
    return body.data.some(({ name }: { name: string }) => name === 'made after all');
  });
});

describe('a call that has begun is not broken off by the share of its account', () => {
  let account: TestAccount;
  let owner: Pick<Person, 'call'>;
  before(async () => {
    account = await service.account();
    owner = (await person(service, { [account.account_id]: 'owner' })).of(account.account_id);
  });
  const crowd: Promise<Answer>[] = [];
  afterEach(() => Promise.all(crowd.splice(0)));
  /** Makes calls of the account that hold its share while the table is locked. */
  const deliveries = (count: number) => {
    const calls = Array.from({ length: count }, () => owner.call('GET', '/deliveries'));
    crowd.push(...calls);
    return calls;
  };
  /** Fills what is free of the account's share, and the line in front of it. */
  const fill = async (free: number) => {
    deliveries(12);
    await until('its share is used', async () => (await waiting('webhook_deliveries')) === free);
  };
  /** Resolves after a new call has waited as long as it may. */
  const refusal = async () => {
    const { body, text } = await Promise.race(deliveries(1));
    assert.equal(body.error?.details.reason, 'account_share', text);
  };

  const exported = (format: string) => () =>
    owner.call('GET', `/statement/export?format=${format}`);
  const lines = ({ text }: Answer) => text.trimEnd().split('\n').length;
  /** Calls of several statements, and the table that their first one reads. */
  const several: [name: string, table: string, call: () => Promise<Answer>, whole: Judge][] = [
    ['a statement as CSV', 'transfers', exported('csv'), (reply) => lines(reply) === 2],
    ['a statement as JSON', 'transfers', exported('json'), ({ text }) => text.endsWith('\n]}\n')],
    [
      'a new key',
      'keys',
      () => owner.call('POST', '/keys', { name: 'one more' }),
      ({ body }) => body.key.startsWith('fbx_'),
    ],
  ];
  for (const [name, table, call, isWhole] of several)
    test(`${name} goes on before the account's new calls`, async () => {
      await locked('webhook_deliveries', async () => {
        let reply: Promise<Answer>;
        await locked(table, async () => {
          reply = call();
          await until('it has begun', async () => (await waiting(table)) > 0);
          await fill(share - 1);
          await refusal();
          deliveries(12);
        });
        const { status, text, ...more } = await reply!;
        assert.ok(status < 300, text);
        assert.ok(isWhole({ status, text, ...more }), text);
      });
    });

  test('a picture that was paid is shown, however long its account uses its share', async () => {
    let reply: Promise<Reply>;
    await locked('metadata_pairs', async () => {
      const { key } = account;
      const here = { base: service.base };
      const searches = (count: number) =>
        Array.from({ length: count }, () => get(search, account, here));
      const crowded = searches(3);
      await until('its share is used', async () => (await waiting('metadata_pairs')) === share);
      assertRefused(await Promise.race(crowded), 'rate_limited');
      const body = { model: 'fake/image', prompt: 'x' };
      reply = service.call('POST', '/v1/images/generations', { key, body });
      await until('it waits for a place', async () => {
        await service.wakeAll();
        await service.work();
        const { text } = await service.call('GET', '/metrics');
        return /^farebox_share_waiting\{share="statements"\} 1$/m.test(text);
      });
      const [late] = await Promise.all(searches(1));
      assertRefused(late!, 'rate_limited');
    });
    const { status, text, body } = await reply!;
    assert.equal(status, 200, text);
    assert.equal(body.data.length, 1);
  });
});

test('metrics show the pool and the shares', async () => {
  await locked('metadata_pairs', async () => {
    const calls = Array.from({ length: 5 }, () => get(search, noisy));
    await until('the share is used', async () => (await waiting('metadata_pairs')) === share);
    const metrics = async () => (await service.call('GET', '/metrics', { base })).text;
    const line = /^farebox_share_waiting\{share="statements"\} 3$/m;
    await until('the others wait', async () => line.test(await metrics()));
    const text = await metrics();
    assert.match(text, /^farebox_database_connections\{state="busy"\} [2-9]$/m);
    assert.match(text, /^farebox_database_connections\{state="waiting"\} \d+$/m);
    assert.match(text, /^farebox_share_running\{share="statements"\} 2$/m);
    assert.equal((await Promise.race(calls)).status, 429);
    assert.match(await metrics(), /^farebox_share_refused_total\{share="statements"\} [1-9]\d*$/m);
    void Promise.allSettled(calls);
  });
});

test('two accounts that add up all the time do not keep a third one out', async () => {
  const [a, b, c] = await Promise.all([1, 2, 3].map(() => service.account()));
  // A sum may take long while the machine is busy; a line without turns would never end.
  const patient = await service.another({}, { times: { shareWaitMs: 60_000 } });
  const here = { base: patient.base };
  const path = '/v1/usage?by=day,model,key';
  let over = false;
  const loop = async (account: TestAccount) => {
    while (!over) await get(path, account, here);
  };
  const loops = [a!, a!, b!, b!].map(loop);
  for (let i = 0; i < 30; i++) {
    const { status, text } = await get('/v1/usage?by=day', c!, here);
    assert.equal(status, 200, text);
  }
  over = true;
  await Promise.all(loops);
});

test('sign-ins hold few connections, whoever makes them', async () => {
  const here = { base: service.base };
  let calls: Promise<unknown>[] = [];
  await locked('sign_in_windows', async () => {
    calls = Array.from({ length: 8 }, (_, i) =>
      stranger(service).call('POST', '/api/auth/sign-in/email', {
        email: `n${i}@x.test`,
        password,
      }),
    );
    await until('one waits', async () => (await waiting('sign_in_windows')) > 0);
    await assertServed(here);
    assert.ok((await waiting('sign_in_windows')) <= places, 'each stranger has an address');
  });
  await Promise.all(calls);
});
