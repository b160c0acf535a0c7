import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { tinyPng } from '../../../kit/fake.ts';
import { finished } from '../../../kit/finished.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { fakeCatalog, startService } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { traces } from '../../../kit/traces.ts';
import { until } from '../../../kit/until.ts';
import { replyOf } from '../../../upstreams/fakes/openai-chat.ts';
import { openStand, type Stand } from '../../../upstreams/openai-kit.ts';

/** Uploads and outputs in the messages of a chat, at an upstream that stores no files. */

let stand: Stand;
const { service, account } = withService(async (use) => {
  stand = use(await openStand());
  const catalog = fakeCatalog.replaceAll('upstream_model: chat', 'upstream_model: gpt-fake');
  return { catalog, upstreams: [stand.upstream] };
});

const data = `data:image/png;base64,${tinyPng.toString('base64')}`;
const image = (url: string) => ({ type: 'image_url', image_url: { url } });

async function upload(raw: Buffer, type: string): Promise<string> {
  const reply = await account.upload(raw, type);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.file_id;
}

function chat(parts: unknown[], more: object = {}) {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, ...parts] }];
  const body = { model: 'fake/chat', max_tokens: 10, messages, ...more };
  return account.post('/v1/chat/completions', body);
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

describe('another uploaded file reaches the model as data', () => {
  const pdf = Buffer.from(
    '%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << >>\n%%EOF\n',
  );
  const dataOf = (bytes: Buffer, type: string) => `data:${type};base64,${bytes.toString('base64')}`;

  test('by file_id, or as file_data, with a name', async () => {
    const id = await upload(pdf, 'application/pdf');
    for (const file of [{ file_id: id }, { file_data: id }, { file_id: id, filename: 'a.pdf' }]) {
      const reply = await chat([{ type: 'file', file }]);
      assert.equal(reply.status, 200, reply.text);
      const { file: handed } = sent()[1];
      assert.equal(handed.file_data, dataOf(pdf, 'application/pdf'));
      assert.equal(handed.filename, 'filename' in file ? 'a.pdf' : 'file');
      assert.ok(!('file_id' in handed), 'an id of ours says nothing to the upstream');
    }
    assert.deepEqual(stand.downloads, []);
  });

  test('as sound, without its type', async () => {
    const wav = Buffer.alloc(64);
    wav.write('RIFF', 0);
    wav.writeUInt32LE(56, 4);
    wav.write('WAVEfmt ', 8);
    const id = await upload(wav, 'audio/wav');
    const part = { type: 'input_audio', input_audio: { data: id, format: 'wav' } };
    const reply = await chat([part]);
    assert.equal(reply.status, 200, reply.text);
    const expected = { data: wav.toString('base64'), format: 'wav' };
    assert.deepEqual(sent()[1].input_audio, expected);
  });

  test('while base64 goes through as it came', async () => {
    const file = { file_data: dataOf(pdf, 'application/pdf'), filename: 'a.pdf' };
    assert.equal((await chat([{ type: 'file', file }])).status, 200);
    assert.deepEqual(sent()[1].file, file);
  });

  test('of another account does not', async () => {
    const id = await upload(pdf, 'application/pdf');
    const asked = stand.fake.chat.asked.length;
    const other = await service.account();
    const messages = [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }];
    const body = { model: 'fake/chat', max_tokens: 10, messages };
    const call = { key: other.key, body };
    const reply = await service.call('POST', '/v1/chat/completions', call);
    assertRefused(reply, 'bad_messages');
    assert.equal(stand.fake.chat.asked.length, asked);
  });
});

