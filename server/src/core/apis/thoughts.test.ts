import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamedReply } from '../../../test/kit/chat-apis.ts';
import { growThoughts, type ThoughtPiece } from '../chat/reply.ts';
import { messagesWriter } from './messages/write-reply.ts';
import { pack } from './thoughts.ts';
import { readResponsesCall } from './responses/read-call.ts';

/** Reasoning of different origin stays apart, so that no signature proves a foreign text. */

type Json = Record<string, any>;

const foreign = { type: 'reasoning.text', text: 'foreign', format: 'other-v1', index: 0 };
const own = {
  type: 'reasoning.text',
  text: 'own',
  signature: 'proof',
  format: 'anthropic-claude-v1',
  index: 0,
};

test('items of a call: a foreign one and one of ours', () => {
  const unsigned = { ...own, format: null };
  for (const details of [[own], [unsigned]]) {
    const ours = { type: 'reasoning', encrypted_content: pack({ details, text: '' }) };
    const theirs = { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'foreign' }] };
    const answer = { role: 'assistant', content: 'Hello.' };
    for (const input of [
      [theirs, ours, answer],
      [ours, theirs, answer],
    ]) {
      const { turns } = readResponsesCall({ model: 'm', input }).conversation;
      const said = turns[0]!.blocks.flatMap((block) =>
        block.type === 'thought' ? [[block.text, block.signature]] : [],
      );
      assert.deepEqual(said.toSorted(), [
        ['foreign', null],
        ['own', 'proof'],
      ]);
    }
  }
});

test('pieces of a reply: with one index and two formats', () => {
  const thoughts: ThoughtPiece[] = [];
  for (const { text, format, index, signature = null } of [foreign, own] as Json[])
    growThoughts(thoughts, {
      type: 'thought',
      form: 'text',
      id: null,
      text,
      signature,
      format,
      index,
    });
  assert.deepEqual(
    thoughts.map(({ text, signature }) => [text, signature]),
    [
      ['foreign', null],
      ['own', 'proof'],
    ],
  );
  const chunks = [foreign, own].map((detail) => ({
    choices: [{ index: 0, delta: { reasoning_details: [detail] }, finish_reason: null }],
  }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const events = streamedReply(messagesWriter, [...chunks, end], usage).map(
    ({ data }) => JSON.parse(data) as Json,
  );
  const signed = events.filter(({ delta }) => delta?.type === 'signature_delta');
  const texts = events.filter(({ delta }) => delta?.type === 'thinking_delta');
  assert.deepEqual(
    texts.map(({ index, delta }) => [index, delta.thinking]),
    [
      [0, 'foreign'],
      [1, 'own'],
    ],
  );
  const proofs = signed.filter(({ delta }) => delta.signature === 'proof');
  assert.deepEqual(
    proofs.map(({ index }) => index),
    [1],
  );
});
