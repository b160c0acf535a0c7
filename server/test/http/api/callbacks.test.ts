import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { signCallback } from '../../../src/core/request/signature.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { CallbackRefused, type Callback } from '../../../src/upstreams/upstream.ts';
import { accept } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Reply } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { card, gate, moneyOf, rowOf, submitted, wake } from '../../worker/floor.ts';

/** Callbacks from upstreams make the next poll due, and do nothing else. */

const secret = Buffer.from('a secret of at least thirty-two characters');
const base = 'https://callers.example.com/v1';
/** The callbacks that the fake received. */
let heard: Callback[];
const { service, account } = withService({
  env: { FAREBOX_BASE_URL: base },
  account: { open_jobs: 1_000 },
});
beforeEach(() => {
  heard = [];
  Object.assign(service.fake, { behave: {}, class: 'C+' });
  service.fake.behave.poll = () => ({ state: 'running', poll_after_ms: 60_000 });
  service.fake.callback = async (call) => {
    heard.push(call);
    if (call.headers['x-signed'] !== 'well') throw new CallbackRefused('not signed');
    const { key } = JSON.parse(call.body.toString()) as { key?: string };
    return key === undefined ? null : { key };
  };
});

interface CallbackInput {
  attempt?: number;
  upstream?: string;
  sig?: string;
  body?: unknown;
  signed?: string;
}

function callBack(request_id: string, told: CallbackInput = {}): Promise<Reply> {
  const { attempt = 1, upstream = 'fake', body = {}, signed = 'well' } = told;
  const sig = told.sig ?? signCallback(secret, { upstream, request_id, attempt });
  const path = `/v1/callbacks/${upstream}/${request_id}/${attempt}/${sig}`;
  return service.call('POST', path, { body, headers: { 'x-signed': signed } });
}

/** A running job whose next poll is due in a minute. */
async function running(): Promise<string> {
  const id = await submitted(account);
  await service.work();
  await wake(service, id);
  await service.work();
  const { wakes_in } = await rowOf(service, id);
  assert.ok(wakes_in! > 50, String(wakes_in));
  return id;
}

test('an upstream that can call back gets an address that names the attempt', async () => {
  let url: string | null = null;
  service.fake.behave.start = (job, self) => {
    url = job.callback_url;
    return accept(self, job);
  };
  const request_id = await submitted(account);
  await service.work();
  const sig = signCallback(secret, { upstream: 'fake', request_id, attempt: 1 });
  assert.equal(url, `${base}/callbacks/fake/${request_id}/1/${sig}`);
});

describe('a callback', () => {
  test('makes the next poll due at once; the poll decides, not the callback', async () => {
    const id = await running();
    const told = { status: 'COMPLETED', price: '999' };
    assert.equal((await callBack(id, { body: told })).status, 200);
    assert.ok((await rowOf(service, id)).wakes_in! <= 0);
    await service.work();
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS', 'it still runs');
    assert.ok((await rowOf(service, id)).wakes_in! > 50);
    delete service.fake.behave.poll;
    await callBack(id);
    await service.work();
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('that comes again and again, or after the end, changes nothing', async () => {
    const id = await running();
    delete service.fake.behave.poll;
    await callBack(id);
    await service.work();
    const before = await traces(service);
    const row = await rowOf(service, id);
    for (let i = 0; i < 3; i++) assert.equal((await callBack(id)).status, 200);
    await service.work();
    assert.deepEqual(await traces(service), before);
    const { wakes_in: _now, ...now } = await rowOf(service, id);
    const { wakes_in: _then, ...then } = row;
    assert.deepEqual(now, then);
  });

  test('that comes before the answer of the start ends no lease, and is not forgotten', async () => {
    const slow = gate();
    service.fake.behave.start = async (job, self) => {
      await slow.pass();
      return { ...accept(self, job), poll_after_ms: 60_000 };
    };
    const id = await submitted(account);
    const first = service.app.worker!.runOnce();
    await slow.reached;
    assert.equal((await callBack(id)).status, 200);
    const leased = await rowOf(service, id);
    assert.ok(leased.wakes_in! > 30, 'its worker keeps it');
    assert.equal(leased.attempt, 1);
    slow.open();
    await first;
    assert.ok((await rowOf(service, id)).wakes_in! <= 0, 'then it is looked at');
    assert.equal(service.fake.starts.filter(({ request_id }) => request_id === id).length, 1);
  });

  test('names the job whose start got no answer: it is polled, and never sent again', async () => {
    service.fake.behave.start = (job, self) => {
      accept(self, job);
      return { outcome: 'unknown', message: 'reset' };
    };
    const id = await submitted(account);
    await service.work();
    delete service.fake.behave.poll;
    await callBack(id, { body: { key: id } });
    await service.work();
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(service.fake.starts.filter(({ request_id }) => request_id === id).length, 1);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('does not change the handle of a job that has one', async () => {
    const id = await running();
    await callBack(id, { body: { key: 'another job' } });
    const [{ handle }] = (await service.db.run(sql`select handle from attempts
      where request_id = ${id}`)) as [{ handle: unknown }];
    assert.deepEqual(handle, { key: id });
  });
});

describe('a callback that is refused', () => {
  const wrong: [what: string, told: CallbackInput, code: 'not_found' | 'unauthorized'][] = [
    ['of an attempt it is not signed for', { attempt: 2, sig: 'same' }, 'not_found'],
    ['with a signature of somebody else', { sig: 'A'.repeat(43) }, 'not_found'],
    ['with a short signature', { sig: 'AAAA' }, 'not_found'],
    ['of an upstream that is not there', { upstream: 'nobody' }, 'not_found'],
    ['that the upstream did not sign', { signed: 'badly' }, 'unauthorized'],
  ];
  for (const [what, told, code] of wrong) {
    test(`${what}: wakes nothing`, async () => {
      const id = await running();
      const own = signCallback(secret, { upstream: 'fake', request_id: id, attempt: 1 });
      const reply = await callBack(id, { ...told, ...(told.sig === 'same' && { sig: own }) });
      assertRefused(reply, code);
      assert.ok((await rowOf(service, id)).wakes_in! > 50);
      assert.equal(heard.length, code === 'unauthorized' ? 1 : 0, 'nobody is asked in vain');
    });
  }

  test('too large: is refused, and read by nobody', async () => {
    const id = await running();
    const sig = signCallback(secret, { upstream: 'fake', request_id: id, attempt: 1 });
    const path = `/v1/callbacks/fake/${id}/1/${sig}`;
    const raw = Buffer.alloc(5 * 1024 * 1024, ' ');
    assertRefused(await service.call('POST', path, { raw }), 'payload_too_large');
    assert.equal(heard.length, 0);
  });
});

describe('the callback address', () => {
  for (const [where, env] of [
    ['the operator gave no address', {}],
    ['it is not https', { FAREBOX_BASE_URL: 'http://callers.example.com/v1' }],
    ['it is of the own network', { FAREBOX_BASE_URL: 'https://10.1.2.3/v1' }],
  ] as const) {
    test(`is not sent where ${where}`, async () => {
      const alone = await startService({ env });
      try {
        let url: string | null | undefined;
        alone.fake.callback = async () => null;
        alone.fake.behave.start = (job, self) => {
          url = job.callback_url;
          return accept(self, job);
        };
        await submitted(await alone.account());
        await alone.work();
        assert.equal(url, null);
      } finally {
        await alone.stop();
      }
    });
  }
});