describe('sound that is named is reserved', () => {
  const priced = async (data: string) => {
    const part = { type: 'input_audio', input_audio: { data, format: 'wav' } };
    const messages = [{ role: 'user', content: [part] }];
    const body = { model_id: 'fake/chat', input: { messages, max_tokens: 10 } };
    const estimated = await account.post('/v1/estimate', body);
    assert.equal(estimated.status, 200, estimated.text);
    const reply = await chat([], { messages });
    assert.equal(reply.status, 200, reply.text);
    const id = reply.body.id.replace('chatcmpl-', '');
    const card = await account.get(`/v1/requests/${id}`);
    assert.equal(card.body.quoted_usd_micro, estimated.body.price_usd_micro);
    return { quoted: Number(card.body.quoted_usd_micro), reply };
  };
  const wav = Buffer.alloc(3 * 2 ** 19);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8);

  test('by the size of the upload, as the same sound in base64', async () => {
    const id = await upload(wav, 'audio/wav');
    const usage = { prompt_tokens: 60_000, completion_tokens: 5 };
    stand.fake.chat.script({ json: replyOf({ usage }) });
    const { quoted, reply } = await priced(id);
    assert.equal(reply.body.usage.cost_usd_micro, '60010');
    assert.equal(quoted, (await priced(wav.toString('base64'))).quoted);
  });

  test('by the whole window where it stands at an address', async () => {
    const { quoted } = await priced('https://93.184.216.34/a.wav');
    assert.equal(quoted, 100_000 + 20);
  });
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
      'a text as sound',
      (id) => ({ type: 'input_audio', input_audio: { data: id, format: 'wav' } }),
      /^messages\[0\]\.content\[1\]\.input_audio\.data must be audio, and this file is text\/plain/,
    ],
  ];
  for (const [name, part, says] of cases) {
    test(name, async () => {
      const id = await upload(Buffer.from('Hello, this is a text.'), 'text/plain');
      const asked = stand.fake.chat.asked.length;
      const { reserved } = await service.balance(account);
      const error = assertRefused(await chat([part(id)]), 'bad_messages');
      assert.match(error.message, says);
      assert.equal(error.param, error.message.split(' ')[0]);
      assert.equal(stand.fake.chat.asked.length, asked);
      assert.equal((await service.balance(account)).reserved, reserved);
    });
  }

  test('in Messages and Responses, at the place of their own bodies', async () => {
    const file_id = await upload(Buffer.from('Hello, this is a text.'), 'text/plain');
    const say = (part: object) => [{ role: 'user', content: [part] }];
    const source = { type: 'file', file_id };
    const calls = [
      ['messages[0].content[0].source.file_id', { messages: say({ type: 'image', source }) }],
      ['input[0].content[0].file_id', { input: say({ type: 'input_image', file_id }) }],
    ] as const;
    for (const [param, body] of calls) {
      const path = 'input' in body ? '/v1/responses' : '/v1/messages';
      const call = { key: account.key, body: { model: 'fake/chat', max_tokens: 10, ...body } };
      const asked = stand.fake.chat.asked.length;
      const error = assertRefused(await service.call('POST', path, call), 'bad_messages');
      const said = `${param} must be an image, and this file is text/plain`;
      assert.equal(error.param, param);
      for (const text of [error.message, error.details.said])
        assert.ok(text.startsWith(said), text);
      assert.equal(stand.fake.chat.asked.length, asked);
    }
  });
});

describe('the bytes that a chat holds beside its body', () => {
  const KiB = 1024;
  const picture = Buffer.concat([tinyPng, Buffer.alloc(2_500 * KiB)]);

  test('count each mention of a file, and are given back where the caller left before', async () => {
    const asked = Promise.withResolvers<void>();
    const found = Promise.withResolvers<string[]>();
    const small = await startService({
      catalog: fakeCatalog.replaceAll('upstream_model: chat', 'upstream_model: gpt-fake'),
      upstreams: [stand.upstream],
      // An account's share is a quarter of all bytes.
      env: { FAREBOX_BODIES_MAX_BYTES: String(16_384 * KiB) },
      lookup: () => (asked.resolve(), found.promise),
    });
    try {
      const { key } = await small.account();
      const headers = { 'content-type': 'image/png' };
      const uploaded = await small.call('POST', '/v1/files', { key, raw: picture, headers });
      assert.equal(uploaded.status, 201, uploaded.text);
      const file = image(uploaded.body.file_id);
      const ask = (parts: unknown[], signal?: AbortSignal) => {
        const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }, ...parts] }];
        const body = { model: 'fake/chat', max_tokens: 10, messages };
        return small.call('POST', '/v1/chat/completions', { key, body, ...(signal && { signal }) });
      };

      const left = new AbortController();
      const gone = assert.rejects(ask([file, image('https://slow-names.com/a.png')], left.signal));
      await asked.promise;
      const over = (await finished(small.app.metrics)) + 1;
      left.abort();
      await gone;
      const noticed = async () => (await finished(small.app.metrics)) >= over;
      await until('the service has noticed', noticed);
      found.resolve(['93.184.216.34']);

      assert.equal((await ask([file])).status, 200, 'nothing is held for who left');
      const twice = await ask([file, file]);
      assert.equal(twice.status, 429, 'each mention goes out as data of its own');
      assert.equal((await ask([file])).status, 200);
      await small.audit();
    } finally {
      found.resolve([]);
      await small.stop();
    }
  });
});
