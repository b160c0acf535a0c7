/** How events reach the operator: in order per account, at least once, through failures. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { addMany, addOnce } from '../../src/db/operator-events.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { chargedRequest, ok, operatorKey } from '../http/operator/world.ts';
import { resendEvent } from '../../src/operations/operator-events.ts';
import { resumeAfterRestore } from '../../src/operations/restored.ts';
import { openPost, type Post as Mailbox } from '../kit/post.ts';
import { openReceiver, receiverEnv, type Receiver } from '../kit/receiver.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { operatorOf, person, startWebService, type Person } from '../kit/web.ts';

let receiver: Receiver;
let a: TestAccount;
let b: TestAccount;
const { service } = withService(async () => {
  receiver = await openReceiver();
  return { env: receiverEnv(receiver), times: { beatMs: 20 } };
});
before(async () => {
  [a, b] = [await service.account(), await service.account()];
  await clear();
});
after(() => receiver.away(true));
afterEach(clear);

async function clear(): Promise<void> {
  receiver.answer = () => 204;
  await change('delete from operator_events');
  receiver.posts = [];
  receiver.accepted = [];
}

const change = (text: string, from = service) => from.db.run<Record<string, unknown>>(rawSql(text));
/** Makes every waiting event due now. */
const due = () => change('update operator_events set wake_at = now() where wake_at is not null');
const send = () => service.app.events.runOnce();
/** Writes events with these numbers. */
const write = (account: TestAccount | null, ...numbers: number[]) =>
  addMany(
    service.db,
    numbers.map((n) => ({
      type: 'account.created',
      account_id: account?.account_id ?? null,
      data: { email: `n${n}` },
    })),
  );
const numbers = (posts: Receiver['posts'], account: TestAccount | null) =>
  posts
    .filter(({ event }) => event.account_id === (account?.account_id ?? null))
    .map(({ event }) => Number(event.data.email.slice(1)));
const states = async () => {
  const rows = await service.db.run<{ state: string; count: number }>(sql`
    select case when sent_at is not null then 'sent' when wake_at is null then 'given up'
       else 'waiting' end as state, count(*)::int from operator_events group by 1 order by 1`);
  return rows.map(({ state, count }) => `${count} ${state}`).join(', ');
};

