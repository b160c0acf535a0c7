/** The event stream of the pages: contents, delay, recipients and end. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deposit } from '../../kit/by-command-line.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { openEvents, type Events } from '../../kit/events.ts';
import { accept } from '../../kit/fake.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { held } from '../../kit/held.ts';
import { wake } from '../../kit/states.ts';
import { until } from '../../kit/until.ts';
import { person, startWebService, stranger, type Person } from '../../kit/web.ts';

const never = 3_600_000;
let service: Service;
let account: TestAccount;
let ada: Person;
before(async () => {
  service = await startWebService({ times: { checkMs: never, streamGrantsMs: 50 } });
  account = await service.account();
  ada = await person(service, { [account.account_id]: 'read_only' });
});
after(() => service.stop());

interface PageEvent {
  event: string;
  data: any;
}

interface OpenedEvents {
  events: Events;
  /** The next event of this kind, skipping others; null at the end. */
  next(event: string): Promise<PageEvent | null>;
}

const cookieOf = (who: Person) =>
  [...who.cookies].map(([name, value]) => `${name}=${value}`).join('; ');

async function open(
  who = ada,
  { account_id } = account,
  base = service.base,
): Promise<OpenedEvents> {
  const path = `/api/accounts/${account_id}/events`;
  const events = await openEvents(base, path, { headers: { cookie: cookieOf(who) } });
  assert.equal(events.status, 200);
  const next = async (event: string) => {
    const end = performance.now() + 30_000;
    for (;;) {
      const found = await events.next();
      assert.ok(performance.now() < end, `no ${event} in 30 s`);
      if (found === null) return null;
      if (found.comment === undefined && found.event === event)
        return { event, data: JSON.parse(found.data) };
    }
  };
  // After this event the account is watched.
  assert.ok(await next('balance'));
  return { events, next };
}

async function submit({ key } = account, base?: string): Promise<string> {
  const call = { key, body: { prompt: 'a cat' }, ...(base && { base }) };
  return (await service.call('POST', '/v1/queue/fake/image', call)).body.request_id;
}

const changed = (status: string, id: string) => (told: PageEvent | null) =>
  told?.data.data.find((entry: any) => entry.request_id === id && entry.status === status);

async function heard(stream: OpenedEvents, status: string, id: string): Promise<any> {
  for (;;) {
    const told = await stream.next('requests');
    assert.ok(told, `the stream ended before ${status}`);
    const found = changed(status, id)(told);
    if (found) return found;
  }
}

describe('an open page gets events', () => {
  test('of a request from its submit to its end, with what it made', async () => {
    const stream = await open();
    const id = await submit();
    const first = await heard(stream, 'IN_QUEUE', id);
    assert.equal(first.quoted_usd_micro, '10000');
    assert.equal(first.charged_usd_micro, null);
    service.fake.behave = {
      start: (job) => ({ ...accept(service.fake, job), poll_after_ms: 60_000 }),
      poll: () => ({ state: 'running', progress: 0.5, logs: [], poll_after_ms: 60_000 }),
    };
    await service.work();
    await heard(stream, 'IN_PROGRESS', id);
    await wake(service, id);
    await service.work();
    assert.equal((await heard(stream, 'IN_PROGRESS', id)).progress, 0.5);
    service.fake.behave = {};
    await wake(service, id);
    await service.work();
    const last = await heard(stream, 'COMPLETED', id);
    assert.equal(last.charged_usd_micro, '10000');
    const [output] = last.outputs;
    assert.equal(output.content_type, 'image/png');
    assert.equal((await service.call('GET', new URL(output.url).pathname)).status, 401);
    for (const url of [output.url, output.thumbnail_url])
      assert.equal((await fetch(url)).status, 200);
    assert.ok(!JSON.stringify(last).includes('"upstream"'));
    stream.events.leave();
  });

  test('of the balance when money moved', async () => {
    const own = await service.account({ usd: 1 });
    const eve = await person(service, { [own.account_id]: 'billing' });
    const stream = await open(eve, own);
    const id = await submit(own);
    assert.deepEqual((await stream.next('balance'))?.data, {
      available_usd_micro: '990000',
      reserved_usd_micro: '10000',
      debt_usd_micro: '0',
    });
    await service.call('POST', `/v1/requests/${id}/cancel`, { key: own.key });
    assert.deepEqual((await stream.next('balance'))?.data, {
      available_usd_micro: '1000000',
      reserved_usd_micro: '0',
      debt_usd_micro: '0',
    });
    stream.events.leave();
  });

  test('within a second of what happens at another process', async () => {
    const other = await service.another();
    const stream = await open(ada, account, other.base);
    const id = await submit(account, service.base);
    const at = performance.now();
    await heard(stream, 'IN_QUEUE', id);
    await service.call('POST', `/v1/requests/${id}/cancel`, {
      key: account.key,
      base: service.base,
    });
    await heard(stream, 'CANCELLED', id);
    assert.ok(performance.now() - at < 2_000);
    stream.events.leave();
  });

  test('that tell it to read again if too much has changed', async () => {
    const stream = await open();
    const told = stream.next('changed');
    let isTold = false;
    void told.finally(() => (isTold = true));
    const { key } = account;
    // On a slow machine so many changes may come in several events.
    for (let round = 1; round <= 5 && !isTold; round++) {
      const ids = await Promise.all(Array.from({ length: 45 }, () => submit()));
      const cancel = (id: string) => service.call('POST', `/v1/requests/${id}/cancel`, { key });
      await Promise.all(ids.map(cancel));
    }
    assert.deepEqual((await told)?.data, {});
    stream.events.leave();
  });

  test('nothing of other accounts', async () => {
    // New accounts, because more events of the last test's account may come.
    const [own, other] = [await service.account(), await service.account()];
    const eve = await person(service, { [own.account_id]: 'read_only' });
    const stream = await open(eve, own);
    const foreign = await submit(other);
    const id = await submit(own);
    const told = await stream.next('requests');
    assert.deepEqual(
      told?.data.data.map(({ request_id }: any) => request_id),
      [id],
    );
    for (const [each, { key }] of [
      [foreign, other],
      [id, own],
    ] as const)
      await service.call('POST', `/v1/requests/${each}/cancel`, { key });
    stream.events.leave();
  });
});

