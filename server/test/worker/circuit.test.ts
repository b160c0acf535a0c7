import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { accept } from '../kit/fake.ts';
import type { TestAccount } from '../kit/service.ts';
import { catalogOf, chatRow, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { wellAgain } from '../kit/well.ts';
import { rounds, rowOf, submitted } from './floor.ts';

/** Failures of one account count against the upstream only as long as no account is served. */

const at = (model: string) => ({ upstreams: [{ upstream: 'fake', model }] });
const images = ['one', 'two', 'three'].map((id) => imageRow(`own/${id}`, at(id)));
const catalog = catalogOf(...images, chatRow('own/chat', at('chat')));

let attacker: TestAccount;
let victim: TestAccount;
const { service, fake } = withService({ catalog });
beforeEach(async () => {
  fake.class = 'C';
  fake.behave = {
    start: (job) =>
      job.input.prompt === 'bad' ? { outcome: 'unknown', message: '500' } : accept(fake, job),
  };
  await wellAgain(service, 'own/one');
  attacker = await service.account({ open_jobs: 1_000 });
  victim = await service.account({ open_jobs: 1_000 });
});

const failed = async (who: TestAccount, model: string, count: number) => {
  for (let i = 0; i < count; i++) await submitted(who, { prompt: 'bad' }, model);
  await service.work();
};
const went = async (who: TestAccount, model: string) => {
  const id = await submitted(who, { prompt: 'good' }, model);
  await rounds(service, 2);
  assert.equal((await rowOf(service, id)).status, 'COMPLETED');
};
const resting = () =>
  service.db.run(rawSql('select name, model from upstreams where paused_until > now()'));
const talked = (base: string, { key }: TestAccount) =>
  service.call('POST', '/v1/chat/completions', {
    base,
    key,
    body: { model: 'own/chat', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
  });

describe('failures of one account', () => {
  test("are forgotten once another account's call of the upstream succeeds", async () => {
    await failed(attacker, 'own/one', 6);
    await went(victim, 'own/two');
    await failed(victim, 'own/three', 1);
    assert.deepEqual(await resting(), [], 'one failure of another made it rest');
    await went(victim, 'own/two');
    await failed(attacker, 'own/one', 6);
    assert.deepEqual(await resting(), [], 'and from then on the word of one account counted');
    await went(victim, 'own/two');
  });

  test('count with those of another account if no call succeeded between them', async () => {
    await failed(victim, 'own/three', 1);
    await failed(attacker, 'own/one', 5);
    assert.deepEqual(await resting(), [{ name: 'fake', model: '' }]);
  });

  test('are forgotten by a good call of a process that saw none of them', async () => {
    const second = await service.another();
    fake.behave.chat = () => ({ outcome: 'not_accepted', message: 'busy' });
    for (const who of [attacker, victim]) await talked(service.base, who);
    fake.behave = {};
    await until('the second node has forgotten them', async () => {
      assert.equal((await talked(second.base, victim)).status, 200);
      const sql = 'select 1 from upstreams where failures > 0';
      return (await service.db.run(rawSql(sql))).length === 0;
    });
    for (let i = 0; i < 2; i++) {
      fake.behave.chat = () => ({ outcome: 'not_accepted', why: 'model', message: 'no' });
      assert.equal((await talked(service.base, attacker)).status, 503);
    }
    assert.deepEqual(await resting(), []);
    assert.equal((await talked(second.base, victim)).status, 503, 'it was asked, as it rests not');
  });

  test('leave successful calls without a write', async () => {
    await went(victim, 'own/two');
    const stamps = () => service.db.run(rawSql('select name, model, xmin::text from upstreams'));
    const before = await stamps();
    fake.behave = {};
    for (let i = 0; i < 5; i++) assert.equal((await talked(service.base, victim)).status, 200);
    assert.deepEqual(await stamps(), before);
  });
});

describe('an upstream that is busy', () => {
  const full = (retry_after_ms = 40_000, more: object = {}) => {
    fake.behave.start = () => ({
      outcome: 'not_accepted',
      message: '429',
      retry_after_ms,
      ...more,
    });
  };
  const paused = async () => {
    const rows = await service.db.run<{ model: string; seconds: number }>(
      rawSql(`select model, extract(epoch from paused_until - now())::float8 as seconds
        from upstreams where paused_until > now() order by model`),
    );
    return rows.map(({ model, seconds }) => `${model || 'all'} ${seconds > 5 ? 'long' : 'short'}`);
  };
  const refused = async (who: TestAccount, model: string) => {
    await submitted(who, { prompt: 'x' }, model);
    await service.work();
  };

  test('for one model of one account is paused for that model, and a few seconds only', async () => {
    full();
    await refused(attacker, 'own/one');
    assert.deepEqual(await paused(), ['one short']);
    fake.behave = {};
    await went(victim, 'own/two');
  });

  test('for two models of one account is paused as a whole, and a few seconds only', async () => {
    full();
    await refused(attacker, 'own/one');
    await refused(attacker, 'own/two');
    assert.deepEqual(await paused(), ['all short', 'one short', 'two short']);
  });

  test('for two accounts is paused as long as it wishes', async () => {
    full();
    await refused(attacker, 'own/one');
    await service.db.run(rawSql('update upstreams set paused_until = null'));
    await until('its model is open', async () => {
      const reply = await victim.post('/v1/queue/own/one', { prompt: 'x' });
      return reply.status === 202;
    });
    await service.work();
    assert.deepEqual(await paused(), ['all long', 'one long']);
  });

  test('is not paused as a whole if a call succeeded between two models', async () => {
    full();
    await refused(attacker, 'own/one');
    fake.behave = {};
    await went(victim, 'own/two');
    full();
    await refused(attacker, 'own/three');
    assert.deepEqual(await paused(), ['three short']);
  });

  test('for the whole account, as it says itself, is paused as a whole', async () => {
    full(40_000, { account_wide: true });
    await refused(attacker, 'own/one');
    assert.deepEqual(await paused(), ['all short', 'one short']);
  });

  test('for one model, starts nothing of this model, and other models go on', async () => {
    fake.concurrency = 1;
    try {
      const ids: string[] = [];
      for (const model of ['own/one', 'own/one', 'own/two'])
        ids.push(await submitted(attacker, { prompt: 'x' }, model));
      fake.behave.start = (job) =>
        job.model === 'one'
          ? { outcome: 'not_accepted', message: '429', retry_after_ms: 40_000 }
          : accept(fake, job);
      await service.work();
      const rows = await Promise.all(ids.map((id) => rowOf(service, id)));
      assert.deepEqual(
        rows.map(({ status }) => status),
        ['IN_PROGRESS', 'IN_QUEUE', 'COMPLETED'],
      );
      assert.deepEqual(
        ids.map((id) => fake.starts.filter(({ request_id }) => request_id === id).length),
        [1, 0, 1],
      );
    } finally {
      fake.concurrency = 1_000;
    }
  });
});

describe('a key that the upstream refuses, or an empty account there', () => {
  for (const why of ['credential', 'account'] as const) {
    test(`${why}: pauses the whole upstream at the first answer, for every account`, async () => {
      fake.behave.start = () => ({ outcome: 'not_accepted', why, message: 'no' });
      await submitted(attacker, { prompt: 'x' }, 'own/one');
      await service.work();
      assert.deepEqual(await resting(), [{ name: 'fake', model: '' }]);
      await until('nobody may call it', async () => {
        const reply = await victim.post('/v1/queue/own/two', { prompt: 'x' });
        return reply.status === 503;
      });
    });
  }
});
