import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, describe, mock, test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import * as addresses from '../../src/db/deposits/addresses.ts';
import { sumOf } from '../../src/db/requests/unfinished.ts';
import { resumeAfterRestore, type ResumeResult } from '../../src/operations/restored.ts';
import { issueAddress, renewAddress } from '../../src/operations/deposits/deposit-address.ts';
import { keyOf } from './deposits-kit.ts';
import { assertRefused } from '../kit/refusal.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import { moneyOf, rowOf, submitted } from '../worker/floor.ts';

/** A service on a restored database starts nothing until an operator resumes it. */

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
let receiver: Server;
let host: string;
let notified = 0;
const { service, account } = withService(async (use) => {
  receiver = use(
    createServer((_req, res) => {
      notified += 1;
      res.end();
    }),
  );
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const env = { FAREBOX_TEST_PUBLIC_HOSTS: host };
  return { times: { beatMs: 20 }, env, account: { open_jobs: 1_000 } };
});
afterEach(async () => {
  mock.restoreAll();
  await resume();
  await until('it goes on', async () => (await ready()).status === 200);
});

const ready = (base = service.base) => service.call('GET', '/readyz', { base });
const change = (text: string) => service.db.run(rawSql(text));
const resume = (options = { look: false, release: false }) =>
  resumeAfterRestore(service.db, options);
/** Writes the row in another transaction, as restoring a dump does. */
async function fromDump(): Promise<void> {
  await change('update installation set beat = beat');
}
const many = (count: number) =>
  Promise.all(Array.from({ length: count }, () => submitted(account)));
const workOf = ({ unfinished }: ResumeResult) =>
  unfinished.work.map(({ does, jobs, ...of }) => `${jobs} ${does} for ${of.reserved_usd_micro}`);
/** A start of this request at an upstream, with its outcome. */
const begun = (id: string, outcome: string, handle: string | null) =>
  service.db.run(sql`
    insert into attempts (request_id, attempt, upstream, class, request_hash, outcome, handle)
      values (${id}, 1, 'other', 'B', sha256('x'), ${outcome}, ${handle})`);
const rewrite = (what: string) =>
  change(`update installation set ${what}, writer = pg_current_xact_id()`);

async function held(base = service.base): Promise<void> {
  await until('it keeps still', async () => (await ready(base)).status === 503);
  assert.equal((await ready(base)).body.error.details.failing, 'restored copy');
}

async function stranger(): Promise<string> {
  const dir = mkdtempSync(join(service.dir, 'stranger-'));
  return (await service.another({ FAREBOX_DATA_DIR: dir })).base;
}

const key = keyOf('evm');
const addressOf = ({ account_id }: TestAccount) => issueAddress(service.db, account_id, key);

test('an address that an account got after the backup is given to no other', async () => {
  const [late, next] = [await service.account(), await service.account()];
  const one = await addressOf(account);
  const lost = await addressOf(late);
  await fromDump();
  // The backup does not have the address.
  await change(`delete from deposit_addresses where account_id = '${late.account_id}'`);
  await change('update deposit_keys set next_index = next_index - 1');
  const none = { address: null, differs: null };
  const issueNone = async () => {
    assert.deepEqual(await addressOf(next), none);
    assert.deepEqual(await renewAddress(service.db, account.account_id, key), none);
    assert.deepEqual(await addressOf(account), one);
  };
  await issueNone();
  await held();
  await issueNone();
  await resume();
  const issued = await addressOf(next);
  assert.match(issued.address!, /^0x/);
  assert.notEqual(issued.address, lost.address);
  assert.deepEqual(await addressOf(account), one);
});