describe('without hints between processes', () => {
  let deaf: Service;
  before(async () => {
    deaf = await startWebService({
      env: { FAREBOX_NOTIFY: 'off' },
      times: { checkMs: 50, streamGrantsMs: never },
    });
  });
  after(() => deaf.stop());

  test('a page still gets events of requests, of their ends, of a deposit', async () => {
    const own = await deaf.account({ usd: 1 });
    const eve = await person(deaf, { [own.account_id]: 'owner' });
    const other = await deaf.another();
    const stream = await open(eve, own, other.base);
    const call = { key: own.key, body: { prompt: 'x' }, base: deaf.base };
    const id = (await deaf.call('POST', '/v1/queue/fake/image', call)).body.request_id;
    await heard(stream, 'IN_QUEUE', id);
    await deaf.work();
    await heard(stream, 'COMPLETED', id);
    await deposit(deaf.db, { account_id: own.account_id, amount: 5_000_000n, reference: 'more' });
    let told;
    do told = await stream.next('balance');
    while (told && told.data.available_usd_micro !== '5990000');
    assert.ok(told);
    stream.events.leave();
  });
});

describe('a stream of the pages', () => {
  const refused = async (who: Person, account_id = account.account_id) =>
    (await who.of(account_id).call('GET', '/events')).status;

  test('is refused to strangers, and to the people of other accounts', async () => {
    const other = await person(service, {});
    assert.deepEqual([await refused(stranger(service)), await refused(other)], [401, 404]);
    assert.equal(await refused(ada, 'nonsense'), 404);
  });

  test('ends when its session is ended', async () => {
    const eve = await person(service, { [account.account_id]: 'owner' });
    const stream = await open(eve);
    await eve.call('POST', '/api/auth/sign-out', {});
    assert.equal((await stream.next('end'))?.data.reason, 'access');
    assert.equal(await stream.events.closed, true);
  });

  test('ends when its reader is removed from the account; others continue', async () => {
    const eve = await person(service, { [account.account_id]: 'owner' });
    const [gone, stays] = [await open(eve), await open()];
    await service.db.run(rawSql('delete from members where person_id = $1', [eve.id]));
    assert.equal((await gone.next('end'))?.data.reason, 'access');
    const id = await submit();
    await heard(stays, 'IN_QUEUE', id);
    await service.call('POST', `/v1/requests/${id}/cancel`, { key: account.key });
    stays.events.leave();
  });

  test('of a request ends with its right too, as a wait does', async () => {
    const eve = await person(service, { [account.account_id]: 'developer' });
    const id = await submit();
    const path = `/v1/requests/${id}/status`;
    const stream = await openEvents(
      service.base,
      `/api/accounts/${account.account_id}${path}/stream`,
      { headers: { cookie: cookieOf(eve) } },
    );
    assert.equal((await stream.next())?.event, 'status');
    const mine = eve.of(account.account_id);
    const wait = await held(
      service.app,
      () => mine.call('GET', `${path}?wait=60`),
      () => mine.call('GET', path),
    );
    await service.db.run(rawSql('delete from members where person_id = $1', [eve.id]));
    const [end] = await stream.rest();
    assert.equal(JSON.parse(end!.data).reason, 'access');
    assert.equal((await wait.reply).status, 403);
    await service.call('POST', `/v1/requests/${id}/cancel`, { key: account.key });
  });

  test('of a chat ends with its right as if its reader had left: the delivered part is charged', async () => {
    const own = await service.account({ usd: 5 });
    const eve = await person(service, { [own.account_id]: 'developer' });
    const reached = Promise.withResolvers<AbortSignal>();
    service.fake.behave.chat = (call) => ({
      outcome: 'stream',
      chunks: (async function* () {
        yield {
          object: 'chat.completion.chunk',
          choices: [{ index: 0, delta: { content: 'said so far' }, finish_reason: null }],
        };
        reached.resolve(call.signal);
        await new Promise((_, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason));
        });
      })(),
    });
    const body = {
      model: 'fake/chat',
      stream: true,
      messages: [{ role: 'user', content: 'go on for ever' }],
    };
    const reply = eve.of(own.account_id).call('POST', '/v1/chat/completions', body);
    const ended = assert.rejects(reply);
    const signal = await reached.promise;
    assert.equal(signal.aborted, false);
    await service.db.run(rawSql('delete from members where person_id = $1', [eve.id]));
    await ended;
    await until('it is settled', async () => (await service.balance(own)).reserved === 0n);
    assert.equal(signal.aborted, true);
    const { available } = await service.balance(own);
    assert.ok(available < 5_000_000n && available > 4_990_000n, String(available));
    service.fake.behave = {};
  });

  test('is open at most twenty times for one person, without effect on others', async () => {
    const eve = await person(service, { [account.account_id]: 'read_only' });
    const again = await person(service, { [account.account_id]: 'read_only' });
    const many = await Promise.all(Array.from({ length: 20 }, () => open(eve)));
    const reply = await eve.of(account.account_id).call('GET', '/events');
    assert.equal(reply.status, 429);
    assert.match(reply.body.error.message, /Close a page/);
    assert.ok(Number(reply.headers.get('retry-after')) > 0);
    const id = await submit();
    const path = `/v1/requests/${id}/status`;
    const wait = await eve.of(account.account_id).call('GET', `${path}?wait=60`);
    assert.equal(wait.body.status, 'IN_QUEUE', 'answered at once');
    await service.call('POST', `/v1/requests/${id}/cancel`, { key: account.key });
    (await open(again)).events.leave();
    many.pop()!.events.leave();
    const later = await until('there is room', async () => {
      const events = await openEvents(service.base, `/api/accounts/${account.account_id}/events`, {
        headers: { cookie: cookieOf(eve) },
      });
      return events.status === 200 ? events : null;
    });
    later.leave();
    for (const { events } of many) events.leave();
  });

  test('counts against the limit of streams, and frees its slot', async () => {
    const small = await startWebService({ env: { FAREBOX_STREAMS_MAX: '1' } });
    try {
      const own = await small.account();
      const eve = await person(small, { [own.account_id]: 'owner' });
      const stream = await open(eve, own, small.base);
      const again = async () => (await eve.of(own.account_id).call('HEAD', '/events')).status;
      assert.equal((await eve.of(own.account_id).call('GET', '/events')).status, 429);
      assert.equal(await again(), 200, 'HEAD holds nothing');
      stream.events.leave();
      const later = await until('there is room', async () =>
        openEvents(small.base, `/api/accounts/${own.account_id}/events`, {
          headers: { cookie: cookieOf(eve) },
        }).then((events) => (events.status === 200 ? events : null)),
      );
      later.leave();
    } finally {
      await small.stop();
    }
  });

  test('ends with an event when the process stops', async () => {
    const other = await service.another();
    const stream = await open(ada, account, other.base);
    const stopped = other.app.stop(2_000);
    assert.equal((await stream.next('end'))?.data.reason, 'draining');
    await stopped;
    assert.equal(await stream.events.closed, true);
  });
});
