import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Replicate, { validateWebhook } from 'replicate';
import { fakeReplicate } from './fakes/replicate.ts';
import { media, type FakeUpstream } from './fakes/kit.ts';

/** Replicate's own client works with the stand-in of Replicate. */

let fake: FakeUpstream;
let client: Replicate;
before(async () => {
  fake = await fakeReplicate();
  client = new Replicate({ auth: fake.key, baseUrl: fake.url, useFileOutput: false });
});
after(() => fake.close());

test('it creates, gets, lists and cancels predictions', async () => {
  const model = 'maker/pictures';
  const made = await client.predictions.create({ model, input: { prompt: 'x' } });
  assert.equal(made.status, 'starting');
  assert.equal((await client.predictions.get(made.id)).id, made.id);
  assert.equal((await client.predictions.get(made.id)).status, 'processing');
  const done = await client.predictions.get(made.id);
  assert.equal(done.status, 'succeeded');
  const { results } = await client.predictions.list();
  assert.deepEqual(
    results.map(({ id }) => id),
    [made.id],
  );
  const other = await client.predictions.create({ model, input: { prompt: 'y' } });
  assert.equal((await client.predictions.cancel(other.id)).status, 'canceled');
  const [address] = done.output as string[];
  const picture = await fetch(address!);
  assert.equal(picture.headers.get('content-type'), 'image/png');
  assert.deepEqual(Buffer.from(await picture.arrayBuffer()), media.png);
});

test('it runs a model, by version too, and a deployment', async () => {
  const output = await client.run('maker/films', { input: { prompt: 'x' } });
  assert.match(String(output), /\.mp4$/);
  const { latest_version } = await client.models.get('maker', 'pictures');
  const version = latest_version!.id;
  const pictures = await client.run(`maker/pictures:${version}`, { input: { prompt: 'x' } });
  assert.match(String((pictures as string[])[0]), /\.png$/);
  const deployed = { input: { prompt: 'x' } };
  const made = await client.deployments.predictions.create('maker', 'films-live', deployed);
  assert.equal(made.status, 'starting');
});

test('it stores files, and knows them again', async () => {
  const made = await client.files.create(Buffer.from('bytes of a file'), { for: 'a test' });
  assert.equal(made.size, 15);
  assert.deepEqual(made.metadata, { for: 'a test' });
  assert.deepEqual(fake.files.get(made.id), Buffer.from('bytes of a file'));
  assert.equal((await client.files.get(made.id)).urls.get, made.urls.get);
  assert.equal(await client.files.delete(made.id), true);
});

test('it finds the account, the secret and the signature good', async () => {
  assert.equal((await client.accounts.current()).username, 'maker');
  const { key } = await client.webhooks.default.secret.get();
  assert.equal(key, fake.secret);
  const webhook = 'https://box.example/callbacks/1';
  const webhook_events_filter: ['completed'] = ['completed'];
  const made = await client.predictions.create({
    model: 'maker/pictures',
    input: { prompt: 'x' },
    webhook,
    webhook_events_filter,
  });
  const { headers, body } = fake.callback(made.id)!;
  const call = {
    id: headers['webhook-id']!,
    timestamp: headers['webhook-timestamp']!,
    signature: headers['webhook-signature']!,
    body,
    secret: key,
  };
  assert.equal(await validateWebhook(call), true);
  assert.equal(await validateWebhook({ ...call, body: `${body} ` }), false);
});

test('a refused input is its error 422', async () => {
  const run = client.predictions.create({ model: 'maker/pictures', input: {} });
  await assert.rejects(run, /422.*prompt is required/s);
});
