import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { JobState, UpstreamClass } from '../../src/upstreams/upstream.ts';
import { claim, begin } from '../kit/by-hand.ts';
import { accept, createFake, images } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog } from '../kit/service.ts';
import { further, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import {
  card,
  fenced,
  gate,
  moneyOf,
  passDeadline,
  rounds,
  rowOf,
  submitted,
  wake,
} from './floor.ts';

const others = { upstream: 'other', model: 'image' };
const otherRows = further(
  imageRow('other/image', { upstreams: [others] }),
  imageRow('either/image', { upstreams: [{ upstream: 'fake', model: 'image' }, others] }),
);

const other = createFake({ name: 'other' });
const { service, account, fake } = withService({
  catalog: fakeCatalog + otherRows,
  upstreams: [other],
  account: { open_jobs: 1_000 },
});
/** Ends everything that a test leaves open, before the next one. */
beforeEach(async () => {
  for (const upstream of [fake, other])
    Object.assign(upstream, { behave: {}, class: 'A', find: undefined, cancel: undefined });
  const was_paused = await service.db.run(sql`update upstreams set paused_until = null, failures = 0
    where paused_until > now() returning 1`);
  await service.db.run(rawSql('update upstreams set failures = 0'));
  if (was_paused.length > 0) await seen('works');
  await rounds(service, 3);
});

/**
 * Waits until the process has noticed a pause, or its end: it reads its queues a few times a
 * second. A call without money is refused by the pause before the balance is checked.
 */
async function seen(state: 'rests' | 'works'): Promise<void> {
  const poor = await service.account({ usd: 0 });
  await until(`it shows that the upstream ${state}`, async () => {
    const { status } = await poor.post('/v1/queue/fake/image', { prompt: 'x' });
    return (status === 503) === (state === 'rests');
  });
}

const startsOf = (id: string) => fake.starts.filter(({ request_id }) => request_id === id);
const costOf = async (id: string) => {
  const [row] = await service.db.run<{ cost: bigint | null }>(sql`select cost_usd_micro as cost
    from request_results where request_id = ${id}`);
  return row!.cost;
};
const outcome = async (id: string) => {
  const { status, error } = await card(account, id);
  return error === null ? status : `${status} ${error.code}`;
};

/** Three ways to lose the answer of a start, although the upstream makes the job. */
const losses: Record<string, (id: string) => Promise<void>> = {
  'the upstream gave no clear answer': async (id) => {
    fake.behave.start = (job, self) => {
      accept(self, job);
      return { outcome: 'unknown', message: 'reset after bytes' };
    };
    await service.work();
    fake.behave = {};
    assert.equal(startsOf(id).length, 1);
  },
  'the adapter threw': async (id) => {
    fake.behave.start = (job, self) => {
      accept(self, job);
      throw new TypeError('a bug of the adapter');
    };
    await service.work();
    fake.behave = {};
    assert.equal(startsOf(id).length, 1);
  },
  'the process died between the intent and the answer': async (id) => {
    const claims = await claim(service.db, 'fake', 100);
    const ours = claims.find((each) => each.id === id)!;
    assert.ok(await begin(service.db, ours));
    fake.starts.push({ request_id: id, idempotency_key: id, input: {} });
    fake.jobs.set(id, { request_id: id, polls: 0 });
  },
};

describe('a start whose answer was lost', () => {
  for (const [what, lose] of Object.entries(losses)) {
    describe(what, () => {
      test('class A: is sent again under the same key, and is one job', async () => {
        fake.class = 'A';
        const id = await submitted(account);
        await lose(id);
        await rounds(service, 3);
        assert.equal(await outcome(id), 'COMPLETED');
        assert.deepEqual(
          startsOf(id).map(({ idempotency_key }) => idempotency_key),
          [id, id],
        );
        assert.equal(
          [...fake.jobs.values()].filter(({ request_id }) => request_id === id).length,
          1,
        );
        assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
      });

      test('class B: is found, and not sent again', async () => {
        fake.class = 'B';
        const asked: string[] = [];
        fake.find = async (key) => {
          asked.push(key);
          return fake.jobs.has(key) ? { key } : null;
        };
        const id = await submitted(account);
        await lose(id);
        await rounds(service, 3);
        assert.equal(await outcome(id), 'COMPLETED');
        assert.deepEqual(asked, [id]);
        assert.equal(startsOf(id).length, 1);
      });

      for (const never of ['C', 'C+'] as UpstreamClass[]) {
        test(`class ${never}: is never sent again; if nothing can call back it fails at once, and all is released`, async () => {
          fake.class = never;
          const id = await submitted(account);
          await lose(id);
          await rounds(service, 1);
          assert.equal(await outcome(id), 'FAILED outcome_unknown');
          assert.equal(startsOf(id).length, 1);
          assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
        });
      }
    });
  }

  test('class B: is sent again only after two searches without a result', async () => {
    fake.class = 'B';
    let searches = 0;
    fake.find = async () => {
      searches++;
      return null;
    };
    const id = await submitted(account);
    const [claimed] = await claim(service.db, 'fake', 1);
    await begin(service.db, claimed!);
    await wake(service, id);
    await service.work();
    assert.deepEqual([searches, startsOf(id).length], [1, 0]);
    await rounds(service, 3);
    assert.deepEqual([searches, startsOf(id).length], [2, 1]);
    assert.equal(await outcome(id), 'COMPLETED');
  });

  for (const [what, lose] of Object.entries(losses)) {
    test(`class B: is not sent again if only the second search finds it, where ${what}`, async () => {
      fake.class = 'B';
      let searches = 0;
      fake.find = async (key) => (++searches === 1 ? null : { key });
      const id = await submitted(account);
      await lose(id);
      await rounds(service, 4);
      assert.deepEqual([searches, startsOf(id).length, await outcome(id)], [2, 1, 'COMPLETED']);
    });
  }

  test('class B: a search that fails is made again, and nothing is sent meanwhile', async () => {
    fake.class = 'B';
    let searches = 0;
    fake.find = async (key) => {
      if (++searches <= 3) throw new Error('search is down');
      return { key };
    };
    const id = await submitted(account);
    await losses['the adapter threw']!(id);
    await rounds(service, 6);
    assert.deepEqual([searches, startsOf(id).length, await outcome(id)], [4, 1, 'COMPLETED']);
  });

  test('a stored handle is polled in every class, and nothing is sent again', async () => {
    fake.class = 'C';
    const id = await submitted(account);
    await service.work();
    // The process died right after it stored the handle.
    await rounds(service, 2);
    assert.deepEqual([startsOf(id).length, await outcome(id)], [1, 'COMPLETED']);
  });
});

describe('a start that was surely not accepted', () => {
  test('is made again after the pause, by every class', async () => {
    for (const kind of ['A', 'B', 'C', 'C+'] as UpstreamClass[]) {
      fake.class = kind;
      fake.behave.start = () => ({ outcome: 'not_accepted', message: '503' });
      const id = await submitted(account);
      await service.work();
      const row = await rowOf(service, id);
      assert.equal(row.status, 'IN_PROGRESS');
      assert.ok(row.wakes_in! > 0.5 && row.wakes_in! <= 3, String(row.wakes_in));
      fake.behave = {};
      await rounds(service, 2);
      assert.deepEqual([startsOf(id).length, await outcome(id)], [2, 'COMPLETED'], kind);
      assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    }
  });

  test('with a wish for a pause, pauses this model for a moment, and no other upstream', async () => {
    fake.behave.start = () => ({ outcome: 'not_accepted', message: '429', retry_after_ms: 30_000 });
    const id = await submitted(account);
    const waiting = await submitted(account);
    fake.concurrency = 1;
    try {
      await service.work();
    } finally {
      fake.concurrency = 1_000;
    }
    const row = await rowOf(service, id);
    assert.ok(row.wakes_in! > 25 && row.wakes_in! <= 30, String(row.wakes_in));
    await service.work();
    assert.equal((await rowOf(service, waiting)).status, 'IN_QUEUE', 'nothing more is sent to it');
    assert.equal(startsOf(waiting).length, 0);
    await seen('rests');
    const refused = await account.post('/v1/queue/fake/image', { prompt: 'x' });
    assertRefused(refused, 'capacity_unavailable');
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(seconds <= 5, `${seconds}: one account alone was told so`);
    const elsewhere = await submitted(account, { prompt: 'a dog' }, 'other/image');
    await service.work();
    await wake(service, elsewhere);
    await service.work();
    assert.equal(await outcome(elsewhere), 'COMPLETED');
  });

  test('sends a model with another upstream there, until that one is paused too', async () => {
    const rest = (name: string, seconds: number) =>
      service.db.run(sql`
        insert into upstreams (name, paused_until) values (${name}, now() + ${seconds} * interval '1 s')
           on conflict (name, model) do update set paused_until = excluded.paused_until`);
    const preferred = await submitted(account, { prompt: 'x' }, 'either/image');
    await rest('fake', 60);
    await seen('rests');
    const second = await submitted(account, { prompt: 'x' }, 'either/image');
    const upstreams = [preferred, second].map(async (id) => (await rowOf(service, id)).upstream);
    assert.deepEqual(await Promise.all(upstreams), ['fake', 'other']);
    await service.app.worker!.runOnce();
    await wake(service, second);
    await service.app.worker!.runOnce();
    assert.equal(await outcome(second), 'COMPLETED');
    assert.ok(other.starts.some(({ request_id }) => request_id === second));
    await rest('other', 20);
    const reply = await until('both rest', async () => {
      const each = await account.post('/v1/queue/either/image', { prompt: 'x' });
      return each.status === 503 ? each : null;
    });
    const seconds = Number(reply.headers.get('retry-after'));
    assert.ok(seconds > 10 && seconds <= 20, 'the sooner of the two');
  });

  test('five times in a row pauses the upstream, if another account failed too', async () => {
    await service.db.run(sql`insert into upstreams (name, failed_account, failed_at)
         values ('fake', gen_random_uuid(), now())
         on conflict (name, model) do update
         set failures = 0, failed_account = excluded.failed_account, failed_at = now()`);
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'refused' });
    const id = await submitted(account);
    for (let i = 1; i <= 5; i++) {
      const [row] = await service.db.run<{ rests: boolean }>(sql`
        select coalesce(bool_or(paused_until > now()), false) as rests from upstreams
          where name = 'fake'`);
      assert.equal(row!.rests, false, `before the ${i}th`);
      await rounds(service, 1);
      if (i === 1)
        await service.db.run(sql`update requests set wake_at = now() + interval '1 h'
          where id <> ${id} and wake_at is not null`);
    }
    assert.equal(startsOf(id).length, 5);
    const [row] = await service.db.run<{ seconds: number }>(sql`
      select extract(epoch from paused_until - now())::float8 as seconds from upstreams
        where name = 'fake'`);
    assert.ok(row!.seconds > 25 && row!.seconds <= 30, String(row!.seconds));
    fake.behave = {};
    await rounds(service, 2);
    assert.equal(await outcome(id), 'COMPLETED');
  });
});

