import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReadCall } from '../../src/core/apis/api.ts';
import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import { readMessagesCall } from '../../src/core/apis/messages/read-call.ts';
import { writeMessagesCall } from '../../src/core/apis/messages/write-call.ts';
import { readResponsesCall } from '../../src/core/apis/responses/read-call.ts';
import { writeResponsesCall } from '../../src/core/apis/responses/write-call.ts';
import { completionOf } from '../../src/upstreams/in-process.ts';
import { JsonBody } from '../../src/upstreams/json-body.ts';
import { withMedia } from '../../src/upstreams/openai/chat-media.ts';

/** Messages with as many parts and files as a call may have. */

type Json = Record<string, any>;

const count = 9_000;
const filesMax = 64;
const many = (part: Json, length = count) => Array.from({ length }, () => part);
const text = { type: 'text', text: 'x' };
const image = { type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } };
const pictures = many(
  { type: 'image_url', image_url: { url: 'https://a.example/x.png' } },
  filesMax,
);
const ask = { model: 'm', max_tokens: 100 };
/** How often the part is in the value: each time as a text or an address, or in a joined text. */
const sizeOf = (value: unknown) => JSON.stringify(value).match(/\bx\b(?!":)/g)?.length;

const dialect = { cacheControl: true, tool_name_max: 64, passes: new Set<string>() };
const adaptive = { ...dialect, thinking: 'adaptive', sampling: true } as const;
const calling = { ...ask, stream: false };
type Conversation = ReadCall['conversation'];
const writers: ((conversation: Conversation) => { body: Json })[] = [
  (conversation) => writeMessagesCall(conversation, calling, adaptive),
  (conversation) => writeMessagesCall(conversation, calling, { ...adaptive, thinking: 'budget' }),
  (conversation) => writeResponsesCall(conversation, calling, dialect),
  (conversation) => completionOf({ conversation, ...calling, cacheControl: true }),
];

async function arrives({ conversation }: ReadCall, what: string): Promise<void> {
  const length = what.includes('images') ? filesMax : count;
  for (const write of writers) assert.equal(sizeOf(write(conversation).body), length);
  const tools = { download: () => Promise.reject(new Error('nothing is fetched')) };
  const call = { conversation, hold: () => {}, signal: new AbortController().signal };
  const place = { inline: false, readsText: false, body: new JsonBody() };
  const sent = await withMedia(call as never, place, tools as never);
  assert.equal(sizeOf(sent.turns.map(({ blocks }) => blocks).map(valuesOf)), length);
}

const valuesOf = (blocks: Json[]): unknown[] =>
  blocks.map(
    (each) => each.text ?? each.media?.value ?? (each.blocks ? valuesOf(each.blocks) : 'x'),
  );

describe(`${count} parts and ${filesMax} files arrive at upstreams of each API`, () => {
  const chats: Record<string, Json[]> = {
    'of one message': [{ role: 'user', content: many(text) }],
    'of a later message of the same role': [
      { role: 'user', content: 'Hello.' },
      { role: 'user', content: many(text) },
    ],
    'of images': [{ role: 'user', content: pictures }],
    'of an answer': [{ role: 'assistant', content: many(text) }],
    'of a system message': [{ role: 'system', content: many(text) }],
  };
  for (const [what, messages] of Object.entries(chats))
    test(what, () => arrives(readCompletionsCall({ ...ask, messages }), what));

  test('of a marked system message', () => {
    const messages = [{ role: 'system', content: many(text) }];
    const [marked, joined] = [{ cache_control: { type: 'ephemeral' } }, {}].map((mark) => {
      const more = [...messages, { role: 'system', content: [{ ...text, ...mark }] }];
      const { conversation } = readCompletionsCall({
        ...ask,
        messages: [...more, { role: 'user', content: 'Hello.' }],
      });
      return writeMessagesCall(conversation, calling, adaptive).body as Json;
    });
    assert.equal(marked!.system.length, count + 1);
    assert.equal(joined!.system.split('\n\n').length, count + 1);
  });

  const result = { type: 'tool_result', tool_use_id: 'a', content: many(image, filesMax) };
  const contents: Record<string, Json[]> = {
    texts: many(text),
    images: many(image, filesMax),
    'images of a tool': [result],
    calls: many({ type: 'tool_use', id: 'a', name: 'x', input: {} }),
  };
  for (const [what, content] of Object.entries(contents))
    test(`as ${what} of a call of Messages`, () => {
      const role = what === 'calls' ? 'assistant' : 'user';
      return arrives(readMessagesCall({ ...ask, messages: [{ role, content }] }), what);
    });

  const picture = { type: 'input_image', image_url: 'https://a.example/x.png' };
  const call = { type: 'function_call', call_id: 'a', name: 'x', arguments: '{}' };
  const inputs: Record<string, Json[]> = {
    images: [{ role: 'user', content: many(picture, filesMax) }],
    'images of a tool': [
      { type: 'function_call_output', call_id: 'a', output: many(picture, filesMax) },
    ],
    calls: many(call),
  };
  for (const [what, input] of Object.entries(inputs))
    test(`as ${what} of a call of Responses`, () =>
      arrives(readResponsesCall({ ...ask, input }), what));
});

describe(`${count} results find their calls`, () => {
  const names = ['f', 'g'];
  /** Two of each name have no result. */
  const calls = Array.from({ length: count + 4 }, (_, i) => ({ function: { name: names[i % 2] } }));
  const readIds = (result: (i: number) => Json) => {
    const results = Array.from({ length: count }, (_, i) => ({ content: 'x', ...result(i) }));
    const messages = [{ role: 'assistant', tool_calls: calls }, ...results];
    const { conversation } = readCompletionsCall({ ...ask, messages });
    const [called, ...given] = conversation.turns.map(({ blocks }) => blocks as Json[]);
    return [called!.map(({ id }) => id).slice(0, count), given.map(([own]) => own!.call)];
  };

  test('by their order', () => {
    const [called, given] = readIds(() => ({ role: 'tool' }));
    assert.deepEqual(given, called);
  });
  test('by their names', () => {
    const [called, given] = readIds((i) => ({ role: 'function', name: names[i % 2] }));
    assert.deepEqual(given, called);
  });
  test('by their order behind one with a name', () => {
    const named = { role: 'function', name: 'g' };
    const [called, given] = readIds((i) => (i === 0 ? named : { role: 'tool' }));
    const [first, second, ...rest] = called!;
    assert.deepEqual(given, [second, first, ...rest]);
  });
  test('not if no call has their name', () => {
    const [, given] = readIds(() => ({ role: 'function', name: 'h' }));
    assert.deepEqual(new Set(given), new Set(['h']));
  });
});
