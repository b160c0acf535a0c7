import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFal } from '../../src/upstreams/fal/fal.ts';
import { CallbackRefused } from '../../src/upstreams/upstream.ts';
import { serve } from './fakes/kit.ts';
import { jobFor, open, started, type World } from './fal-kit.ts';
import { signal } from './job-kit.ts';

const callback_url = 'https://gateway.test/v1/hooks/1';
const model = 'fal-ai/flux/dev';

async function calledBack({ fake, fal }: World, at?: Date) {
  const { request_id } = await started(fal, { callback_url });
  const { headers, body } = fake.callback(String(request_id), at)!;
  return { headers, body: Buffer.from(body), model, signal };
}

const keyReads = ({ fake }: World) =>
  fake.calls.filter(({ path }) => path === '/.well-known/jwks.json');

test('a call names its job, a second one the same, and the keys are read once', async (t) => {
  const world = await open(t);
  const call = await calledBack(world);
  const handle = { request_id: world.fake.journal[0]!.id, model };
  assert.deepEqual(await world.fal.callback!(call), handle);
  assert.deepEqual(await world.fal.callback!(call), handle);
  assert.equal(keyReads(world).length, 1);
  assert.equal(keyReads(world)[0]!.headers.authorization, undefined);
});

test('a job whose submit was lost is found by its callback and goes on', async (t) => {
  const world = await open(t);
  const { fake, fal } = world;
  fake.play('submit-lost');
  const outcome = await fal.start(jobFor({ prompt: 'x' }, { callback_url }));
  assert.equal(outcome.outcome, 'unknown');
  fake.play('poll-at-once-done');
  const { headers, body } = fake.callback(fake.journal[0]!.id)!;
  const handle = await fal.callback!({ headers, body: Buffer.from(body), model, signal });
  assert.equal((await fal.poll(handle!, signal)).state, 'done');
  assert.equal(fake.journal.length, 1);
});

test('without the model there is no handle, but the call is verified', async (t) => {
  const world = await open(t);
  const call = await calledBack(world);
  assert.equal(await world.fal.callback!({ ...call, model: '' }), null);
});

const forged: [string, (call: Awaited<ReturnType<typeof calledBack>>) => object][] = [
  ['another body', ({ body }) => ({ body: Buffer.concat([body, Buffer.from(' ')]) })],
  ['no headers', () => ({ headers: {} })],
  [
    'another time',
    ({ headers }) => {
      const name = 'x-fal-webhook-timestamp';
      return { headers: { ...headers, [name]: String(Number(headers[name]) + 5) } };
    },
  ],
  ...(
    [
      ['x-fal-webhook-signature', 'ab'.repeat(64)],
      ['x-fal-webhook-signature', 'zz'.repeat(64)],
      ['x-fal-webhook-signature', ''],
      ['x-fal-webhook-timestamp', 'now'],
      ['x-fal-webhook-request-id', 'another'],
      ['x-fal-webhook-user-id', 'another'],
    ] as const
  ).map(([name, value]): [string, (call: { headers: object }) => object] => [
    `${name}: ${value.slice(0, 12)}`,
    ({ headers }) => ({ headers: { ...headers, [name]: value } }),
  ]),
];
for (const [name, change] of forged) {
  test(`a call with ${name} is refused`, async (t) => {
    const world = await open(t);
    const call = await calledBack(world);
    await assert.rejects(world.fal.callback!({ ...call, ...change(call) }), CallbackRefused);
  });
}

for (const seconds of [-301, 302]) {
  test(`a call of ${seconds} s is refused before any key is read`, async (t) => {
    const world = await open(t);
    const call = await calledBack(world, new Date(Date.now() + seconds * 1000));
    await assert.rejects(world.fal.callback!(call), CallbackRefused);
    assert.equal(keyReads(world).length, 0);
  });
}

test('a new key is fetched, but not for each bad call', async (t) => {
  const world = await open(t);
  const { fake, fal, later } = world;
  assert.notEqual(await fal.callback!(await calledBack(world)), null);
  fake.rotate();
  const fresh = await calledBack(world);
  await assert.rejects(fal.callback!(fresh), CallbackRefused);
  assert.equal(keyReads(world).length, 1);
  later(299_000);
  await assert.rejects(fal.callback!(await calledBack(world, new Date())), CallbackRefused);
  assert.equal(keyReads(world).length, 1);
  later(2_000);
  const now = new Date(world.tools.now());
  assert.notEqual(await fal.callback!(await calledBack(world, now)), null);
  assert.equal(keyReads(world).length, 2);
});

test('keys are kept a day at most', async (t) => {
  const world = await open(t);
  await world.fal.callback!(await calledBack(world));
  world.later(86_400_001);
  await world.fal.callback!(await calledBack(world, new Date(world.tools.now())));
  assert.equal(keyReads(world).length, 2);
});

const lists: [string, object][] = [
  ['an error', { status: 503 }],
  ['no list', { json: { keys: 'none' } }],
  ['keys of another kind', { json: { keys: [null, { kty: 'RSA' }] } }],
  ['a bad key', { json: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '!' }] } }],
  ['more than is read', { body: `{"keys":[],"x":"${'x'.repeat(70_000)}"}` }],
];
for (const [name, reply] of lists) {
  test(`where the keys are ${name}, the call may come again`, async (t) => {
    const world = await open(t);
    const server = await serve(() => reply);
    t.after(() => server.close());
    const options = { ...world.settings.options, jwks_url: server.url };
    const fal = createFal({ ...world.settings, options }, world.tools);
    const refused = fal.callback!(await calledBack(world));
    await assert.rejects(refused, (error: Error) => !(error instanceof CallbackRefused));
  });
}