describe('a start that was refused for good', () => {
  test("fails with the upstream's words, is not made again, and all is released", async () => {
    fake.behave.start = () => ({ outcome: 'rejected', message: 'No cats are drawn here.' });
    const id = await submitted(account);
    await rounds(service, 3);
    const { status, error, charged_usd_micro, started_at } = await card(account, id);
    assert.deepEqual(
      [status, error, charged_usd_micro],
      ['FAILED', { code: 'upstream_rejected', message: 'No cats are drawn here.' }, '0'],
    );
    assert.ok(started_at);
    assert.equal(startsOf(id).length, 1);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('without a start: a withdrawn model reaches no upstream', async () => {
    const id = await submitted(account);
    await service.db.run(rawSql(`update requests set model_id = 'fake/gone' where id = $1`, [id]));
    await service.work();
    assert.deepEqual([await outcome(id), startsOf(id).length], ['FAILED upstream_failed', 0]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });
});

describe('a job that runs', () => {
  test('is polled until it is done, with its progress on the way', async () => {
    const told = [0.2, 7, -1];
    fake.behave.poll = () =>
      told.length > 0
        ? { state: 'running', progress: told.shift()!, logs: ['a', 'b'] }
        : { state: 'done', result: images(1) };
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    const seen: unknown[] = [];
    while ((await rowOf(service, id)).status === 'IN_PROGRESS') {
      await wake(service, id);
      await service.app.worker!.runOnce();
      const { body } = await account.get(`/v1/requests/${id}/status`);
      seen.push(body.progress);
    }
    assert.deepEqual(seen, [0.2, 1, 0, undefined], 'within 0 and 1');
    assert.equal(await outcome(id), 'COMPLETED');
  });

  test('is polled again when the upstream says, within a minute', async () => {
    for (const [asked, least, most] of [
      [5_000, 3, 5],
      [10_000_000, 50, 60],
      [-5, 0, 0.06],
      [Number.NaN, 0, 0.06],
    ] as const) {
      fake.behave.poll = () => ({ state: 'running', poll_after_ms: asked });
      const id = await submitted(account);
      await service.app.worker!.runOnce();
      await wake(service, id);
      await service.app.worker!.runOnce();
      const { wakes_in } = await rowOf(service, id);
      assert.ok(wakes_in! > least - 1 && wakes_in! <= most, `${asked}: ${wakes_in}`);
      await passDeadline(service, id);
      await service.work();
    }
  });

  test('is polled again after every failed poll', async () => {
    let polls = 0;
    fake.behave.poll = () => {
      if (++polls <= 10) throw new Error('connection reset');
      return { state: 'done', result: images(1) };
    };
    const id = await submitted(account);
    await rounds(service, 14);
    assert.deepEqual([polls, startsOf(id).length, await outcome(id)], [11, 1, 'COMPLETED']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  for (const code of ['upstream_failed', 'upstream_rejected'] as const) {
    test(`fails as ${code}, free of charge`, async () => {
      fake.behave.poll = () => ({ state: 'failed', code, message: 'It broke.' });
      const id = await submitted(account);
      await rounds(service, 2);
      assert.deepEqual((await card(account, id)).error, { code, message: 'It broke.' });
      assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    });
  }
});

describe('the deadline', () => {
  test('ends a job that runs: released, cancelled at the upstream, a late success is not charged', async () => {
    const cancelled: unknown[] = [];
    fake.cancel = async (handle) => void cancelled.push(handle);
    const slow = gate();
    let looks = 0;
    fake.behave.poll = async () => {
      // The last poll, by the other process.
      if (++looks > 1) return { state: 'running' };
      await slow.pass();
      return { state: 'done', result: images(1) };
    };
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    await wake(service, id);
    const late = service.app.worker!.runOnce();
    await slow.reached;
    const { app } = await service.another();
    await passDeadline(service, id);
    await app.worker!.runOnce();
    assert.equal(await outcome(id), 'FAILED timeout');
    assert.deepEqual(cancelled, [{ key: id }]);
    const before = await fenced(service.app);
    slow.open();
    await late;
    assert.equal((await fenced(service.app)).COMPLETED, (before.COMPLETED ?? 0) + 1);
    const { status, charged_usd_micro, output_urls } = await card(account, id);
    assert.deepEqual([status, charged_usd_micro, output_urls], ['FAILED', '0', []]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('ends a job even if its upstream cannot be reached', async () => {
    fake.cancel = async () => {
      throw new Error('gone');
    };
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    await passDeadline(service, id);
    await service.app.worker!.runOnce();
    assert.equal(await outcome(id), 'FAILED timeout');
  });

  test('ends a start that was never accepted, without an unknown outcome', async () => {
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'busy' });
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    await passDeadline(service, id);
    await service.app.worker!.runOnce();
    assert.equal(await outcome(id), 'FAILED timeout');
    assert.equal(await costOf(id), 0n);
  });

  const lastLooks: [what: string, look: () => JobState, cost: bigint | null, cancels: number][] = [
    ['is done, at the cost of its row', () => ({ state: 'done', result: images(2) }), 8_000n, 0],
    [
      'is done, at the cost that its upstream tells',
      () => ({ state: 'done', result: { ...images(2), cost_usd_micro: 123n } }),
      123n,
      0,
    ],
    [
      'has failed, which costs nothing',
      () => ({ state: 'failed', code: 'upstream_failed', message: 'It broke.' }),
      0n,
      0,
    ],
    ['runs on, at an unknown cost', () => ({ state: 'running' }), null, 1],
    ['cannot be looked at, nor is its cost known', () => assert.fail('reset'), null, 1],
  ];
  for (const [what, look, cost, cancels] of lastLooks) {
    test(`ends a job that by then ${what}, and charges nothing`, async () => {
      let cancelled = 0;
      fake.cancel = async () => void cancelled++;
      fake.behave.poll = look;
      const id = await submitted(account, { prompt: 'a cat', num_images: 2 });
      await service.app.worker!.runOnce();
      await passDeadline(service, id);
      await service.app.worker!.runOnce();
      assert.equal(await outcome(id), 'FAILED timeout');
      assert.deepEqual([await costOf(id), cancelled], [cost, cancels]);
      assert.equal(await moneyOf(service, id), 'reserve 20000, release 20000');
      const { error, output_urls } = await card(account, id);
      assert.deepEqual([error.code, output_urls], ['timeout', []]);
    });
  }

  test('ends a job whose outputs could not be fetched, with its known cost', async () => {
    const source = { url: 'http://127.0.0.1:9/gone.png' };
    const result = { media: [{ field: 'images', source }], fields: {}, cost_usd_micro: 77n };
    fake.behave.start = () => ({ outcome: 'done', result });
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    await passDeadline(service, id);
    await service.app.worker!.runOnce();
    assert.deepEqual([await outcome(id), await costOf(id)], ['FAILED timeout', 77n]);
  });

  test('is as long as the model allows, from the first start on', async () => {
    fake.behave.poll = () => ({ state: 'running' });
    const image = await submitted(account);
    const film = await submitted(
      account,
      { prompt: 'x', duration_seconds: 1 },
      'fake/film/text-to-video',
    );
    await service.app.worker!.runOnce();
    const rows = await service.db.run<{ id: string; minutes: number }>(sql`select id, extract(epoch
      from deadline_at - started_at)::float8 / 60 as minutes from requests
      where id = any(${[image, film]}::uuid[]) order by id`);
    assert.deepEqual(rows, [
      { id: image, minutes: 10 },
      { id: film, minutes: 60 },
    ]);
  });
});
