import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { inLong } from '../../../../server/test/kit/long.ts';
import { until } from '../../../../server/test/kit/until.ts';
import { openScene, startAgent, type Scene } from './mcp-kit.ts';

/** An agent never spends more than its user allowed, however it calls. */

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.stop());

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

test('ten calls at once spend up to the limit, and not a millionth more', async () => {
  await scene.withAgent(['--max-usd', '0.055'], async (agent) => {
    const calls = Array.from({ length: 10 }, () =>
      agent.client.callTool({ name: 'generate', arguments: { ...cat, wait_seconds: 0 } }),
    );
    const replies = (await Promise.all(calls)) as any[];
    const refused = replies.filter(({ isError }) => isError);
    assert.equal(refused.length, 5);
    for (const { content } of refused) {
      const { error } = JSON.parse(content[0].text);
      assert.equal(error.code, 'session_limit_reached');
      assert.match(error.message, /\$0\.005 is left of the \$0\.055.*--max-usd/);
      assert.equal(error.details.left_usd_micro, '5000');
    }
    assert.equal((await scene.submits()).length, 5);
    assert.equal((await scene.service.balance(scene.account)).reserved, 50_000n);

    // The unused part of a reservation may be spent again; the charged part may not.
    let polls = 0;
    scene.service.fake.behave.start = () =>
      polls++ < 2
        ? { outcome: 'rejected', code: 'upstream_rejected', message: 'No.' }
        : { outcome: 'accepted', handle: { key: 'k' }, poll_after_ms: 0 };
    await scene.service.work();
    await scene.service.wakeAll();
    await scene.service.work();
    scene.service.fake.behave = {};
    const again = [];
    for (let i = 0; i < 3; i++) {
      again.push(
        (await agent.client.callTool({
          name: 'generate',
          arguments: { ...cat, wait_seconds: 0 },
        })) as any,
      );
    }
    assert.deepEqual(
      again.map(({ isError }) => isError === true),
      [false, false, true],
    );
    assert.equal((await scene.submits()).length, 7);
  });
});

test('an empty balance gets its own error, and its price no longer counts', async () => {
  const poor = await scene.service.account({ usd: 0.01 });
  const agent = await startAgent(scene.service, poor, ['--max-usd', '0.02']);
  await agent.use('generate', { ...cat, wait_seconds: 0 });
  const refusal = await agent.refused('generate', { ...cat, wait_seconds: 0 });
  assert.equal(refusal.code, 'insufficient_balance');
  assert.equal(refusal.details.available_usd_micro, '0');
  const { fields } = await agent.use('get_balance');
  assert.equal(fields.session.spent_usd, '$0.01');
  await agent.close();
});

describe('a call that is cancelled', () => {
  test('cancels what still queues, and nothing is charged', async () => {
    await scene.withAgent([], async (agent) => {
      const stop = new AbortController();
      const call = agent.use('generate', cat, { signal: stop.signal });
      await until('it is submitted', async () => (await scene.submits()).length === 1);
      stop.abort();
      await assert.rejects(call);
      const [note] = await until('it is told', () => agent.told.length > 0 && agent.told);
      const [{ request_id, status }] = (await scene.submits()) as [
        { request_id: string; status: string },
      ];
      assert.equal(status, 'CANCELLED');
      assert.equal(note!.level, 'info');
      assert.match(String(note!.data), new RegExp(`${request_id} was cancelled`));
      assert.equal((await scene.service.balance(scene.account)).reserved, 0n);
      const { fields } = await agent.use('get_balance');
      assert.equal(fields.session.spent_usd, '$0.00');
    });
  });

  test('names the id of a running request, which still counts', async () => {
    await scene.withAgent([], async (agent) => {
      scene.service.fake.behave.poll = () => ({ state: 'running', poll_after_ms: 60_000 });
      const stop = new AbortController();
      let running = false;
      const call = agent.use('generate', cat, {
        signal: stop.signal,
        onprogress: ({ message }) => (running ||= message === 'IN_PROGRESS'),
      });
      await until('it is submitted', async () => (await scene.submits()).length === 1);
      await scene.service.work();
      await until('it is seen running', () => running);
      stop.abort();
      await assert.rejects(call);
      const [note] = await until('it is told', () => agent.told.length > 0 && agent.told);
      const [{ request_id, status }] = (await scene.submits()) as [
        { request_id: string; status: string },
      ];
      assert.equal(status, 'IN_PROGRESS');
      assert.equal(note!.level, 'warning');
      assert.match(String(note!.data), new RegExp(`${request_id} could no longer be cancelled`));
      assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.01');

      const refusal = await agent.refused('cancel_request', { request_id });
      assert.equal(refusal.code, 'not_cancellable');
      scene.service.fake.behave = {};
      await scene.service.wakeAll();
      await scene.service.work();
      const { fields } = await agent.use('get_request', { request_id });
      assert.equal(fields.status, 'COMPLETED');
      assert.equal(fields.session.spent_usd, '$0.01');
    });
  });

  inLong('because the program has gone is cancelled as well', async () => {
    await scene.withAgent([], async (agent) => {
      const call = agent.use('generate', cat).catch(() => {});
      await until('it is submitted', async () => (await scene.submits()).length === 1);
      await agent.close();
      await call;
      await until(
        'it is cancelled',
        async () => (await scene.submits())[0]!.status === 'CANCELLED',
      );
      assert.equal((await scene.service.balance(scene.account)).reserved, 0n);
    });
  });

  inLong(
    'by its id costs nothing while it is in the queue, also when cancelled twice',
    async () => {
      await scene.withAgent(['--max-usd', '0.01'], async (agent) => {
        const { fields } = await agent.use('generate', { ...cat, wait_seconds: 0 });
        const { request_id } = fields;
        for (let i = 0; i < 2; i++) {
          const { fields: gone } = await agent.use('cancel_request', { request_id });
          assert.equal(gone.status, 'CANCELLED');
          assert.equal(gone.charged_usd, '$0.00');
        }
        // The limit has room again.
        await agent.use('generate', { ...cat, wait_seconds: 0 });
      });
    },
  );
});
