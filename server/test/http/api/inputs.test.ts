import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { withService } from '../../kit/with-service.ts';

/**
 * Fields that are null, and fields that the model does not know: accepted, and named in the reply.
 */

const { account } = withService();

const film = 'fake/film/text-to-video';
const call = (path: string, body: object, headers: Record<string, string> = {}) =>
  account.post(path, body, { headers });

test('a body that is too large says how a file gets in', async () => {
  const image_url = `data:image/png;base64,${'A'.repeat(1_500_000)}`;
  for (const path of ['/v1/queue/fake/image', '/fal/queue.fal.run/fake/image']) {
    const reply = await call(path, { prompt: 'x', image_url });
    assert.equal(reply.status, 413, reply.text);
    assert.match(reply.text, /POST \/v1\/files/);
  }
});

describe('null is the same as leaving a field out', () => {
  const nulls = { prompt: 'a boat', duration_seconds: null, resolution: null, webhook_url: null };
  test('in a submit, which reserves and keeps the same', async () => {
    const plain = await call(`/v1/queue/${film}`, { prompt: 'a boat' });
    const reply = await call(`/v1/queue/${film}`, { ...nulls, options: { seed: null, list: [] } });
    assert.equal(reply.status, 202, reply.text);
    assert.equal(reply.body.quoted_usd_micro, plain.body.quoted_usd_micro);
    const { body: card } = await account.get(`/v1/requests/${reply.body.request_id}`);
    assert.deepEqual(card.input, { prompt: 'a boat', options: { list: [] } });
    assert.equal(card.webhook, null);
  });

  test('in an estimate', async () => {
    const asked = (input: unknown) => call('/v1/estimate', { model_id: film, input });
    const reply = await asked(nulls);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.price_usd_micro, '500000');
    assert.equal((await asked(null)).status, 200);
  });

  test("through the door for fal's client", async () => {
    const reply = await call(`/fal/queue.fal.run/${film}`, nulls);
    assert.equal(reply.status, 200, reply.text);
  });

  test('so that a required field that is null is missing', async () => {
    const reply = await call(`/v1/queue/${film}`, { prompt: null });
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.body.error.details.errors, [
      { path: '/prompt', message: 'is required' },
    ]);
  });

  test('and a repeat without the nulls is the same call', async () => {
    const headers = { 'idempotency-key': 'nulls' };
    const first = await call(`/v1/queue/${film}`, nulls, headers);
    const again = await call(`/v1/queue/${film}`, { prompt: 'a boat' }, headers);
    assert.equal(again.status, 200);
    assert.equal(again.text, first.text);
  });
});

describe('fields that the model does not know', () => {
  const misspelt = { prompt: 'a boat', duration: 1, resolutoin: '480p', zzz: 1, metadata: {} };
  const unknown = [
    { field: 'duration', did_you_mean: 'duration_seconds' },
    { field: 'resolutoin', did_you_mean: 'resolution' },
    { field: 'zzz', did_you_mean: null },
    { field: 'metadata', did_you_mean: 'x-metadata' },
  ];

  test('are named by the estimate', async () => {
    const { body } = await call('/v1/estimate', { model_id: film, input: misspelt });
    assert.deepEqual(body.unknown_inputs, unknown);
  });

  test('and that OpenAI has are named with the equivalent field of the model', async () => {
    const estimate = async (input: object) =>
      (await call('/v1/estimate', { model_id: 'fake/image', input })).body.unknown_inputs;
    const n = { field: 'n', did_you_mean: 'num_images' };
    assert.deepEqual(await estimate({ prompt: 'a boat', n: 2 }), [n]);
    const both = await estimate({ prompt: 'a boat', n: 2, num_images: 2 });
    assert.deepEqual(both, [{ field: 'n', did_you_mean: null }]);
  });

  test('are named by the submit, and by its repeat to the byte', async () => {
    const headers = { 'idempotency-key': 'misspelt' };
    const first = await call(`/v1/queue/${film}`, misspelt, headers);
    assert.equal(first.status, 202);
    assert.deepEqual(first.body.unknown_inputs, unknown);
    const again = await call(`/v1/queue/${film}`, misspelt, headers);
    assert.equal(again.status, 200);
    assert.equal(again.text, first.text);
  });

  test('are not listed if all fields are known', async () => {
    const known = { prompt: 'a boat', resolution: '480p' };
    const submitted = await call(`/v1/queue/${film}`, known);
    const { body: estimate } = await call('/v1/estimate', { model_id: film, input: known });
    assert.ok(!('unknown_inputs' in submitted.body) && !('unknown_inputs' in estimate));
  });

  test('are listed up to a limit, with shortened names', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`${'x'.repeat(1_000)}${i}`, i]),
    );
    const { body } = await call('/v1/estimate', {
      model_id: film,
      input: { prompt: 'x', ...many },
    });
    assert.equal(body.unknown_inputs.length, 20);
    assert.ok(body.unknown_inputs[0].field.length <= 200);
  });
});

test('an estimate of the very body of a chat call is what the call reserves', async () => {
  const input = {
    model: 'fake/chat',
    messages: [{ role: 'user', content: 'How far is the Moon?' }],
    max_tokens: 50,
  };
  const estimate = await call('/v1/estimate', { model_id: 'fake/chat', input });
  assert.equal(estimate.status, 200, estimate.text);
  await call('/v1/chat/completions', input);
  const { body: list } = await account.get('/v1/requests?model_id=fake/chat');
  assert.equal(list.data[0].quoted_usd_micro, estimate.body.price_usd_micro);
  const bad = await call('/v1/estimate', { model_id: 'fake/chat', input: { messages: [] } });
  assert.equal(bad.body.error.code, 'bad_messages');
});
