import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyWebhook, type WebhookInput } from './webhook.ts';

/** Signatures made with the library of the standard itself. */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const other = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const body = '{"test": 2432232314}';
const seconds = 1_614_265_330;
const headers = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': String(seconds),
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const at = (offset: number) => new Date((seconds + offset) * 1000);
const good: WebhookInput = { body, headers, secret, now: at(0) };

async function accepted(change: Partial<WebhookInput>): Promise<void> {
  assert.deepEqual(await verifyWebhook({ ...good, ...change }), JSON.parse(body));
}

function refused(change: Partial<WebhookInput>, code = 'bad_signature'): Promise<void> {
  return assert.rejects(verifyWebhook({ ...good, ...change }), { code });
}

test('a notification is accepted in each form it comes in', async () => {
  await accepted({});
  await accepted({ headers: new Headers(headers) });
  await accepted({ headers: { ...headers, 'Webhook-Id': undefined } });
  const shouted = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]);
  await accepted({ headers: Object.fromEntries(shouted) });
  await accepted({ body: new TextEncoder().encode(body) });
  await accepted({ secret: [other, secret] });
  const signature = headers['webhook-signature'];
  await accepted({ headers: { ...headers, 'webhook-signature': `v1,AAAA v2,x ${signature}` } });
});

test('it is refused when anything of it is another', async () => {
  await refused({ body: `${body} ` });
  await refused({ secret: other });
  await refused({ secret: [] });
  await refused({ headers: { ...headers, 'webhook-id': 'msg_other' } });
  for (const name of Object.keys(headers)) await refused({ headers: { ...headers, [name]: '' } });
  for (const signature of [
    'v1,',
    'v1,AAAA',
    'v1,%%%',
    headers['webhook-signature'].slice(3),
    headers['webhook-signature'].replace('v1', 'v2'),
    headers['webhook-signature'].slice(0, -5),
  ]) {
    await refused({ headers: { ...headers, 'webhook-signature': signature } });
  }
});

test('it is refused when it is too old or comes from the future', async () => {
  await accepted({ now: at(300) });
  await accepted({ now: at(-300) });
  await refused({ now: at(301) });
  await refused({ now: at(-301) });
  await accepted({ now: at(900), toleranceSeconds: 900 });
  for (const time of ['', 'soon', '-1', '1e9', `${seconds}.5`, '9'.repeat(20)])
    await refused({ headers: { ...headers, 'webhook-timestamp': time } });
});

test('a secret that is none is a mistake of the caller', async () => {
  for (const text of ['', 'secret', 'whsec_', 'whsec_AAAA', secret.slice(6), 'whsec_%%%'])
    await refused({ secret: text }, 'bad_argument');
});
