/** Files of conversations: one that was saved comes back whole, anything else is refused whole. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Conversation } from '../../src/studio/chat/conversations.ts';
import { asFile, fromFile } from '../../src/studio/chat/transfer.ts';

const png = { file_id: 'f', name: 'p.png', type: 'image/png', expires_at: '2026-01-08' };
/** It may be another account's, so it is uploaded again before it is sent. */
const over = { ...png, expires_at: '1970-01-01T00:00:00.000Z' };
const data = { f: 'data:image/png;base64,iVBORw0=' };
const saved = (...conversations: Conversation[]) => asFile({ conversations, files: data });

const chat: Conversation = {
  id: 'one',
  title: 'Piers',
  model: 'fake/chat',
  system: 'Be brief.',
  max_tokens: 20,
  temperature: undefined,
  messages: [
    { id: 'q', role: 'user', content: 'a pier?', files: [png] },
    { id: 'a', role: 'assistant', content: 'no', model: 'fake/chat', cost_usd_micro: '7' },
  ],
  branches: { q: { at: 1, tails: [[{ id: 'b', role: 'assistant', content: 'yes' }], []] } },
  updated_at: '2026-01-01T00:00:00.000Z',
};

test('a saved conversation comes back as a new one, with its files', () => {
  const { conversations, files } = fromFile(saved(chat))!;
  const [back] = conversations;
  assert.notEqual(back!.id, chat.id);
  const [asked, answered] = chat.messages;
  const messages = [{ ...asked, files: [over] }, answered];
  assert.deepEqual({ ...back, id: 'one' }, { ...chat, messages });
  assert.deepEqual(files, data);
});

test('conversations side by side come back side by side, beside the ones that they came from', () => {
  const beside = (id: string, at: number) => ({ ...chat, id, set: { id: 's', at } });
  const back = fromFile(saved(beside('one', 0), beside('two', 1), chat))!.conversations;
  const sets = back.map(({ set }) => set);
  assert.equal(sets[0]!.id, sets[1]!.id);
  assert.notEqual(sets[0]!.id, 's');
  assert.deepEqual([sets[0]!.at, sets[1]!.at, sets[2]], [0, 1, undefined]);
  assert.equal(new Set(back.map(({ id }) => id)).size, 3);
});

test('a file of an earlier version has images without a type', () => {
  const pictures = [{ file_id: 'f', name: 'p.png' }];
  const messages = [{ id: 'q', role: 'user', content: '', pictures }];
  const text = JSON.stringify({ farebox_chats: 1, conversations: [{ ...chat, messages }] });
  const [back] = fromFile(text)!.conversations;
  assert.deepEqual(back!.messages[0]!.files, [{ ...over, type: 'image/*' }]);
});

test('nothing that looks up a call comes along, and no unknown field', () => {
  const known = { request_id: 'r', key: 'k', tokens: { prompt: 1, completion: 1 } };
  const odd = { ...chat.messages[1]!, ...known, x: 1 };
  const [back] = fromFile(saved({ ...chat, messages: [odd] }))!.conversations;
  assert.deepEqual(back!.messages, [chat.messages[1]]);
});

describe('a file is refused whole if', () => {
  const of = (change: object) => JSON.stringify(changed({ ...chat, ...change }));
  const changed = (each: unknown) => ({ farebox_chats: 1, conversations: [chat, each] });
  const message = (change: object) => of({ messages: [{ ...chat.messages[0], ...change }] });
  const cases: Record<string, string> = {
    'it is empty': '',
    'it is a list': '[]',
    'it has another form': '{"farebox_chats":2,"conversations":[]}',
    'a conversation is null': JSON.stringify(changed(null)),
    'a title is a number': of({ title: 1 }),
    'a temperature is a text': of({ temperature: '1' }),
    'messages are an object': of({ messages: {} }),
    'a role is made up': message({ role: 'system' }),
    'a failure is an object': message({ failure: {} }),
    'a reasoning is a list': message({ reasoning: [] }),
    'a cost is below zero': message({ cost_usd_micro: '-1' }),
    'a file has no name': message({ files: [{ file_id: 'f' }] }),
    'a type is a number': message({ files: [{ ...png, type: 1 }] }),
    'a set is a text': of({ set: 's' }),
    'a place in a set is a text': of({ set: { id: 's', at: '0' } }),
    'the bytes of a file are no data': JSON.stringify({
      ...changed(chat),
      files: { f: 'https://example.com/p.png' },
    }),
    'versions are a list': of({ branches: [1] }),
    'a version is missing': of({ branches: { q: { at: 3, tails: [[]] } } }),
  };
  for (const [name, text] of Object.entries(cases))
    test(name, () => assert.equal(fromFile(text), null));
});
