import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../src/lib/sql/sql.ts';
import type { StartOutcome } from '../../src/upstreams/upstream.ts';
import { accept, createFake } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { catalogOf, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { wellAgain } from '../kit/well.ts';
import { age, card, moneyOf, rounds, rowOf, submitted, wake } from './floor.ts';

/** The upstream that a request goes to if the model's first one does not accept it. */

const at = (upstream: string, model: string, more: object = {}) => ({ upstream, model, ...more });
const row = (id: string, ...upstreams: object[]) => imageRow(id, { upstreams });
const catalog = catalogOf(
  row('two/image', at('fake', 'm', { cost_usd: '0.004' }), at('other', 'n', { cost_usd: '0.006' })),
  row('two/sketch', at('fake', 's')),
  row(
    'same/image',
    at('fake', 'gone', { cost_usd: '0.001' }),
    at('fake', 'there', { cost_usd: '0.003' }),
  ),
  row('all/second', at('fake', 'm', { weight: 0 }), at('other', 'n', { weight: 1 })),
);

const refused = (more: Partial<StartOutcome & { outcome: 'not_accepted' }> = {}): StartOutcome => ({
  outcome: 'not_accepted',
  message: 'no room',
  ...more,
});

const other = createFake({ name: 'other' });
const { service, account, fake } = withService({
  catalog,
  upstreams: [other],
  account: { open_jobs: 1_000 },
});
beforeEach(async () => {
  for (const each of [fake, other]) Object.assign(each, { behave: {}, concurrency: 1_000 });
  await rounds(service, 3);
  await wellAgain(service, 'two/sketch');
});

const startsOf = (id: string) =>
  [fake, other].map(({ starts }) => starts.filter(({ request_id }) => request_id === id).length);
const outcome = async (id: string) => {
  const { status, error } = await card(account, id);
  return error === null ? status : `${status} ${error.code}`;
};
const submit = (model = 'two/image') => submitted(account, { prompt: 'x' }, model);

/** Works so many times, ending all pauses in between. */
async function worked(id: string, count = 4): Promise<void> {
  for (let i = 0; i < count; i++) {
    await service.work();
    await wake(service, id).catch(() => {});
  }
}

describe('a start that the first upstream did not accept', () => {
  test('goes to the next one at once, is made once, and is charged once', async () => {
    fake.behave.start = () => refused();
    const id = await submit();
    await service.app.worker!.runOnce();
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.upstream, row.slot], ['IN_PROGRESS', 'other', false]);
    assert.ok(row.wakes_in! <= 0, 'without a pause');
    await rounds(service, 2);
    assert.equal(await outcome(id), 'COMPLETED');
    assert.deepEqual(startsOf(id), [1, 1]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    const [cost] = await service.db.run(
      rawSql('select cost_usd_micro from request_results where request_id = $1', [id]),
    );
    assert.deepEqual(cost, { cost_usd_micro: 6_000n }, 'at the cost of who made it');
  });

  test('goes to no other route after a lost answer, because two bills would be possible', async () => {
    fake.class = 'C';
    fake.behave.start = () => ({ outcome: 'unknown', message: 'reset' });
    const id = await submit();
    await worked(id);
    fake.class = 'A';
    assert.deepEqual(startsOf(id), [1, 0]);
    assert.equal((await rowOf(service, id)).upstream, 'fake');
    assert.equal(await outcome(id), 'FAILED outcome_unknown', 'at once: nothing can be learnt');
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('goes to no other route if it was refused for good', async () => {
    fake.behave.start = () => ({ outcome: 'rejected', message: 'not that' });
    const id = await submit();
    await worked(id);
    assert.deepEqual([startsOf(id), await outcome(id)], [[1, 0], 'FAILED upstream_rejected']);
  });

  test('waits after a try at each, and comes back to the first', async () => {
    fake.behave.start = () => refused();
    other.behave.start = () => refused();
    const id = await submit();
    await service.app.worker!.runOnce();
    await service.app.worker!.runOnce();
    const row = await rowOf(service, id);
    assert.deepEqual([row.upstream, startsOf(id)], ['fake', [1, 1]]);
    assert.ok(row.wakes_in! > 0.5, String(row.wakes_in));
    fake.behave = {};
    await worked(id);
    assert.deepEqual([startsOf(id), await outcome(id)], [[2, 1], 'COMPLETED']);
  });

  test('does not go to a paused upstream', async () => {
    await service.db.run(
      rawSql(
        `insert into upstreams (name, paused_until) values ('other', now() + interval '60 s')`,
      ),
    );
    fake.behave.start = () => refused();
    const id = await submit();
    await worked(id, 3);
    assert.equal(startsOf(id)[1], 0);
    assert.equal((await rowOf(service, id)).upstream, 'fake');
  });

  test('waits for a slot if the next one is full, and takes no more than there are', async () => {
    other.concurrency = 1;
    other.behave.poll = () => ({ state: 'running' });
    fake.behave.start = () => refused();
    const ids = [await submit(), await submit(), await submit()];
    await rounds(service, 3);
    const rows = await Promise.all(ids.map((id) => rowOf(service, id)));
    assert.deepEqual(rows.map(({ slot }) => slot).toSorted(), [false, false, true]);
    assert.equal(
      ids.reduce((sum, id) => sum + startsOf(id)[1]!, 0),
      1,
    );
    other.behave = {};
    await rounds(service, 8);
    assert.deepEqual(await Promise.all(ids.map(outcome)), Array(3).fill('COMPLETED'));
    for (const id of ids) assert.equal(startsOf(id)[1], 1);
  });
});

describe('two models of one upstream', () => {
  const models: string[] = [];
  beforeEach(() => {
    models.length = 0;
    fake.behave.start = (job) => {
      models.push(job.model);
      if (job.model === 'gone') return refused({ why: 'model', message: 'no such model' });
      return accept(fake, job);
    };
  });

  test('are two routes: the second gets what the first did not accept, and keeps the slot', async () => {
    const id = await submit('same/image');
    await service.app.worker!.runOnce();
    const { upstream, slot, wakes_in } = await rowOf(service, id);
    assert.deepEqual([upstream, slot], ['fake', true]);
    assert.ok(wakes_in! <= 0, 'without a pause');
    await rounds(service, 2);
    assert.deepEqual([models, await outcome(id)], [['gone', 'there'], 'COMPLETED']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    const sql = 'select cost_usd_micro from request_results where request_id = $1';
    const [cost] = await service.db.run(rawSql(sql, [id]));
    assert.deepEqual(cost, { cost_usd_micro: 3_000n }, 'at the cost of the model that made it');
  });

  test('are tried once each before a pause, if neither accepts it', async () => {
    fake.behave.start = ({ model }) => {
      models.push(model);
      return refused();
    };
    const id = await submit('same/image');
    for (let i = 0; i < 5; i++) await service.app.worker!.runOnce();
    assert.deepEqual(models, ['gone', 'there']);
    assert.ok((await rowOf(service, id)).wakes_in! > 0.5);
    fake.behave = {};
    await worked(id);
    assert.equal(await outcome(id), 'COMPLETED');
  });

  test('after a lost answer the start is repeated at the same model', async () => {
    fake.behave.start = (job) => {
      models.push(job.model);
      if (job.model === 'gone') return refused({ why: 'model' });
      return models.length < 3 ? { outcome: 'unknown', message: 'reset' } : accept(fake, job);
    };
    const id = await submit('same/image');
    await worked(id);
    assert.deepEqual([models, await outcome(id)], [['gone', 'there', 'there'], 'COMPLETED']);
  });

  test('a new request goes to the second at once while the first is paused', async () => {
    await service.db.run(
      rawSql(`insert into upstreams (name, model, paused_until)
        values ('fake', 'gone', now() + interval '60 s')`),
    );
    const id = await until('it is seen to rest', async () => {
      models.length = 0;
      const each = await submit('same/image');
      await service.app.worker!.runOnce();
      return models.join() === 'there' ? each : null;
    });
    await rounds(service, 2);
    assert.equal(await outcome(id), 'COMPLETED');
  });
});

describe('the queue of a paused upstream', () => {
  test('moves to the next upstream of its model; requests without another one stay', async () => {
    const ids = [await submit(), await submit('two/sketch')];
    await service.db.run(
      rawSql(`insert into upstreams (name, paused_until) values ('fake', now() + interval '60 s')`),
    );
    await until('it has moved', async () => {
      await service.work();
      return startsOf(ids[0]!)[1] === 1;
    });
    await wake(service, ids[0]!);
    await service.work();
    assert.equal(await outcome(ids[0]!), 'COMPLETED');
    assert.deepEqual(startsOf(ids[0]!), [0, 1]);
    const { status, upstream } = await rowOf(service, ids[1]!);
    assert.deepEqual([status, upstream], ['IN_QUEUE', 'fake']);
  });
});

describe('by weight', () => {
  test('requests begin where the weights say, not where the order does', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => submit('all/second')));
    await rounds(service, 2);
    for (const id of ids)
      assert.deepEqual([startsOf(id), await outcome(id)], [[0, 1], 'COMPLETED']);
  });
});

