import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../src/lib/sql.ts';
import { accept, type Fake } from '../kit/fake.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { wellAgain } from '../kit/well.ts';
import { rounds, rowOf, submitted } from './floor.ts';

/** When failures of one account are taken for the upstream's: as long as nobody is served there. */

const row = (id: string) => `
  - id: own/${id}
    kind: image
    task: text-to-image
    name: An image
    price: { unit: image, usd: "0.01" }
    max: 4
    upstreams: [{ upstream: fake, model: ${id} }]
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a dog }
`;
const chat = `
  - id: own/chat
    kind: text
    task: chat
    name: A chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    context_tokens: 100000
    max_output_tokens: 8192
    upstreams: [{ upstream: fake, model: chat }]
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;
const catalog = `owned_by: test\nmodels:${row('one')}${row('two')}${row('three')}${chat}`;

let service: Service;
let fake: Fake;
let attacker: TestAccount;
let victim: TestAccount;
before(async () => {
  service = await startService({ catalog });
  ({ fake } = service);
});
after(async () => {
  await service.audit();
  await service.stop();
});
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
  for (let i = 0; i < count; i++) await submitted(service, who, { prompt: 'bad' }, model);
  await service.work();
};
const went = async (who: TestAccount, model: string) => {
  const id = await submitted(service, who, { prompt: 'good' }, model);
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
  test("are forgotten once another's model of the upstream went well", async () => {
    await failed(attacker, 'own/one', 6);
    await went(victim, 'own/two');
    await failed(victim, 'own/three', 1);
    assert.deepEqual(await resting(), [], 'one failure of another made it rest');
    await went(victim, 'own/two');
    await failed(attacker, 'own/one', 6);
    assert.deepEqual(await resting(), [], 'and from then on the word of one account counted');
    await went(victim, 'own/two');
  });

  test('count with those of another that nothing went well between', async () => {
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
    for (const why of ['credential', 'model'] as const) {
      fake.behave.chat = () => ({ outcome: 'not_accepted', why, message: 'no' });
      assert.equal((await talked(service.base, attacker)).status, 503);
    }
    assert.deepEqual(await resting(), []);
    assert.equal((await talked(second.base, victim)).status, 503, 'it was asked, as it rests not');
  });

  test('leave calls that go well without a write', async () => {
    await went(victim, 'own/two');
    const stamps = () => service.db.run(rawSql('select name, model, xmin::text from upstreams'));
    const before = await stamps();
    fake.behave = {};
    for (let i = 0; i < 5; i++) assert.equal((await talked(service.base, victim)).status, 200);
    assert.deepEqual(await stamps(), before);
  });
});
