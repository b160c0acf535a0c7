import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { newWebhookSecret, signWebhook } from './webhook.ts';

const id = '0190f5e2-7c1b-7d3a-9e4f-0123456789ab';
const body = JSON.stringify({ status: 'COMPLETED', text: 'größer 😀' });
const now = () => Math.floor(Date.now() / 1000);
const receive = (secret: string, headers: object, payload = body) =>
  new Webhook(secret).verify(payload, headers as Record<string, string>);

describe('signWebhook', () => {
  test("the standard's own library accepts a delivery and gives its body", () => {
    for (let i = 0; i < 20; i++) {
      const secret = newWebhookSecret(randomBytes);
      const headers = signWebhook([secret], id, now(), body);
      assert.deepEqual(receive(secret, headers), JSON.parse(body));
    }
  });

  test('bytes and text of the same body have the same signature', () => {
    const secret = newWebhookSecret(randomBytes);
    const time = now();
    const headers = signWebhook([secret], id, time, Buffer.from(body));
    assert.deepEqual(headers, signWebhook([secret], id, time, body));
  });

  test('the headers are id, seconds and v1 with base64 of HMAC-SHA256', () => {
    const key = Buffer.alloc(32, 7);
    const secret = `whsec_${key.toString('base64')}`;
    const signature = createHmac('sha256', key).update(`${id}.1700000000.{}`).digest('base64');
    assert.deepEqual(signWebhook([secret], id, 1_700_000_000, '{}'), {
      'webhook-id': id,
      'webhook-timestamp': '1700000000',
      'webhook-signature': `v1,${signature}`,
    });
  });

  test('in a rotation a receiver with either secret is content, with neither not', () => {
    const [fresh, old, never] = [0, 1, 2].map(() => newWebhookSecret(randomBytes));
    const headers = signWebhook([fresh as string, old as string], id, now(), body);
    assert.match(headers['webhook-signature'], /^v1,[^ ,]{44} v1,[^ ,]{44}$/);
    assert.deepEqual(receive(fresh as string, headers), JSON.parse(body));
    assert.deepEqual(receive(old as string, headers), JSON.parse(body));
    assert.throws(() => receive(never as string, headers), WebhookVerificationError);
  });

  test('a changed body, id or time is not accepted', () => {
    const secret = newWebhookSecret(randomBytes);
    const headers = signWebhook([secret], id, now(), body);
    const changes: [object, string][] = [
      [headers, `${body} `],
      [{ ...headers, 'webhook-id': id.replace('0190', '0191') }, body],
      [{ ...headers, 'webhook-timestamp': String(now() - 2) }, body],
    ];
    for (const [changed, payload] of changes) {
      assert.throws(() => receive(secret, changed, payload), WebhookVerificationError);
    }
  });

  const short = Buffer.alloc(23).toString('base64');
  const long = Buffer.alloc(65).toString('base64');
  const secrets = [
    '',
    'whsec_',
    `whsec_${short}`,
    `whsec_${long}`,
    'whsec_!!!',
    Buffer.alloc(32).toString('base64'),
    `whsec_${Buffer.alloc(32).toString('base64')} `,
  ];
  for (const secret of secrets) {
    test(`refuses the secret ${JSON.stringify(secret.slice(0, 20))} without telling it`, () => {
      assert.throws(
        () => signWebhook([secret], id, 1, body),
        (error) => {
          assert.ok(error instanceof RangeError);
          assert.ok(secret.length < 10 || !error.message.includes(secret.slice(6)));
          return true;
        },
      );
    });
  }

  test('takes secrets of 24 to 64 bytes, and the first of all seconds', () => {
    for (const length of [24, 64]) {
      const secret = `whsec_${Buffer.alloc(length).toString('base64')}`;
      assert.equal(signWebhook([secret], id, 0, body)['webhook-timestamp'], '0');
    }
  });

  test('refuses no secret, an id with a dot, and times that are no whole seconds', () => {
    const secret = newWebhookSecret(randomBytes);
    assert.throws(() => signWebhook([], id, 1, body), RangeError);
    for (const bad of ['', 'a.b', 'a b', 'a\n', 'é', 'x'.repeat(256)]) {
      assert.throws(() => signWebhook([secret], bad, 1, body), RangeError);
    }
    for (const bad of [-1, 1.5, NaN, Infinity]) {
      assert.throws(() => signWebhook([secret], id, bad, body), RangeError);
    }
  });
});

test('a new secret is whsec_ and the base64 of 32 bytes of the given source', () => {
  assert.equal(
    newWebhookSecret((bytes) => Buffer.alloc(bytes, 1)),
    `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  );
});