describe('a receiver', () => {
  test('gets each event once, with its id and a signature that any library accepts', async () => {
    await write(a, 1, 2);
    await write(null, 3);
    await send();
    await due();
    await send();
    assert.deepEqual(numbers(receiver.posts, a), [1, 2]);
    assert.deepEqual(numbers(receiver.posts, null), [3]);
    for (const { headers, event } of receiver.posts) {
      assert.equal(headers['webhook-id'], event.event_id);
      assert.equal(headers['content-type'], 'application/json');
    }
    assert.equal(await states(), '3 sent');
  });

  test("that refuses an event gets those of other accounts, and this one before its account's later ones", async () => {
    receiver.answer = ({ event }) => (event.account_id === a.account_id ? 500 : 204);
    await write(a, 1, 2);
    await write(b, 3, 4);
    await send();
    await due();
    await send();
    assert.deepEqual(numbers(receiver.posts, a), [1, 1]);
    assert.deepEqual(numbers(receiver.accepted, b), [3, 4]);
    assert.equal(new Set(receiver.posts.map(({ event }) => event.event_id)).size, 3);
    receiver.answer = () => 204;
    await due();
    await send();
    assert.deepEqual(numbers(receiver.accepted, a), [1, 2]);
    assert.equal(await states(), '4 sent');
  });

  test('that was away gets all events afterwards, in order', async () => {
    await receiver.away(true);
    await write(a, 1);
    for (let round = 0; round < 8; round++) {
      await write(a, round + 2);
      await due();
      await send();
    }
    const [row] = await service.db.run<{ failures: number; wakes_in: number; error: string }>(sql`
      select failures, extract(epoch from wake_at - now())::float8 as wakes_in,
         last_error as error from operator_events order by seq limit 1`);
    assert.equal(row!.failures, 8);
    assert.ok(row!.wakes_in > 400 && row!.wakes_in < 760, `${row!.wakes_in}`);
    assert.match(row!.error, /refuses connections/);
    assert.deepEqual(receiver.posts, []);
    await receiver.away(false);
    await due();
    await send();
    assert.deepEqual(numbers(receiver.accepted, a), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('whose acceptance could not be recorded gets the same event again', async () => {
    await write(a, 1, 2);
    let isLost = true;
    receiver.answer = async () => {
      // As if the process had died and its lease had ended.
      if (isLost)
        await change(
          'update operator_events set attempt = attempt + 1, wake_at = now() where wake_at > now()',
        );
      isLost = false;
      return 204;
    };
    await send();
    assert.deepEqual(numbers(receiver.accepted, a), [1, 1, 2]);
    const [first, again] = receiver.accepted;
    assert.equal(first!.headers['webhook-id'], again!.headers['webhook-id']);
    assert.equal(first!.body, again!.body);
    assert.equal(await states(), '2 sent');
  });

  test('that does not answer holds up nothing else', async () => {
    receiver.answer = () => null;
    await write(a, 1);
    const sending = send();
    await until('it hangs', () => receiver.posts.length > 0);
    await chargedRequest(service, b);
    assert.equal(await states(), '1 waiting');
    receiver.cut();
    await sending;
    assert.equal(await states(), '1 waiting');
  });

  test('of two processes gets the events of an account in order, through failures', async () => {
    const { app: other } = await service.another();
    for (let n = 1; n <= 12; n++) {
      await write(a, n);
      await write(b, n);
    }
    let posts = 0;
    receiver.answer = () => (++posts % 3 === 0 ? 503 : 204);
    const rounds = async (job: typeof other.events) => {
      for (let round = 0; round < 200 && (await states()) !== '24 sent'; round++) {
        await due();
        await job.runOnce();
      }
    };
    await Promise.all([rounds(service.app.events), rounds(other.events)]);
    const wanted = Array.from({ length: 12 }, (_, i) => i + 1);
    const firsts = (account: TestAccount) => [...new Set(numbers(receiver.accepted, account))];
    assert.deepEqual([firsts(a), firsts(b)], [wanted, wanted]);
    assert.ok(posts > 24);
  });
});

describe('an event that is not accepted for three days', () => {
  let operator: Person;
  let key: string;
  before(async () => {
    operator = await operatorOf(service);
    ({ key } = await operatorKey(service, 'reader', ['read']));
    await change('delete from operator_events');
  });
  const listed = async (query = '') =>
    ok(await service.call('GET', `/v1/operator/events${query}`, { key })).data;
  const line = async () => {
    const { body } = await operator.call('GET', '/api/operator/attention');
    return body.data.find(({ what }: { what: string }) => what === 'events_unsent');
  };

  test('is given up and shown to the operator, who can send it again', async () => {
    await write(a, 1, 2);
    receiver.answer = ({ event }) => (event.data.email === 'n1' ? 410 : 204);
    await send();
    assert.equal(await line(), undefined, 'it has only just failed');
    await change(`update operator_events set created_at = now() - interval '6 minutes'`);
    assert.deepEqual(
      { ...(await line()), since: 0 },
      { what: 'events_unsent', count: 2, of: ['answered 410'], since: 0 },
    );
    await change('update operator_events set give_up_at = now()');
    await due();
    await send();
    assert.deepEqual(numbers(receiver.accepted, a), [2]);
    const [second, first] = await listed();
    assert.deepEqual(
      [first.state, first.last_status, first.last_error, first.failures, first.wake_at],
      ['given_up', 410, 'answered 410', 2, null],
    );
    assert.deepEqual([second.state, second.last_status], ['sent', 204]);
    assert.equal((await line()).count, 1);
    assert.match(
      (await service.call('GET', '/metrics')).text,
      /farebox_operator_events_given_up 1\n/,
    );

    receiver.answer = () => 204;
    await resendEvent(service.db, first.event_id);
    await send();
    assert.deepEqual(numbers(receiver.accepted, a), [2, 1]);
    assert.equal(receiver.accepted[1]!.headers['webhook-id'], first.event_id);
    assert.equal(await line(), undefined);
    await assert.rejects(resendEvent(service.db, a.account_id), /no event with this id/);
  });

  test('is listed by type, page after page, as it was sent', async () => {
    await write(a, 1, 2, 3);
    await send();
    const { data, next_cursor } = ok(
      await service.call('GET', '/v1/operator/events?limit=2', { key }),
    );
    const rest = await listed(`?limit=2&cursor=${next_cursor}`);
    assert.deepEqual(
      [...data, ...rest].map(({ event_id }) => event_id),
      receiver.posts.map(({ event }) => event.event_id).toReversed(),
    );
    const { event } = receiver.posts[0]!;
    assert.deepEqual({ ...rest[0], ...event }, rest[0]);
    assert.deepEqual(await listed('?type=disk.low'), []);
    assert.equal((await service.call('GET', '/v1/operator/events?type=x', { key })).status, 400);
  });
});

describe('no event', () => {
  test('is written while neither a webhook nor mail is set up', async () => {
    const bare = await startService();
    try {
      await bare.account();
      const event = { type: 'disk.low', account_id: null } as const;
      const data = { host: 'h', disk: 'data', free_bytes: 1 } as const;
      await addOnce(bare.db, { ...event, data }, 'data h', 60);
      await bare.app.events.runOnce();
      assert.deepEqual(await change('select id from operator_events', bare), []);
      assert.deepEqual(await change('select channel from operator_channels', bare), []);
    } finally {
      await bare.stop();
    }
  });

  test('is written once no process with a webhook has run for a day', async () => {
    await change(`update operator_channels set seen_at = now() - interval '25 hours'`);
    await write(a, 1);
    assert.equal(await states(), '');
    await send();
    await write(a, 2);
    await send();
    assert.deepEqual(numbers(receiver.posts, a), [2]);
  });

  test('is sent by a restored copy, until the operator resumes it', async () => {
    await write(a, 1);
    await change('update installation set beat = beat');
    await until(
      'it keeps still',
      async () => (await service.call('GET', '/readyz')).status === 503,
    );
    await send();
    assert.deepEqual([receiver.posts.length, await states()], [0, '1 waiting']);
    const { unfinished } = await resumeAfterRestore(service.db, { look: false, release: false });
    assert.equal(unfinished.events_to_send, 1);
    await until('it goes on', async () => (await service.call('GET', '/readyz')).status === 200);
    await send();
    assert.deepEqual(numbers(receiver.accepted, a), [1]);
  });

  test('of one subject is written twice within its time, also by many processes', async () => {
    const event = { type: 'disk.low', account_id: null } as const;
    const data = { host: 'h', disk: 'data', free_bytes: 1 } as const;
    const say = (subject: string) => addOnce(service.db, { ...event, data }, subject, 60);
    await Promise.all(['one', 'one', 'two', 'one', 'one'].map(say));
    await say('one');
    await send();
    assert.equal(receiver.accepted.length, 2);
    await change(`update operator_events set created_at = now() - interval '61 s'`);
    await say('one');
    await send();
    assert.equal(receiver.accepted.length, 3);
  });

  test('is kept for more than 30 days', async () => {
    await write(a, 1, 2);
    await change(`update operator_events set created_at = now() - interval '31 days' where seq =
      (select min(seq) from operator_events)`);
    await service.app.worker!.sweep();
    await send();
    assert.deepEqual(numbers(receiver.posts, a), [2]);
  });
});

describe('e-mails', () => {
  let mailbox: Mailbox;
  let web: Service;
  let operator: Person;
  before(async () => {
    mailbox = await openPost();
    web = await startWebService({ env: { FAREBOX_SMTP_URL: mailbox.url } });
    operator = await operatorOf(web);
    const customer = await web.account();
    await person(web, { [customer.account_id]: 'owner' });
  });
  after(async () => {
    await web.stop();
    await mailbox.close();
  });
  const held = (usd: number) =>
    addMany(web.db, [
      {
        type: 'deposit.held',
        account_id: null,
        data: {
          deposit_id: 'd',
          chain: 'tron',
          token: 'USDT',
          tx_hash: '0x1',
          log_position: 0,
          amount_usd_micro: String(usd * 1e6),
          why: 'review',
        },
      },
    ]);

  test('go to operators, one for all events of some minutes that need a person', async () => {
    await held(300);
    await held(400);
    await addMany(web.db, [
      { type: 'account.created', account_id: null, data: { email: 'new@example.com' } },
    ]);
    await web.app.events.runOnce();
    await held(500);
    await web.app.events.runOnce();
    assert.deepEqual(
      mailbox.letters.map(({ to, subject }) => [to, subject]),
      [[operator.email, 'Farebox: 2 events need attention']],
    );
    const [letter] = mailbox.letters;
    assert.match(letter!.text, /A deposit of 300 USD on tron is held \(review\)\.\n.*400 USD/);
    assert.doesNotMatch(letter!.text, /new@example\.com/);
    assert.match(letter!.text, /\/operator\n/);

    const later = () => change(`update operator_channels set wake_at = now()`, web);
    await later();
    await web.app.events.runOnce();
    await later();
    await web.app.events.runOnce();
    assert.deepEqual(
      mailbox.letters.slice(1).map(({ subject }) => subject),
      ['Farebox: A deposit of 500 USD on tron is held (review).'],
    );
    const rows = await change(`select wake_at, last_error from operator_events`, web);
    assert.equal(rows.length, 3, 'an event without a letter needs a webhook');
    assert.ok(rows.every(({ wake_at }) => wake_at === null));
  });

  test('wait while there is no operator who could get them', async () => {
    const count = mailbox.letters.length;
    const tried = async (status: string) => {
      await change(`update accounts set status = '${status}' where is_operator`, web);
      await change(`update operator_channels set wake_at = now()`, web);
      await web.app.events.runOnce();
    };
    await held(550);
    await tried('suspended');
    assert.equal(mailbox.letters.length, count);
    await tried('active');
    assert.match(mailbox.letters[count]!.subject, /550 USD/);
  });

  test('that the mail server refuses are sent again later', async () => {
    const count = mailbox.letters.length;
    await mailbox.close();
    await change(`update operator_channels set wake_at = now()`, web);
    await held(600);
    await web.app.events.runOnce();
    assert.ok(web.log.some((line) => line.includes('an e-mail to an operator could not be sent')));
    const [row] = await change(`select count(*)::int from operator_events where letter_due`, web);
    assert.equal(row!['count'], 1);
    assert.equal(mailbox.letters.length, count);
  });
});
