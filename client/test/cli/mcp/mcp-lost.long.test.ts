import { after, before, describe, test, type TestContext } from 'node:test';
import assert from 'node:assert/strict';
import { refused, startFaulty, type Call, type Fault } from '../../../../server/test/kit/faulty.ts';
import { inShort, inLong } from '../../../../server/test/kit/long.ts';
import { openScene, startAgent, type Agent, type Scene } from './mcp-kit.ts';

/** Money that may have been spent although the reply was lost. */

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.stop());

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

test('a submit whose answer is lost is one job, and the error says how to find it', async (t) => {
  const proxy = await startFaulty(scene.service.base);
  t.after(() => proxy.stop());
  const account = await scene.service.account();
  const agent = await startAgent({ ...scene.service, base: proxy.base }, account);
  const isSubmit = ({ path }: { path: string }) => path.startsWith('/v1/queue/');
  const submits = () => proxy.calls.filter(isSubmit);
  proxy.spoil = (call) => (isSubmit(call) && submits().length === 1 ? { cutAt: 0 } : undefined);
  await agent.use('generate', { ...cat, wait_seconds: 0 });
  assert.equal(submits().length, 2);
  assert.equal((await scene.service.balance(account)).reserved, 10_000n);

  proxy.spoil = (call) => (isSubmit(call) ? { cutAt: 0 } : undefined);
  const refusal = await agent.refused('generate', cat);
  assert.equal(refusal.code, 'connection_error');
  assert.match(refusal.message, /may have been accepted.*list_requests.*\$0\.01/);
  assert.equal((await scene.service.balance(account)).reserved, 20_000n);
  assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.02');
  await agent.close();
});

describe('a repeat that is refused after a lost answer', () => {
  const later = { 'x-should-retry': 'false' };
  const ways = [
    ['429', refused(429, 'rate_limited', later)],
    ['503', refused(503, 'capacity_unavailable', later)],
    ['401', refused(401, 'unauthorized')],
    ["a proxy's page", { status: 200, body: '<html>Sign in</html>' }],
  ] as const;

  /** An agent whose spending calls are accepted and lost, and whose repeats are refused. */
  async function refusing(t: TestContext, part: string, fault: Fault, limit: string) {
    const proxy = await startFaulty(scene.service.base);
    t.after(() => proxy.stop());
    const account = await scene.service.account();
    const agent: Agent = await startAgent({ ...scene.service, base: proxy.base }, account, [
      '--max-usd',
      limit,
    ]);
    t.after(() => agent.close());
    const met = new Set<unknown>();
    proxy.spoil = ({ path, headers }: Call) => {
      if (!path.includes(part)) return undefined;
      const key = headers['idempotency-key'];
      if (met.has(key)) return fault;
      met.add(key);
      return { cutAt: 0 };
    };
    return { agent, account, submits: () => met.size };
  }

  for (const [how, fault] of inShort(1, ways)) {
    test(`(${how}) of a submit keeps its price aside, and the limit holds`, async (t) => {
      const { agent, account, submits } = await refusing(t, '/queue/', fault, '0.025');
      for (let i = 0; i < 2; i++) {
        const { message } = await agent.refused('generate', cat);
        assert.match(message, /may have been accepted.*list_requests.*\$0\.01/);
      }
      assert.equal((await agent.refused('generate', cat)).code, 'session_limit_reached');
      assert.equal(submits(), 2);
      assert.equal((await scene.service.balance(account)).reserved, 20_000n);
      assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.02');
    });
  }

  inLong('of a chat likewise', async (t) => {
    const { agent } = await refusing(t, '/chat/', ways[0][1], '1');
    const hi = { model_id: 'fake/chat', messages: [{ role: 'user', content: 'hi' }], max_usd: 1 };
    assert.match((await agent.refused('chat', hi)).message, /may have been accepted/);
    const { spent_usd } = (await agent.use('get_balance')).fields.session;
    assert.notEqual(spent_usd, '$0.00');
  });
});

inLong('a refusal of the first try counts nothing against the limit', async (t) => {
  const proxy = await startFaulty(scene.service.base);
  t.after(() => proxy.stop());
  const account = await scene.service.account();
  const agent = await startAgent({ ...scene.service, base: proxy.base }, account);
  t.after(() => agent.close());
  proxy.meet('/queue/', refused(429, 'rate_limited', { 'x-should-retry': 'false' }));
  const refusal = await agent.refused('generate', cat);
  assert.equal(refusal.code, 'rate_limited');
  assert.doesNotMatch(refusal.message, /accepted/);
  assert.equal((await agent.use('get_balance')).fields.session.spent_usd, '$0.00');
  assert.equal((await scene.service.balance(account)).reserved, 0n);
});
