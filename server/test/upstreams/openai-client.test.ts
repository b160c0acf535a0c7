import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { media } from './fakes/kit.ts';
import { sayings, streamOf, eventsOf, chunkOf } from './fakes/openai-chat.ts';
import { fakeOpenai, type FakeOpenai } from './fakes/openai.ts';

/** The fake proves something only if OpenAI's own client works with it. */
describe("OpenAI's own client takes the fake for OpenAI", () => {
  let fake: FakeOpenai;
  let client: OpenAI;
  before(async () => {
    fake = await fakeOpenai();
    client = new OpenAI({ apiKey: fake.key, baseURL: fake.url, maxRetries: 0 });
  });
  after(() => fake.close());

  const messages = [{ role: 'user' as const, content: 'Say hello.' }];
  const model = 'gpt-fake';

  test('models', async () => {
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    assert.ok(ids.includes('gpt-fake'));
  });

  test('chat, whole and streamed', async () => {
    const reply = await client.chat.completions.create({ model, messages });
    assert.equal(reply.choices[0]!.message.content, sayings.join(''));
    assert.equal(reply.usage?.completion_tokens_details?.reasoning_tokens, 1);
    const stream_options = { include_usage: true };
    const asked = { model, messages, stream: true as const, stream_options };
    let text = '';
    let tokens = 0;
    for await (const chunk of await client.chat.completions.create(asked)) {
      text += chunk.choices[0]?.delta.content ?? '';
      tokens = chunk.usage?.total_tokens ?? tokens;
    }
    assert.deepEqual([text, tokens], [sayings.join(''), 13]);
  });

  test('errors, at once and in mid-stream', async () => {
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL: fake.url, maxRetries: 0 });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
    await assert.rejects(client.videos.retrieve('video_none'), OpenAI.NotFoundError);
    fake.play('submit-429');
    await assert.rejects(client.images.generate({ prompt: 'x' }), OpenAI.RateLimitError);
    fake.mend();
    const error = { message: 'The server had an error.', type: 'server_error' };
    fake.chat.script(streamOf(eventsOf([chunkOf({ content: 'Hel' }), { error }])));
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    await assert.rejects(Array.fromAsync(stream), OpenAI.APIError);
  });

  test('images, made and edited', async () => {
    const made = await client.images.generate({ model: 'gpt-image-fake', prompt: 'x', n: 2 });
    assert.equal(made.data?.length, 2);
    assert.deepEqual(Buffer.from(made.data![0]!.b64_json!, 'base64'), media.png);
    const image = await toFile(media.png, 'a.png', { type: 'image/png' });
    const edited = await client.images.edit({ model: 'dall-e-fake', prompt: 'x', image });
    assert.match(edited.data![0]!.url!, /^http/);
    assert.deepEqual([...fake.files.values()], [media.png]);
  });

  test('videos: created, looked at, fetched', async () => {
    const video = await client.videos.create({ model: 'sora-2', prompt: 'x', seconds: '4' });
    assert.equal(video.status, 'queued');
    const states = [];
    for (let look = 0; look < 3; look++)
      states.push((await client.videos.retrieve(video.id)).status);
    assert.deepEqual(states, ['queued', 'in_progress', 'completed']);
    const content = await client.videos.downloadContent(video.id);
    assert.deepEqual(Buffer.from(await content.arrayBuffer()), media.mp4);
    assert.equal(fake.journal.at(-1)!.input.seconds, '4');
  });
});
