/** `farebox top`: one state, and the frames of a screen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../src/commands/program.ts';
import { withService } from '../kit/with-service.ts';

const { service, submit } = withService();

async function run(args: string[], onFrame?: (text: string) => void) {
  const left = new AbortController();
  const frames: string[] = [];
  const code = await runCommand(['top', ...args], {
    env: { FAREBOX_WEB: 'off' },
    db: service.db,
    out(text) {
      frames.push(text);
      if (!text.startsWith('\u001B')) return;
      onFrame?.(text);
      left.abort();
    },
    err: assert.fail,
    ...(onFrame && { screen: () => left.signal }),
  });
  assert.equal(code, 0);
  return frames;
}

test('a state has the queue, the running jobs, and the money of the hour', async () => {
  await submit({ prompt: 'a cat' });
  await service.work();
  await submit({ prompt: 'a dog' });
  const [json, ...more] = await run(['--json']);
  assert.deepEqual(more, []);
  const { upstreams, ...rest } = JSON.parse(json!);
  const [{ oldest_seconds, ...fake }, ...others] = upstreams;
  assert.deepEqual(others, []);
  assert.ok(oldest_seconds >= 0);
  assert.deepEqual(fake, {
    upstream: 'fake',
    waiting: 1,
    running: 0,
    paused_seconds: 0,
    completed: 1,
    failed: 0,
    charged_usd_micro: '10000',
    cost_usd_micro: '4000',
  });
  assert.deepEqual(Object.keys(rest), ['since', 'processes', 'books_ok']);
  assert.match(rest.since, /:00:00\.000Z$/);
  assert.equal(rest.books_ok, null);
});

test('without a screen the state is plain text, and the command ends', async () => {
  const frames = await run([]);
  assert.equal(frames.length, 1);
  assert.match(
    frames[0]!,
    /^waiting 1, running 0\nsince \d\d:00 UTC 1 ended, charged 0\.01 USD, cost 0\.004 USD$/m,
  );
  assert.match(frames[0]!, /^fake +1 +\S.* 1 +0 +0\.01 +0\.004$/m);
  assert.ok(!frames[0]!.includes('\u001B'));
  assert.doesNotMatch(frames[0]!, /undefined|NaN|a second/);
});

test('a screen is drawn again until its person leaves; --once draws none', async () => {
  let drawn = '';
  const frames = await run([], (text) => (drawn = text));
  assert.ok(drawn.startsWith('\u001B[H\u001B[J'), drawn);
  assert.match(drawn, /^fake +1 /m);
  // The last state stays below, with the rate since the frame before.
  assert.equal(frames.length, 2);
  assert.match(frames[1]!, /ended \(0\.0 a second\)/);
  assert.equal((await run(['--once'], assert.fail)).length, 1);
});
