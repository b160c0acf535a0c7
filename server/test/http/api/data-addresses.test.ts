import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { collectMedia } from '../../../src/upstreams/outputs.ts';
import { brokenDataAddresses, dataAddresses } from '../../fixtures/data-addresses.ts';
import { withService } from '../../kit/with-service.ts';
import { media } from '../../upstreams/fakes/kit.ts';
import { fakeOpenai, type FakeOpenai } from '../../upstreams/fakes/openai.ts';
import { ownCatalog } from '../../upstreams/own-catalog.ts';
import { card, submitted } from '../../worker/floor.ts';

/** A `data:` address means the same at every door, however it is spelt. */

const chatRow = `  - id: own/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    input_modalities: [text, image, audio, file]
`;

let fake: FakeOpenai;
const { service, account } = withService(async (use) => {
  fake = use(await fakeOpenai('openai'));
  return {
    catalog: ownCatalog(fake, { field: 'image_url', more: chatRow }),
    env: { OWN_KEY: fake.key },
    account: { open_jobs: 1_000 },
  };
});
beforeEach(() => void (fake.calls.length = 0));

const plain = `data:image/png;base64,${media.png.toString('base64')}`;
const call = (path: string, body: object) => account.post(path, { ...body });
const edited = () => fake.calls.find(({ path }) => path.endsWith('/images/edits'))!.body;
const chatOf = (part: object) =>
  call('/v1/chat/completions', {
    model: 'own/chat',
    max_tokens: 5,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'look' }, part] }],
  });
const imagesOf = (image: string) =>
  call('/v1/images/edits', { model: 'own/edit', prompt: 'x', image });

for (const [what, address] of dataAddresses(media.png, 'image/png'))
  describe(what, () => {
    test('a job: its upstream gets the file', async () => {
      const input = { prompt: 'at night', image_url: address };
      const id = await submitted(account, input, 'own/edit');
      await service.work();
      assert.ok(edited().includes(media.png));
      assert.match(
        edited().toString('latin1'),
        /filename="[^"]+\.png"\r\ncontent-type: image\/png/i,
      );
      assert.deepEqual((await card(account, id)).input, input, 'the card shows what was sent');
    });

    test('a chat: its upstream gets the plain form', async () => {
      const reply = await chatOf({ type: 'image_url', image_url: { url: address } });
      assert.equal(reply.status, 200, reply.text);
      const [, image] = (fake.chat.asked.at(-1) as any).messages[0].content;
      assert.equal(image.image_url.url, plain);
    });

    test("OpenAI's Images: the upstream gets the file", async () => {
      const working = imagesOf(address);
      const begun = performance.now();
      while (fake.calls.length === 0 && performance.now() - begun < 20_000) await service.work();
      assert.ok(edited().includes(media.png));
      await service.wakeAll();
      await service.work();
      const reply = await working;
      assert.equal(reply.status, 200, reply.text);
    });

    test('an output: its bytes are taken', () => {
      for (const output of [address, { url: address }, { images: [{ url: address }] }]) {
        const [found] = collectMedia(output, 'images').media;
        assert.deepEqual(found?.source, { bytes: media.png });
        assert.equal(found.content_type, 'image/png');
      }
    });
  });

test('base64 without an address may be wrapped or for URLs, too', async () => {
  const bytes = Buffer.from([...Buffer.from('%PDF-1.4'), 0xfb, 0xff, 0xbf]);
  const text = bytes.toString('base64');
  for (const file_data of [
    text,
    `${text.slice(0, 6)}\n${text.slice(6)}\n`,
    bytes.toString('base64url'),
  ]) {
    const reply = await chatOf({ type: 'file', file: { file_data, filename: 'a.pdf' } });
    assert.equal(reply.status, 200, reply.text);
    const [, part] = (fake.chat.asked.at(-1) as any).messages[0].content;
    assert.equal(part.file.file_data, text);
  }
});

describe('a broken one is named before anything is spent', () => {
  for (const address of brokenDataAddresses)
    test(address.slice(0, 40), async () => {
      const job = await call('/v1/queue/own/edit', { prompt: 'x', image_url: address });
      const chat = await chatOf({ type: 'image_url', image_url: { url: address } });
      const images = await imagesOf(address);
      for (const [reply, code] of [
        [job, 'invalid_input'],
        [chat, 'bad_messages'],
        [images, 'invalid_input'],
      ] as const) {
        assert.deepEqual([reply.status, reply.body.error.code], [400, code], reply.text);
        assert.match(reply.body.error.message, /image/);
        assert.ok(reply.text.length < 2_000);
      }
      assert.equal(fake.calls.length, 0);
      const { reserved } = await service.balance(account);
      assert.equal(reserved, 0n);
    });
});