describe('a fault that only the operator can correct', () => {
  for (const [why, sentence] of [
    ['account', 'your account at the upstream is out of credit'],
    ['credential', 'the upstream rejects your key'],
  ] as const) {
    test(`${why}: is an error in the log; callers learn nothing about the operator's money`, async () => {
      fake.behave.start = () => refused({ why, message: 'balance exhausted, top up' });
      const lines = service.log.length;
      const id = await submit('two/sketch');
      await service.work();
      const errors = () =>
        service.log
          .slice(lines)
          .map((line) => JSON.parse(line))
          .filter(({ level, msg }) => level === 50 && msg === sentence);
      assert.equal(errors().length, 1, 'at the first failure');
      assert.deepEqual(await resting(), [{ name: 'fake', model: '' }], 'whoever called');
      const reply = await until('it rests', async () => {
        const call = { key: account.key, body: { prompt: 'x' } };
        const each = await service.call('POST', '/v1/queue/two/sketch', call);
        return each.status === 503 ? each : null;
      });
      assert.equal(errors().length, 1, 'and is not said twice');
      assertRefused(reply, 'capacity_unavailable');
      assert.doesNotMatch(reply.text, /balance|top up|credit|key/i);
      assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS', 'it waits for you');
      const elsewhere = await submit();
      await until('the other one has it', async () => {
        await service.work();
        return startsOf(elsewhere)[1] === 1;
      });
    });
  }

  test('a model that is missing for two accounts is paused alone', async () => {
    fake.behave.start = ({ model }) =>
      model === 's' ? refused({ why: 'model', message: 'no such model' }) : refused();
    for (const each of [account, await service.account()])
      await submitted(each, { prompt: 'x' }, 'two/sketch');
    await service.work();
    await until('the model rests', async () => {
      const call = { key: account.key, body: { prompt: 'x' } };
      return (await service.call('POST', '/v1/queue/two/sketch', call)).status === 503;
    });
    fake.behave = {};
    const id = await submit();
    await worked(id);
    assert.deepEqual([startsOf(id), await outcome(id)], [[1, 0], 'COMPLETED']);
    await service.db.run(rawSql(`delete from upstreams where model = 's'`));
  });

  test('a model that is missing for one account, also many times, is not paused for others', async () => {
    fake.behave.start = () => refused({ why: 'model' });
    const own = [await submit('two/sketch'), await submit()];
    for (let i = 0; i < 4; i++) {
      await service.work();
      await wake(service, own[0]!);
    }
    assert.ok(startsOf(own[0]!)[0]! > 1, 'it was told so more than once');
    assert.deepEqual(startsOf(own[1]!), [1, 1], 'and its own request went to the next route');
    assert.deepEqual(await resting(), []);
    fake.behave = {};
    const id = await submitted(await service.account(), { prompt: 'x' }, 'two/sketch');
    await service.work();
    assert.deepEqual(startsOf(id), [1, 0]);
  });

  const resting = () =>
    service.db.run(rawSql('select name, model from upstreams where paused_until > now()'));
});

