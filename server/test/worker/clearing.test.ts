import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, mock, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { DiskStorage } from '../../src/storage/disk.ts';
import { completion, images, tinyPng } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { withService } from '../kit/with-service.ts';
import { card, fenced, gate, moneyOf, rounds, rowOf, submitted, wake } from './floor.ts';

/** Data is deleted when its time is over, and not before. */

const { service, account } = withService({ account: { open_jobs: 1_000 } });
beforeEach(() => void (service.fake.behave = {}));

function storedBelow(name: string): string[] {
  const folder = join(service.dir, 'media', name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  );
}
const stored = (id: string) => storedBelow('').filter((path) => path.includes(id));

/** Moves all times of a request so many hours into the past. */
async function age(id: string, hours: number): Promise<void> {
  await service.db.run(sql`
    update requests set created_at = created_at - d, started_at = started_at - d, deadline_at = deadline_at - d, completed_at = completed_at - d,
       expires_at = expires_at - d, wake_at = wake_at - d from (select ${hours} * interval '1 hour' as d) d where id = ${id}`);
}

describe('outputs', () => {
  async function completed(): Promise<{ id: string; link: string }> {
    service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
    const id = await submitted(account);
    await rounds(service, 2);
    const { output_urls } = await card(account, id);
    return { id, link: output_urls[1].replace(/.*(?=\/v1)/, '') };
  }

  test('are there for twenty-four hours, and are not due before', async () => {
    const { id, link } = await completed();
    await age(id, 23.9);
    assert.equal(await service.app.worker!.runOnce(), 0);
    assert.equal(stored(id).length, 2);
    assert.equal((await account.get(link)).status, 200);
  });

  test('are deleted after that: bytes are removed, their rows stay', async () => {
    const { id, link } = await completed();
    await age(id, 24.01);
    await service.work();
    assert.deepEqual(stored(id), []);
    assertRefused(await account.get(link), 'expired');
    assertRefused(await account.get(`/v1/requests/${id}/response`), 'expired');
    const { status, charged_usd_micro } = await card(account, id);
    assert.deepEqual([status, charged_usd_micro], ['COMPLETED', '10000']);
    assert.equal((await rowOf(service, id)).wakes_in, null, 'it never wakes again');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('are refused from that moment on, even if they are not deleted yet', async () => {
    const { id, link } = await completed();
    await age(id, 24.01);
    assert.equal(stored(id).length, 2);
    assertRefused(await account.get(link), 'expired');
    assertRefused(await account.get(`/v1/requests/${id}/response`), 'expired');
  });

  test('of another request are not deleted', async () => {
    const [old, fresh] = [await completed(), await completed()];
    await age(old.id, 25);
    await service.work();
    assert.deepEqual([stored(old.id).length, stored(fresh.id).length], [0, 2]);
  });
});

describe('uploaded files', () => {
  async function upload(): Promise<{ file_id: string; uuid: string }> {
    const reply = await account.upload(tinyPng, 'image/png');
    assert.equal(reply.status, 201, reply.text);
    const { file_id } = reply.body;
    const [row] = await service.db.run<{ id: string }>(sql`
      select id from files where replace(id::text, '-', '') = ${file_id.slice(5)}`);
    return { file_id, uuid: row!.id };
  }
  const expire = (uuid: string) =>
    service.db.run(sql`update files set expires_at = now() - interval '1 s' where id = ${uuid}`);
  const rows = async () =>
    Number((await service.db.run<{ n: bigint }>(rawSql('select count(*) as n from files')))[0]!.n);

  test('are swept when their time is over, and only those', async () => {
    const [old, fresh] = [await upload(), await upload()];
    const before = storedBelow('').length;
    await expire(old.uuid);
    await service.app.worker!.sweep();
    assert.equal(storedBelow('').length, before - 1);
    assert.equal(await rows(), 1);
    const body = (file_id: string) => ({ prompt: 'x', image_url: file_id });
    assert.equal((await account.post('/v1/queue/fake/image', body(fresh.file_id))).status, 202);
    assertRefused(await account.post('/v1/queue/fake/image', body(old.file_id)), 'invalid_input');
  });

  test('that expire while their request waits fail it, free of charge, and no upstream is called', async () => {
    await service.work();
    const { file_id, uuid } = await upload();
    const id = await submitted(account, { prompt: 'x', image_url: file_id });
    await expire(uuid);
    const before = service.fake.starts.length;
    await service.work();
    const { status, error } = await card(account, id);
    assert.deepEqual([status, error.code], ['FAILED', 'upstream_rejected']);
    assert.equal(service.fake.starts.length, before);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('whose bytes cannot be removed keep their rows, delay no others, and are logged once', async () => {
    const taken = [await upload(), await upload(), await upload()];
    for (const { uuid } of taken) await expire(uuid);
    const stuck = taken[0]!;
    const path = join(service.dir, 'media', 'files', account.account_id, stuck.uuid);
    const bytes = readFileSync(path);
    const { remove } = DiskStorage.prototype;
    const tried: string[] = [];
    mock.method(DiskStorage.prototype, 'remove', async function (this: DiskStorage, key: string) {
      tried.push(key);
      if (key.endsWith(stuck.uuid)) throw new Error('operation not permitted');
      return remove.call(this, key);
    });
    const said = service.log.length;
    await service.app.worker!.sweep();
    await service.app.worker!.sweep();
    mock.restoreAll();
    const lines = service.log.slice(said).filter((line) => line.includes('could not be removed'));
    assert.equal(lines.length, 1);
    assert.equal(JSON.parse(lines[0]!).count, 1);
    assert.equal(tried.filter((key) => key.endsWith(stuck.uuid)).length, 1, 'it is put off');
    assert.deepEqual(readFileSync(path), bytes);
    const known = await service.db.run<{ id: string }>(sql`
      select id from files where id = any(${taken.map(({ uuid }) => uuid)})`);
    assert.deepEqual(
      known.map(({ id }) => id),
      [stuck.uuid],
      'the others went',
    );
    await service.db.run(sql`update files set put_off_until = now() where id = ${stuck.uuid}`);
    await service.app.worker!.sweep();
    assert.equal(existsSync(path), false, 'the next time it goes');
  });

  test('are all swept, even if there are many', async () => {
    await service.db.run(sql`
      insert into files (id, account_id, storage_key, content_type, size, sha256, expires_at)
       select gen_random_uuid(), ${account.account_id}, 'files/none-' || n, 'image/png', 1, repeat('0', 64), now() from generate_series(1, 1203) n`);
    const before = await rows();
    await service.app.worker!.sweep();
    assert.ok(before - (await rows()) >= 1_203);
  });
});

describe('Idempotency-Keys', () => {
  const submit = (key: string, prompt: string) =>
    service.call('POST', '/v1/queue/fake/image', {
      key: account.key,
      body: { prompt },
      headers: { 'idempotency-key': key },
    });

  test('are kept thirty days and forgotten then', async () => {
    const [old, fresh] = [await submit('old', 'x'), await submit('fresh', 'x')];
    await service.db.run(sql`
      update request_inputs set created_at = now() - interval '30 days 1 minute'
        where request_id = ${old.body.request_id}`);
    await service.db.run(sql`
      update request_inputs set created_at = now() - interval '29 days 23 hours'
        where request_id = ${fresh.body.request_id}`);
    await service.app.worker!.sweep();
    assert.equal((await submit('fresh', 'x')).status, 200);
    assertRefused(await submit('fresh', 'another'), 'idempotency_conflict');
    const again = await submit('old', 'another');
    assert.equal(again.status, 202);
    assert.notEqual(again.body.request_id, old.body.request_id);
    assert.equal(
      (await card(account, old.body.request_id)).input.prompt,
      'x',
      'the request itself stays',
    );
  });
});

describe('a cancelled request', () => {
  const sizes: [what: string, length: number, kept: boolean][] = [
    ['keeps an input that is small', 100, true],
    ['keeps nothing of an input above 16 KiB', 17_000, false],
  ];
  for (const [what, length, kept] of sizes) {
    test(what, async () => {
      const note = 'x'.repeat(length);
      const submit = (headers: Record<string, string>) =>
        account.post('/v1/queue/fake/image', { prompt: 'x', note }, { headers });
      const headers = { 'idempotency-key': `cancelled ${length}`.replace(' ', '-') };
      const first = await submit(headers);
      const id = first.body.request_id;
      const path = `/v1/requests/${id}/cancel`;
      assert.equal((await account.post(path)).status, 200);
      const { input } = await card(account, id);
      assert.deepEqual(input, kept ? { prompt: 'x', note } : {});
      assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
      const again = await submit(headers);
      assert.deepEqual([again.status, again.text], [200, first.text], 'a repeat is recognised');
    });
  }
});

describe('thirty days after its end', () => {
  const held = async (id: string) => {
    const [row] = await service.db.run<Record<string, unknown>>(sql`
      select i.input, i.webhook_url, i.idempotency_key, s.output,
           (select count(*)::int from attempts where request_id = r.id) as attempts,
           (select count(*)::int from outputs where request_id = r.id) as outputs,
           (select count(*)::int from webhook_deliveries where request_id = r.id) as notifications
         from requests r join request_inputs i on i.request_id = r.id
         left join request_results s on s.request_id = r.id where r.id = ${id}`);
    return row!;
  };
  const nothing = {
    input: {},
    webhook_url: null,
    idempotency_key: null,
    output: null,
    attempts: 0,
    outputs: 0,
    notifications: 0,
  };
  const days = 24;

  async function completed(): Promise<string> {
    service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
    const { body } = await service.call('POST', '/v1/queue/fake/image', {
      key: account.key,
      body: { prompt: 'a secret' },
      headers: { 'idempotency-key': `kept-${Math.random()}` },
    });
    await rounds(service, 3);
    await service.db.run(sql`
      insert into webhook_deliveries (request_id, attempt, account_id, url, duration_ms)
         values (${body.request_id}, 99, ${account.account_id}, 'u', 1) on conflict do nothing`);
    // As if its notification had been sent.
    await service.db.run(
      rawSql(
        `with r as (update requests set webhook_state = 'delivered' where id = $1)
         update request_inputs set webhook_url = 'https://x.test/hook' where request_id = $1`,
        [body.request_id],
      ),
    );
    return body.request_id;
  }

  test('input and answer are deleted; the card, the price and the books stay', async () => {
    const id = await completed();
    await age(id, 30 * days + 1);
    await service.work();
    const before = await card(account, id);
    const links: string[] = before.output_urls.map((url: string) => url.replace(/.*(?=\/v1)/, ''));
    const transfers = await service.transfers();
    await service.app.worker!.sweep();
    assert.deepEqual(await held(id), nothing);
    const { input, webhook, output_urls, expires_at, ...same } = await card(account, id);
    assert.deepEqual([input, webhook, output_urls, expires_at], [{}, null, [], null]);
    for (const [name, value] of Object.entries(same)) assert.deepEqual(value, before[name], name);
    assert.deepEqual([same.charged_usd_micro, same.price.quantity], ['10000', 2]);
    for (const path of [...links, `/v1/requests/${id}/output/0`, `/v1/requests/${id}/response`])
      assertRefused(await account.get(path), 'expired');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    assert.equal(await service.transfers(), transfers);
    await service.audit();
  });

  test('a failure keeps its reason', async () => {
    service.fake.behave.start = () => ({ outcome: 'rejected', message: 'not that one' }) as never;
    const id = await submitted(account, { prompt: 'a secret' });
    await rounds(service, 3);
    const { error } = await card(account, id);
    await age(id, 30 * days + 1);
    await service.app.worker!.sweep();
    assert.deepEqual(await held(id), nothing);
    assert.deepEqual((await card(account, id)).error, error);
  });

  test('and not before, nor while the request has a next step', async () => {
    const [fresh, undeleted] = [await completed(), await completed()];
    await age(fresh, 30 * days - 1);
    await age(undeleted, 30 * days + 1);
    await service.app.worker!.sweep();
    for (const id of [fresh, undeleted])
      assert.notDeepEqual((await held(id)).input, {}, 'it is still there');
    await service.work();
    await service.app.worker!.sweep();
    assert.notDeepEqual((await held(fresh)).input, {});
    assert.deepEqual(await held(undeleted), nothing, 'its outputs have gone by now');
  });

  test('all of them, each once', async () => {
    const count = async () => {
      const [row] = await service.db.run<{ n: number }>(sql`select count(*)::int as n from requests
        where cleared_at is not null`);
      return row!.n;
    };
    const before = await count();
    const who = await service.account({ open_jobs: 1_000 });
    const ids = await Promise.all(
      Array.from({ length: 12 }, () => submitted(who, { prompt: 'x' })),
    );
    for (const id of ids) await who.post(`/v1/requests/${id}/cancel`);
    for (const id of ids) await age(id, 31 * days);
    const { worker } = service.app;
    await Promise.all([worker!.sweep(), worker!.sweep()]);
    assert.equal((await count()) - before, 12);
    await worker!.sweep();
    assert.equal((await count()) - before, 12);
  });
});

test('invitations are deleted a month after their end, and no open one', async () => {
  const rows = () =>
    service.db.run<{ email: string }>(rawSql('select email from invitations order by email'));
  await service.db.run(sql`
    insert into invitations (id, account_id, email, role, token_hash, expires_at, accepted_at)
       select gen_random_uuid(), ${account.account_id}, name || '@x.test', 'owner', sha256(name::bytea), now() + days * interval '1 day', at
       from (values ('open', 1, null), ('lately', -29, null), ('expired', -31, null), ('accepted', -31, now())) d (name, days, at)`);
  await service.app.worker!.sweep();
  assert.deepEqual(
    (await rows()).map(({ email }) => email),
    ['lately@x.test', 'open@x.test'],
  );
});

test('what is late to be deleted is told by its age, and no more once it is gone', async () => {
  const hoursLate = async () => {
    // The figures of a process may be some seconds old.
    const { base } = await service.another();
    const { text } = await service.call('GET', '/metrics', { base });
    const shown = text.matchAll(/^farebox_retention_overdue_seconds\{what="(\w+)"\} (\S+)$/gm);
    return Object.fromEntries(
      [...shown].map(([, what, seconds]) => [what!, Math.floor(Number(seconds) / 3600)]),
    );
  };
  const nothing = { payloads: 0, outputs: 0, files: 0, erasures: 0 };
  await service.work();
  await service.app.worker!.sweep();
  assert.deepEqual(await hoursLate(), nothing);
  const [one, other] = [await submitted(account), await submitted(account)];
  await rounds(service, 6);
  await age(one, 27);
  await age(other, 31 * 24);
  await service.db.run(sql`
    update requests set expires_at = null, wake_at = null where id = ${other}`);
  const { body } = await account.upload('a text', 'text/plain');
  await service.db.run(sql`update files set expires_at = now() - interval '2 hours'
      where replace(id::text, '-', '') = ${body.file_id.slice(5)}`);
  await service.db.run(sql`insert into erasures (id, person_id, account_id, is_closed, created_at)
      values (gen_random_uuid(), gen_random_uuid(), ${account.account_id}, false,
        now() - interval '5 hours')`);
  assert.deepEqual(await hoursLate(), { payloads: 24, outputs: 3, files: 2, erasures: 5 });
  await service.work();
  await service.app.worker!.sweep();
  assert.deepEqual(await hoursLate(), nothing);
});

describe('a chat call whose process never came back', () => {
  const messages = [{ role: 'user', content: 'hello' }];

  test('is released when it is due; a reply that still comes is free', async () => {
    await rounds(service, 3);
    const slow = gate();
    service.fake.behave.chat = async () => {
      await slow.pass();
      return {
        outcome: 'reply',
        reply: completion('late', { prompt_tokens: 5, completion_tokens: 2 }),
      };
    };
    const caller = await service.account();
    const calling = caller.post('/v1/chat/completions', { model: 'fake/chat', messages });
    await slow.reached;
    const id = service.fake.chats.at(-1)!.request_id;
    assert.equal(await service.app.worker!.runOnce(), 0, 'its time is not over');
    await wake(service, id);
    await service.work();
    const { status, error, charged_usd_micro } = await card(caller, id);
    assert.deepEqual([status, error.code, charged_usd_micro], ['FAILED', 'outcome_unknown', '0']);
    const before = (await fenced(service.app)).COMPLETED ?? 0;
    slow.open();
    const reply = await calling;
    assert.deepEqual(
      [
        reply.status,
        reply.body.choices[0].message.content,
        reply.headers.get('x-charge-usd-micro'),
      ],
      [200, 'late', '0'],
    );
    assert.equal((await fenced(service.app)).COMPLETED, before + 1);
    assert.deepEqual(await service.balance(caller), { available: 100_000_000n, reserved: 0n });
  });
});
