import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { tinyPng } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog, startService, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';
import { openStand, type Stand } from '../upstreams/openai-kit.ts';

/** Uploads and outputs in the messages of a chat with an upstream that has no files of ours. */

let stand: Stand;
let service: Service;
let account: TestAccount;
before(async () => {
  stand = await openStand();
  const catalog = fakeCatalog.replaceAll('upstream_model: chat', 'upstream_model: gpt-fake');
  service = await startService({ catalog, upstreams: [stand.upstream] });
  account = await service.account();
});
after(async () => {
  await service.audit();
  await service.stop();
  await stand.close();
});

const data = `data:image/png;base64,${tinyPng.toString('base64')}`;
const image = (url: string) => ({ type: 'image_url', image_url: { url } });

async function upload(raw: Buffer, type: string): Promise<string> {
  const headers = { 'content-type': type };
  const reply = await service.call('POST', '/v1/files', { key: account.key, raw, headers });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.file_id;
}

function chat(parts: unknown[], more: object = {}) {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, ...parts] }];
  const body = { model: 'fake/chat', max_tokens: 10, messages, ...more };
  return service.call('POST', '/v1/chat/completions', { key: account.key, body });
}

const sent = () => (stand.fake.chat.asked.at(-1) as any).messages[0].content;

test('an uploaded image reaches the model as data, whole and streamed', async () => {
  const id = await upload(tinyPng, 'image/png');
  for (const stream of [false, true]) {
    const reply = await chat([image(id)], { stream });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(sent()[1].image_url.url, data);
  }
  assert.deepEqual(stand.downloads, []);
});

describe('is refused before anything is reserved or sent', () => {
  test('files of more than 20 MiB together', async () => {
    const large = Buffer.concat([tinyPng, Buffer.alloc(11 * 1024 * 1024)]);
    const ids = [await upload(large, 'image/png'), await upload(large, 'image/png')];
    const earlier = await traces(service);
    const asked = stand.fake.chat.asked.length;
    const error = assertRefused(await chat(ids.map(image)), 'bad_messages');
    assert.match(error.message, /more than 20 MiB of files; send smaller images/);
    assert.deepEqual(await traces(service), earlier);
    assert.equal(stand.fake.chat.asked.length, asked);
  });
});

describe('is refused in words of its own, costs nothing and is not sent', () => {
  const cases: [name: string, part: (id: string) => unknown, says: RegExp][] = [
    [
      'a text as an image',
      image,
      /^messages\[0\]\.content\[1\]\.image_url\.url must be an image, and this file is text\/plain/,
    ],
    [
      'a file as a file',
      (id) => ({ type: 'file', file: { file_id: id } }),
      /^messages\[0\]\.content\[1\]\.file names an uploaded file\. .* send other files as base64/,
    ],
  ];
  for (const [name, part, says] of cases) {
    test(name, async () => {
      const id = await upload(Buffer.from('Hello, this is a text.'), 'text/plain');
      const asked = stand.fake.chat.asked.length;
      const { reserved } = await service.balance(account);
      const error = assertRefused(await chat([part(id)]), 'invalid_input');
      assert.match(error.message, says);
      assert.equal(stand.fake.chat.asked.length, asked);
      assert.equal((await service.balance(account)).reserved, reserved);
    });
  }
});
