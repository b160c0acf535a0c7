import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { CallbackRefused } from '../../src/upstreams/upstream.ts';
import { open, openPlain, started } from './http-job-kit.ts';
import { signal } from './job-kit.ts';
import { rig as kie } from './rigs/kie.ts';
import { rig as wavespeed } from './rigs/wavespeed.ts';

const callback_url = 'https://gateway.test/hooks/1';
const call = ({ headers, body }: { headers: Record<string, string>; body: string }) => ({
  headers,
  body: Buffer.from(body),
  model: '',
  signal,
});

for (const [rig, model] of [
  [kie, 'google/nano-banana'],
  [wavespeed, 'wavespeed-ai/flux-schnell'],
] as const)
  describe(`${rig.name} calls back`, () => {
    test('a good call names the job, and may come twice', async (t) => {
      const { fake, service } = await open(t, rig);
      const { id } = await started(service, { model, callback_url });
      const made = call(fake.callback(id as string)!);
      assert.deepEqual(await service.callback!(made), { id });
      assert.deepEqual(await service.callback!(made), { id });
      assert.equal(fake.calls.length, 1);
    });

    test('a call without a signature, or with another, is refused', async (t) => {
      const { fake, service } = await open(t, rig);
      const { id } = await started(service, { model, callback_url });
      const { headers, body } = fake.callback(id as string)!;
      const name = Object.keys(headers).find((each) => each.endsWith('signature'))!;
      const last = headers[name]!.endsWith('0') ? '1' : '0';
      const forged = [
        { ...headers, [name]: '' },
        { ...headers, [name]: headers[name]!.slice(0, -4) },
        { ...headers, [name]: headers[name]!.slice(0, -1) + last },
        { ...headers, [name]: 'x'.repeat(10_000) },
        Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)),
      ];
      for (const each of forged)
        await assert.rejects(service.callback!(call({ headers: each, body })), CallbackRefused);
      const other = body.replaceAll(id as string, 'b'.repeat(32));
      await assert.rejects(service.callback!(call({ headers, body: other })), CallbackRefused);
    });

    test('a call from another time is refused, however well signed', async (t) => {
      const { fake, service } = await open(t, rig);
      const { id } = await started(service, { model, callback_url });
      for (const ms of [-301_000, 301_000]) {
        const made = call(fake.callback(id as string, new Date(Date.now() + ms))!);
        await assert.rejects(service.callback!(made), /differs too much/);
      }
      const made = call(fake.callback(id as string, new Date(Date.now() - 290_000))!);
      assert.deepEqual(await service.callback!(made), { id });
    });

    test('the same call later is too old', async (t) => {
      const { fake, service, later } = await open(t, rig);
      const { id } = await started(service, { model, callback_url });
      const made = call(fake.callback(id as string)!);
      later(302_000);
      await assert.rejects(service.callback!(made), /differs too much/);
    });
  });

describe('signatures as data', () => {
  const submit = { path: '/jobs', body: { input: '$input', hook: '$callback_url' } };
  const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
  const body = JSON.stringify({ job: { id: 'j-1' } });
  const openWith = async (t: import('node:test').TestContext, signature: unknown) => {
    const callback = { handle: 'job.id', signature };
    return (await openPlain(t, { submit, callback }, () => ({ json: {} }), { secret })).service;
  };

  test('standard-webhooks, as its own library signs', async (t) => {
    const service = await openWith(t, 'standard-webhooks');
    const at = new Date();
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': `v1,bm8= ${new Webhook(secret).sign('msg_1', at, body)}`,
    };
    assert.deepEqual(await service.callback!(call({ headers, body })), { id: 'j-1' });
    const wrong = { ...headers, 'webhook-id': 'msg_2' };
    await assert.rejects(service.callback!(call({ headers: wrong, body })), CallbackRefused);
  });

  test('time and signature in one header, the text as the key', async (t) => {
    const service = await openWith(t, {
      header: 'X-OpenRouter-Signature',
      form: 't={timestamp},v1={signature}',
      signed: '{timestamp},{body}',
      encoding: 'hex',
    });
    const time = Math.floor(Date.now() / 1000);
    const sign = (at: number) => createHmac('sha256', secret).update(`${at},${body}`).digest('hex');
    const headers = (at: number, signed = at) => ({
      'x-openrouter-signature': `t=${at},v1=${sign(signed)}`,
    });
    assert.deepEqual(await service.callback!(call({ headers: headers(time), body })), {
      id: 'j-1',
    });
    for (const wrong of [headers(time, time - 1), headers(time - 400)])
      await assert.rejects(service.callback!(call({ headers: wrong, body })), CallbackRefused);
  });

  test('a prefix and the body alone, without a time', async (t) => {
    const signature = {
      header: 'x-hub',
      form: 'sha256={signature}',
      signed: '{body}',
      encoding: 'hex',
    };
    const service = await openWith(t, signature);
    const signed = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'x-hub': `sha256=${signed}` };
    assert.deepEqual(await service.callback!(call({ headers, body })), { id: 'j-1' });
    const wrong = { 'x-hub': signed };
    await assert.rejects(service.callback!(call({ headers: wrong, body })), CallbackRefused);
  });

  test('none: a call only needs to be JSON, and may name no job', async (t) => {
    const service = await openWith(t, 'none');
    assert.deepEqual(await service.callback!(call({ headers: {}, body })), { id: 'j-1' });
    assert.equal(await service.callback!(call({ headers: {}, body: '{"job":{"id":".."}}' })), null);
    await assert.rejects(service.callback!(call({ headers: {}, body: 'x' })), CallbackRefused);
  });
});
