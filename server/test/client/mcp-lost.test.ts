import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { startFaulty } from '../kit/faulty.ts';
import { openScene, startAgent, type Scene } from './mcp-kit.ts';

/** Money that may have been spent, though nobody heard of it. */

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.stop());

const cat = { model_id: 'fake/image', input: { prompt: 'a cat' }, max_usd: 0.01 };

test('a submit whose answer is lost is made once, and the agent is told to look for it', async (t) => {
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
