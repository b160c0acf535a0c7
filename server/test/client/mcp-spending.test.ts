import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { startAgent, type Agent } from './mcp-kit.ts';

/** What an agent may spend: never more than its user allowed, however it calls. */

let service: Service;
let account: TestAccount;
before(async () => {
  // Nothing runs until a test says so.
  service = await startService();
});
after(async () => {
  await service.audit();
  await service.stop();
});

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

async function withAgent(
  options: Parameters<typeof startAgent>[2],
  work: (agent: Agent) => Promise<void>,
  person: Parameters<typeof startAgent>[3] = {},
): Promise<void> {
  account = await service.account();
  const agent = await startAgent(service, account, options, person);
  try {
    await work(agent);
    assert.deepEqual(agent.strayed, []);
  } finally {
    await agent.close();
  }
}

function submits(): Promise<{ request_id: string; status: string }[]> {
  return service
    .call('GET', '/v1/requests?limit=100', { key: account.key })
    .then(({ body }) => body.data);
}

test('ten calls at once spend what was allowed, and not a millionth more', async () => {
  await withAgent({ maxUsd: '0.055' }, async (agent) => {
    const calls = Array.from({ length: 10 }, () =>
      agent.client.callTool({ name: 'generate', arguments: { ...cat, wait_seconds: 0 } }),
    );
    const replies = (await Promise.all(calls)) as any[];
    const refused = replies.filter(({ isError }) => isError);
    assert.equal(refused.length, 5);
    for (const { content } of refused) {
      const { error } = JSON.parse(content[0].text);
      assert.equal(error.code, 'session_limit_reached');
      assert.match(error.message, /\$0\.005 of the \$0\.055.*--max-usd/);
      assert.equal(error.details.left_usd_micro, '5000');
    }
    assert.equal((await submits()).length, 5);
    assert.equal((await service.balance(account)).reserved, 50_000n);

    // What did not cost what was reserved may be spent again; what was charged may not.
    let polls = 0;
    service.fake.behave.start = () =>
      polls++ < 2
        ? { outcome: 'rejected', code: 'upstream_rejected', message: 'No.' }
        : { outcome: 'accepted', handle: { key: 'k' }, poll_after_ms: 0 };
    await service.work();
    await service.wakeAll();
    await service.work();
    service.fake.behave = {};
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
    assert.equal((await submits()).length, 7);
  });
});

test('the account running dry is told as such, and frees what was taken aside', async () => {
  await withAgent({ maxUsd: '1' }, async (agent) => {
    const poor = await service.account({ usd: 0.01 });
    const two = await startAgent(service, poor, { maxUsd: '0.02' });
    await two.use('generate', { ...cat, wait_seconds: 0 });
    const refusal = await two.refused('generate', { ...cat, wait_seconds: 0 });
    assert.equal(refusal.code, 'insufficient_balance');
    assert.equal(refusal.details.available_usd_micro, '0');
    const { fields } = await two.use('get_balance');
    assert.equal(fields.session.spent_usd, '$0.01');
    await two.close();
    assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.00');
  });
});

describe('a call that is cancelled', () => {
  test('cancels what still queues, and nothing is charged', async () => {
    await withAgent({}, async (agent) => {
      const stop = new AbortController();
      const call = agent.use('generate', cat, { signal: stop.signal });
      await until('it is submitted', async () => (await submits()).length === 1);
      stop.abort();
      await assert.rejects(call);
      const [note] = await until('it is told', () => agent.told.length > 0 && agent.told);
      const [{ request_id, status }] = (await submits()) as [{ request_id: string; status: string }];
      assert.equal(status, 'CANCELLED');
      assert.equal(note!.level, 'info');
      assert.match(String(note!.data), new RegExp(`${request_id} was cancelled`));
      assert.equal((await service.balance(account)).reserved, 0n);
      const { fields } = await agent.use('get_balance');
      assert.equal(fields.session.spent_usd, '$0.00');
    });
  });

  test('tells the id of what runs already, and goes on counting it', async () => {
    await withAgent({}, async (agent) => {
      service.fake.behave.poll = () => ({ state: 'running', poll_after_ms: 60_000 });
      const stop = new AbortController();
      let running = false;
      const call = agent.use('generate', cat, {
        signal: stop.signal,
        onprogress: ({ message }) => (running ||= message === 'IN_PROGRESS'),
      });
      await until('it is submitted', async () => (await submits()).length === 1);
      await service.work();
      await until('it is seen running', () => running);
      stop.abort();
      await assert.rejects(call);
      const [note] = await until('it is told', () => agent.told.length > 0 && agent.told);
      const [{ request_id, status }] = (await submits()) as [{ request_id: string; status: string }];
      assert.equal(status, 'IN_PROGRESS');
      assert.equal(note!.level, 'warning');
      assert.match(String(note!.data), new RegExp(`${request_id} could not be cancelled`));
      assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.01');

      const refusal = await agent.refused('cancel_request', { request_id });
      assert.equal(refusal.code, 'not_cancellable');
      service.fake.behave = {};
      await service.wakeAll();
      await service.work();
      const { fields } = await agent.use('get_request', { request_id });
      assert.equal(fields.status, 'COMPLETED');
      assert.equal(fields.session.spent_usd, '$0.01');
    });
  });

  test('by its id costs nothing while it queues, and twice is as once', async () => {
    await withAgent({ maxUsd: '0.01' }, async (agent) => {
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
  });
});

describe('a person who can be asked', () => {
  test('is told the price and what is left, and their yes is enough', async () => {
    const work = async (agent: Agent) => {
      await agent.use('generate', { ...cat, max_usd: undefined, wait_seconds: 0 });
      assert.deepEqual(agent.asked, [
        'fake/image costs at most $0.01. After it $0.99 of $1.00 are left. Spend it?',
      ]);
    };
    await withAgent({}, work, { answer: 'accept' });
  });

  test('stops it by a no, or by looking away', async () => {
    for (const answer of ['decline', 'cancel'] as const) {
      const work = async (agent: Agent) => {
        assert.equal((await agent.refused('generate', cat)).code, 'declined');
        assert.equal((await submits()).length, 0);
        assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.00');
      };
      await withAgent({}, work, { answer });
    }
  });

  test('cannot be talked past the limit, and is not asked about what is above it', async () => {
    const work = async (agent: Agent) => {
      assert.equal((await agent.refused('generate', cat)).code, 'session_limit_reached');
      assert.deepEqual(agent.asked, []);
    };
    await withAgent({ maxUsd: '0.009' }, work, { answer: 'accept' });
  });

  test('is left alone where they said so, and then the agent has to know the price', async () => {
    const work = async (agent: Agent) => {
      const blind = { ...cat, max_usd: undefined };
      assert.equal((await agent.refused('generate', blind)).code, 'price_not_agreed');
      await agent.use('generate', { ...cat, wait_seconds: 0 });
      assert.deepEqual(agent.asked, []);
    };
    await withAgent({ yes: true }, work, { answer: 'accept' });
  });
});