describe('a job that its upstream does not know', () => {
  test('is lost at the third poll in a row, and is not charged', async () => {
    let looks = 0;
    fake.behave.poll = () => {
      looks++;
      return { state: 'missing', message: '404' };
    };
    const id = await submit();
    await service.work();
    await age(service, id);
    await worked(id, 6);
    assert.equal(looks, 3);
    assert.equal(await outcome(id), 'FAILED upstream_failed');
    assert.deepEqual(startsOf(id), [1, 0]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('is not lost in its first 45 seconds, in which copies of the upstream may lag', async () => {
    let looks = 0;
    fake.behave.poll = () => {
      looks++;
      return looks < 8 ? { state: 'missing', message: '404' } : { state: 'running' };
    };
    const id = await submit();
    await service.work();
    await worked(id, 12);
    assert.ok(looks > 8);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    await age(service, id);
    fake.behave = {};
    await worked(id, 1);
    assert.equal(await outcome(id), 'COMPLETED');
    assert.deepEqual(startsOf(id), [1, 0]);
  });

  test('is not lost if the upstream knows it in between', async () => {
    let looks = 0;
    fake.behave.poll = () => {
      looks++;
      return looks % 3 === 0 ? { state: 'running' } : { state: 'missing', message: '404' };
    };
    const id = await submit();
    await service.work();
    await age(service, id);
    await worked(id, 8);
    assert.ok(looks > 6);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    fake.behave = {};
    await wake(service, id);
    await service.work();
    assert.equal(await outcome(id), 'COMPLETED');
  });
});