describe('a database restored from a dump', () => {
  test('starts no job, sends no notification and takes nothing new until it is resumed', async () => {
    const webhook_url = `http://${host}/hook`;
    const done = await submitted(account, { prompt: 'x', webhook_url });
    await change(`update requests set wake_at = now() + interval '1 h' where id = '${done}'`);
    const queued = await submitted(account);
    const running = await submitted(account);
    await fromDump();
    await held();
    const starts = service.fake.starts.length;
    const earlier = await traces(service);
    const { key } = account;
    const submit = await service.call('POST', '/v1/queue/fake/image', {
      key,
      body: { prompt: 'x' },
    });
    assertRefused(submit, 'capacity_unavailable');
    const said = await service.call('POST', '/v1/chat/completions', { key, body: chat });
    assertRefused(said, 'capacity_unavailable');
    await service.wakeAll();
    await service.work();
    await service.app.worker!.sweep();
    assert.deepEqual(await traces(service), earlier);
    assert.equal(service.fake.starts.length, starts);
    assert.equal(notified, 0);
    const card = await service.call('GET', `/v1/requests/${queued}`, { key });
    assert.equal(card.body.status, 'IN_QUEUE');
    assert.match((await service.call('GET', '/metrics')).text, /farebox_restored_copy 1\n/);
    const lines = service.log.filter((line) => line.includes('resume-after-restore'));
    assert.match(
      lines.join(''),
      /"why":"copy","work":\[\{"does":"start","jobs":3,"reserved_usd_micro":30000,"upstream":"fake"/,
    );

    const looked = await resume({ look: true, release: false });
    assert.deepEqual([looked.held, looked.why], [true, 'copy']);
    assert.deepEqual(workOf(looked), ['3 start for 30000']);
    assert.equal((await ready()).status, 503);
    await resume();
    await until('it goes on', async () => (await ready()).status === 200);
    await service.wakeAll();
    await service.work();
    for (const id of [done, queued, running])
      assert.equal((await rowOf(service, id)).status, 'COMPLETED');
    assert.equal(notified, 1);
    assert.equal((await resume({ look: true, release: false })).held, false);
  });

  test('goes on without open requests if the operator releases them', async () => {
    const id = await submitted(account);
    await fromDump();
    await held();
    const looked = await resume({ look: true, release: true });
    assert.equal((await rowOf(service, id)).status, 'IN_QUEUE');
    const done = await resume({ look: false, release: true });
    assert.deepEqual(done, looked, 'the forecast is what happens');
    assert.deepEqual([sumOf(done.found).requests, done.unfinished.work], [1, []]);
    assert.equal((await rowOf(service, id)).status, 'CANCELLED');
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('lists what it would do at each upstream, and for how much', async () => {
    const [queued, refused, running, lost, late] = await many(5);
    const webhook_url = `http://${host}/hook`;
    await submitted(account, { prompt: 'x', webhook_url });
    await change(`update requests set status = 'IN_PROGRESS', started_at = now(), attempt = 1,
      deadline_at = now() + interval '1 h', wake_at = now() + interval '1 h', upstream = 'other'
      where id in ('${refused}', '${running}', '${lost}', '${late}')`);
    await change(`update requests set deadline_at = now() - interval '1 s' where id = '${late}'`);
    await begun(refused!, 'not_accepted', null);
    await begun(running!, 'accepted', '{"id":"1"}');
    await begun(lost!, 'unknown', null);
    await begun(late!, 'accepted', '{"id":"2"}');
    await fromDump();
    await held();
    const { found } = await resume({ look: true, release: false });
    assert.equal(found.to_notify_later, 1);
    assert.deepEqual(
      found.work.map(({ upstream, does, jobs }) => `${upstream} ${does} ${jobs}`),
      ['fake start 2', 'other give_up 1', 'other poll 1', 'other recover 1', 'other start 1'],
    );
    assert.ok(found.work.every((each) => each.reserved_usd_micro === 10_000n * BigInt(each.jobs)));
    const released = await resume({ look: false, release: true });
    assert.deepEqual(sumOf(released.found), { requests: 6, reserved_usd_micro: 60_000n });
    assert.equal(released.unfinished.to_notify, 1);
    assert.equal((await rowOf(service, queued!)).status, 'CANCELLED');
  });

  test('is held by all processes: the first one to notice informs the others', async () => {
    await rewrite('beat = 0, database_oid = database_oid + 1');
    await held(await stranger());
    await held();
  });
});

describe('a database restored to a point in time', () => {
  test('is noticed by a process that remembers a later state', async () => {
    await rewrite('beat = beat + 1000');
    await until('it is remembered', async () => {
      await rewrite(`beat_at = beat_at - interval '1 min'`);
      const remembered = readFileSync(join(service.dir, 'installation.json'), 'utf8');
      return (JSON.parse(remembered) as { beat: number }).beat >= 1_000;
    });
    await rewrite('beat = 5');
    await held();
  });

  test('is noticed by its new timeline if no process remembers', async () => {
    const { base } = await onNewTimeline('10 min', 'a-new-machine');
    assert.equal((await ready(base)).body.error.details.failing, 'restored copy');
  });
});

describe('a standby that took over', () => {
  test('goes on at once, also on a machine that is new', async () => {
    const { base, nextAddress } = await onNewTimeline('1 min', 'another-new-machine');
    assert.equal((await ready(base)).status, 200);
    assert.equal(nextAddress, 100_000);
  });

  test('goes on after a long pause if a process remembers it', async () => {
    const { base, nextAddress } = await onNewTimeline('10 min', '.');
    assert.equal((await ready(base)).status, 200);
    assert.equal(nextAddress, 100_000);
  });
});

async function nextAddress({ db }: Service): Promise<number> {
  return (await addresses.findCurrentKey(db, 'evm'))!.next_index;
}

/** Starts a process in this folder after the database got a new timeline. */
async function onNewTimeline(
  sinceLastBeat: string,
  folder: string,
): Promise<{ base: string; nextAddress: number }> {
  const old = await startService({ times: { beatMs: 3_600_000 } });
  after(() => old.stop());
  await addresses.addXpub(old.db, { id: newId(), ...key });
  await old.db.run(
    rawSql(`update installation set timeline = timeline + 7, writer = pg_current_xact_id(),
      beat_at = now() - interval '${sinceLastBeat}'`),
  );
  const { base } = await old.another({ FAREBOX_DATA_DIR: join(old.dir, folder) });
  return { base, nextAddress: await nextAddress(old) };
}

test('a clock that differs from that of the database is logged with the difference', async () => {
  const real = Date.now.bind(Date);
  mock.method(Date, 'now', () => real() - 90_000);
  const skew = async () =>
    /^farebox_clock_skew_seconds (.+)$/m.exec((await service.call('GET', '/metrics')).text)?.[1];
  await until('it is seen', async () => Math.abs(Number(await skew()) - 90) < 1);
  assert.match(service.log.join(''), /"database_ahead_seconds":(89|90)\b.*the clocks/);
  mock.restoreAll();
  await until('it is over', async () => (await skew()) === '0');
});
