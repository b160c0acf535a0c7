import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { openScene, type Agent, type Scene } from './mcp-kit.ts';

/** The person whose money it is, where the agent's program can ask them. */

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.stop());

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

describe('a person who can be asked', () => {
  test('is told the price and what is left, and their yes is enough', async () => {
    const work = async (agent: Agent) => {
      await agent.use('generate', { ...cat, max_usd: undefined, wait_seconds: 0 });
      assert.deepEqual(agent.asked, [
        'fake/image costs at most $0.01. After it $0.99 of $1.00 are left. Spend it?',
      ]);
    };
    await scene.withAgent([], work, { answer: 'accept' });
  });

  test('stops it by a no, or by looking away', async () => {
    for (const answer of ['decline', 'cancel'] as const) {
      const work = async (agent: Agent) => {
        assert.equal((await agent.refused('generate', cat)).code, 'declined');
        assert.equal((await scene.submits()).length, 0);
        assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.00');
      };
      await scene.withAgent([], work, { answer });
    }
  });

  test('cannot be talked past the limit, and is not asked about what is above it', async () => {
    const work = async (agent: Agent) => {
      assert.equal((await agent.refused('generate', cat)).code, 'session_limit_reached');
      assert.deepEqual(agent.asked, []);
    };
    await scene.withAgent(['--max-usd', '0.009'], work, { answer: 'accept' });
  });

  test('is left alone where they said so, and then the agent has to know the price', async () => {
    const work = async (agent: Agent) => {
      const blind = { ...cat, max_usd: undefined };
      assert.equal((await agent.refused('generate', blind)).code, 'price_not_agreed');
      await agent.use('generate', { ...cat, wait_seconds: 0 });
      assert.deepEqual(agent.asked, []);
    };
    await scene.withAgent(['--yes'], work, { answer: 'accept' });
  });
});
