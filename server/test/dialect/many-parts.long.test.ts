import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { messagesApi } from '../../src/core/chat-apis/messages.ts';
import { responsesApi } from '../../src/core/chat-apis/responses.ts';
import { messagesChatBody } from '../../src/core/dialect/messages-request.ts';
import { responsesChatBody } from '../../src/core/dialect/responses-request.ts';
import { JsonBody } from '../../src/upstreams/json-body.ts';
import { messagesForUpstream } from '../../src/upstreams/openai/messages.ts';

/** Messages with more parts than a function of JavaScript takes arguments. */

type Json = Record<string, any>;

const count = 200_000;
const many = (part: Json) => Array.from({ length: count }, () => part);
const text = { type: 'text', text: 'x' };
const image = { type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } };
const pictures = many({ type: 'image_url', image_url: { url: 'https://a.example/x.png' } });
const ask = { model: 'm', max_tokens: 100 };
const sizeOf = (body: unknown) => JSON.stringify(body).match(/"x"|x\.png/g)?.length;

const adaptive = { thinking: 'adaptive', sampling: true } as const;

describe(`${count} parts arrive`, () => {
  const chats: Record<string, Json[]> = {
    'of one message': [{ role: 'user', content: many(text) }],
    'of a later message of the same role': [
      { role: 'user', content: 'Hello.' },
      { role: 'user', content: many(text) },
    ],
    'of images': [{ role: 'user', content: pictures }],
    'of an answer': [{ role: 'assistant', content: many(text) }],
  };
  const apis = [
    messagesApi(adaptive),
    messagesApi({ ...adaptive, thinking: 'budget' }),
    responsesApi,
  ];
  for (const [what, messages] of Object.entries(chats))
    test(`${what}, at upstreams of each API`, async () => {
      for (const api of apis) assert.equal(sizeOf(api.call({ ...ask, messages })), count);
      const download = () => Promise.reject(new Error('nothing is fetched'));
      const call = { hold: () => {}, signal: new AbortController().signal };
      const place = { inline: false, readsText: false, body: new JsonBody() };
      assert.equal(sizeOf(await messagesForUpstream(messages, place, call, { download })), count);
    });

  test('of a system message, at upstreams of each API', () => {
    const messages = [{ role: 'system', content: many(text) }];
    const [marked, joined] = [{ cache_control: { type: 'ephemeral' } }, {}].map((mark) =>
      messagesApi(adaptive).call({
        ...ask,
        messages: [...messages, { role: 'system', content: [{ ...text, ...mark }] }],
      }),
    );
    assert.equal(sizeOf(marked), count + 1);
    assert.equal((joined!.system as string).split('\n\n').length, count + 1);
    assert.equal(sizeOf(responsesApi.call({ ...ask, messages })), count);
  });

  const result = { type: 'tool_result', tool_use_id: 'a', content: many(image) };
  const contents: Record<string, Json[]> = {
    texts: many(text),
    images: many(image),
    'images of a tool': [result],
    calls: many({ type: 'tool_use', id: 'a', name: 'x', input: {} }),
  };
  for (const [what, content] of Object.entries(contents))
    test(`as ${what} of a call of Messages`, () => {
      const role = what === 'calls' ? 'assistant' : 'user';
      assert.equal(sizeOf(messagesChatBody({ ...ask, messages: [{ role, content }] })), count);
    });

  const picture = { type: 'input_image', image_url: 'https://a.example/x.png' };
  const call = { type: 'function_call', call_id: 'a', name: 'x', arguments: '{}' };
  const inputs: Record<string, Json[]> = {
    images: [{ role: 'user', content: many(picture) }],
    'images of a tool': [{ type: 'function_call_output', call_id: 'a', output: many(picture) }],
    calls: many(call),
  };
  for (const [what, input] of Object.entries(inputs))
    test(`as ${what} of a call of Responses`, () => {
      assert.equal(sizeOf(responsesChatBody({ ...ask, input })), count);
    });
});
