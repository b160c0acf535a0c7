import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { openScene, type Agent, type Scene } from './mcp-kit.ts';

/** Questions to the person who pays, if the agent's program can ask. */

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.stop());

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

describe('a person who can be asked', () => {
  test('is asked with the price and the rest of the limit; yes runs the job, no ends the call', async () => {
    const work = async (agent: Agent) => {
      const blind = { ...cat, max_usd: undefined, wait_seconds: 0 };
      await agent.use('generate', blind);
      assert.deepEqual(agent.asked, [
        'fake/image costs at most $0.01. After that, $0.99 of $1.00 will be left. Spend it?',
      ]);
      for (const action of ['decline', 'cancel'] as const) {
        agent.answers(action);
        assert.equal((await agent.refused('generate', cat)).code, 'declined');
      }
      assert.equal(agent.asked.length, 3);
      assert.equal((await scene.submits()).length, 1);
      assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.01');
    };
    await scene.withAgent([], work, { answer: 'accept' });
  });

  test('cannot allow more than the limit, and is not asked above it', async () => {
    const work = async (agent: Agent) => {
      assert.equal((await agent.refused('generate', cat)).code, 'session_limit_reached');
      assert.deepEqual(agent.asked, []);
    };
    await scene.withAgent(['--max-usd', '0.009'], work, { answer: 'accept' });
  });

  test('is not asked with --yes, and then the agent has to name the price', async () => {
    const work = async (agent: Agent) => {
      const blind = { ...cat, max_usd: undefined };
      assert.equal((await agent.refused('generate', blind)).code, 'price_not_agreed');
      await agent.use('generate', { ...cat, wait_seconds: 0 });
      assert.deepEqual(agent.asked, []);
    };
    await scene.withAgent(['--yes'], work, { answer: 'accept' });
  });
});
