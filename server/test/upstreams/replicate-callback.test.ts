import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createReplicate } from '../../src/upstreams/replicate/replicate.ts';
import { CallbackRefused, type Upstream } from '../../src/upstreams/upstream.ts';
import { signed } from './fakes/replicate.ts';
import { jobOf, openStand, type Stand } from './replicate-kit.ts';
import { handleOf, signal } from './job-kit.ts';

/** Calls that come in at a job's callback address. */

let stand: Stand;
/** The upstream without a secret from the operator: it asks Replicate. */
let asking: Upstream;
before(async () => void (stand = await openStand()));
after(() => stand.close());
beforeEach(() => {
  stand.clock.now = Date.now();
  stand.fake.calls.length = 0;
  asking = createReplicate({ ...stand.settings, secret: null }, stand.tools);
});

const secretCalls = () =>
  stand.fake.calls.filter(({ path }) => path === '/v1/webhooks/default/secret').length;

async function startedCall(at = new Date(stand.clock.now)) {
  const callback_url = 'http://box.example/callbacks/1';
  const handle = handleOf(await stand.upstream.start(jobOf({ callback_url })));
  const { headers, body } = stand.fake.callback(String(handle.id), at)!;
  return {
    handle,
    call: { headers, body: Buffer.from(body), model: 'maker/pictures', signal: signal },
  };
}

const refused = (promise: Promise<unknown>, said: RegExp) =>
  assert.rejects(promise, (error: Error) => {
    assert.ok(error instanceof CallbackRefused, String(error));
    assert.match(error.message, said);
    return true;
  });

describe('with the secret of the operator', () => {
  test('a good call names its job, and does so again when it comes twice', async () => {
    const { handle, call } = await startedCall();
    assert.deepEqual(await stand.upstream.callback!(call), handle);
    assert.deepEqual(await stand.upstream.callback!(call), handle);
    assert.equal(secretCalls(), 0);
  });

  test('a changed body, another signature and a foreign version are refused', async () => {
    const { call } = await startedCall();
    const body = Buffer.from(call.body.toString().replace('"succeeded"', '"failed"'));
    await refused(stand.upstream.callback!({ ...call, body }), /signature/);
    const id = { ...call.headers, 'webhook-id': 'msg_other' };
    await refused(stand.upstream.callback!({ ...call, headers: id }), /signature/);
    const good = call.headers['webhook-signature']!.split(',').at(-1);
    for (const text of ['', 'v1', 'v1,', `v2,${good}`, `v1,${good}AAAA`, 'v1,AAAA']) {
      const headers = { ...call.headers, 'webhook-signature': text };
      await refused(stand.upstream.callback!({ ...call, headers }), /sign/);
    }
  });

  test('a call of another time is refused, in both directions', async () => {
    for (const seconds of [-301, 301]) {
      const { call } = await startedCall(new Date(stand.clock.now + seconds * 1000));
      await refused(stand.upstream.callback!(call), /time/);
    }
    const { call } = await startedCall(new Date(stand.clock.now - 290_000));
    assert.notEqual(await stand.upstream.callback!(call), null);
  });

  test('a call without the headers is refused', async () => {
    const { call } = await startedCall();
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const headers = { ...call.headers };
      delete headers[name];
      await refused(stand.upstream.callback!({ ...call, headers }), /not signed|time/);
    }
  });

  test('a signed call that names no job names none', async () => {
    for (const body of ['{}', 'null', 'x', '{"id":"../x","status":"succeeded"}']) {
      const headers = signed(body, new Date(stand.clock.now));
      const call = { headers, body: Buffer.from(body), model: 'maker/pictures', signal: signal };
      assert.equal(await stand.upstream.callback!(call), null, body);
    }
  });

  test('a secret that signs nothing is refused before anything is served', () => {
    for (const secret of ['', 'whsec_', 'hello', 'whsec_AAAA'])
      assert.throws(() => createReplicate({ ...stand.settings, secret }, stand.tools), /whsec_/);
  });
});

describe('without it', () => {
  test('the secret is asked for once and kept', async () => {
    for (let i = 0; i < 3; i++) {
      const { handle, call } = await startedCall();
      assert.deepEqual(await asking.callback!(call), handle);
    }
    assert.equal(secretCalls(), 1);
  });

  test('calls at the same time share one question', async () => {
    const { handle, call } = await startedCall();
    const all = await Promise.all([1, 2, 3].map(() => asking.callback!(call)));
    assert.deepEqual(all, [handle, handle, handle]);
    assert.equal(secretCalls(), 1);
  });

  test('wrong signatures do not make it ask more than once a minute', async () => {
    const { call } = await startedCall();
    const body = Buffer.from('{}');
    for (let i = 0; i < 5; i++) await refused(asking.callback!({ ...call, body }), /signature/);
    assert.equal(secretCalls(), 1);
    stand.clock.now += 61_000;
    await refused(asking.callback!({ ...call, body }), /signature/);
    assert.equal(secretCalls(), 2);
  });

  test('if it cannot be fetched, the call is neither accepted nor refused', async () => {
    const settings = { ...stand.settings, secret: null, key: 'wrong' };
    const upstream = createReplicate(settings, stand.tools);
    const { call } = await startedCall();
    await assert.rejects(upstream.callback!(call), (error: Error) => {
      assert.equal(error instanceof CallbackRefused, false);
      assert.match(error.message, /was answered with 401/);
      return true;
    });
  });

  test('an unsigned or old call fetches nothing', async () => {
    const { call } = await startedCall(new Date(stand.clock.now - 900_000));
    await refused(asking.callback!(call), /time/);
    await refused(asking.callback!({ ...call, headers: {} }), /not signed/);
    assert.equal(secretCalls(), 0);
  });
});
