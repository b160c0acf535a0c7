import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createFalClient } from '@fal-ai/client';
import { isLong } from '../kit/long.ts';
import { fakeFal, falKey } from './fakes/fal.ts';

/** fal's own client works with the stand-in of fal. */

async function openClient(t: TestContext, credentials = falKey) {
  const fake = await fakeFal();
  t.after(() => fake.close());
  const hosts = /^https:\/\/(?:queue\.fal\.run|rest\.fal\.ai|api\.fal\.ai)/;
  const client = createFalClient({
    credentials,
    retry: { maxRetries: 0 },
    fetch: (url, init) => fetch(String(url).replace(hosts, fake.url), init),
  });
  return { fake, client };
}

const model = 'fal-ai/flux/dev';
const input = { prompt: 'a lighthouse' };

test('it subscribes to a job and gets its pictures', async (t) => {
  const { fake, client } = await openClient(t);
  const words: string[] = [];
  const { data, requestId } = await client.subscribe(model, {
    input,
    logs: true,
    pollInterval: 1,
    onQueueUpdate: ({ status }) => void words.push(status),
  });
  assert.deepEqual(words, ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']);
  assert.equal(requestId, fake.journal[0]!.id);
  assert.match(data.images[0]!.url, /\/outputs\/.+\/0\.png$/);
  assert.equal(fake.journal.length, 1);
});

test('it submits, asks, fetches and cancels', async (t) => {
  const { fake, client } = await openClient(t);
  const webhookUrl = 'https://gateway.test/hook';
  const { request_id: requestId, status } = await client.queue.submit(model, { input, webhookUrl });
  assert.equal(status, 'IN_QUEUE');
  assert.equal(fake.journal[0]!.callback_url, webhookUrl);
  assert.equal((await client.queue.status(model, { requestId })).status, 'IN_QUEUE');
  await assert.rejects(client.queue.result(model, { requestId }), { status: 400 });
  await client.queue.cancel(model, { requestId });
  assert.equal(fake.journal[0]!.cancelled, true);
  await assert.rejects(client.queue.result(model, { requestId }), { status: 499 });
  await assert.rejects(client.queue.cancel(model, { requestId: 'no' }), { status: 404 });
});

test('it follows the stream of states', async (t) => {
  const { client } = await openClient(t);
  const { request_id: requestId } = await client.queue.submit(model, { input });
  const ended = await client.queue.subscribeToStatus(model, { requestId, mode: 'streaming' });
  assert.equal(ended.status, 'COMPLETED');
});

test('it uploads a file, in one go and in the long form in parts', async (t) => {
  const { fake, client } = await openClient(t);
  const small = await client.storage.upload(new File(['small'], 'a.png', { type: 'image/png' }));
  const sizeOf = (url: string) => fake.files.get(url.split('/').at(-1)!)!.length;
  assert.equal(sizeOf(small), 5);
  if (!isLong) return;
  const large = await client.storage.upload(new Blob([new Uint8Array(91 * 1024 * 1024)]));
  assert.equal(sizeOf(large), 91 * 1024 * 1024);
});

test('it understands the refusals', async (t) => {
  const { fake, client } = await openClient(t);
  fake.play('submit-invalid');
  await assert.rejects(client.queue.submit(model, { input }), { name: 'ValidationError' });
  const { client: stranger } = await openClient(t, 'wrong:key');
  await assert.rejects(stranger.queue.submit(model, { input }), { status: 401 });
});
