import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBlocks } from './messages-blocks.ts';
import { pack } from './packed.ts';
import { growReasoning, type Reasoning } from './responses-reasoning.ts';
import { responsesChatBody } from './responses-request.ts';

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
      const { messages } = responsesChatBody({ model: 'm', input }) as Json;
      const said = messages[0].reasoning_details.map(({ text, signature }: Json) => [
        text,
        signature,
      ]);
      assert.deepEqual(said.toSorted(), [
        ['foreign', undefined],
        ['own', 'proof'],
      ]);
    }
  }
});

test('two items of ours with pieces of one thought are that thought', () => {
  const [begun, ended] = [
    { ...own, text: 'one ', signature: null },
    { ...own, text: 'two' },
  ].map((detail) => ({
    type: 'reasoning',
    encrypted_content: pack({ details: [detail], text: '' }),
  }));
  const answer = { role: 'assistant', content: 'Hello.' };
  const { messages } = responsesChatBody({ model: 'm', input: [begun, ended, answer] }) as Json;
  assert.deepEqual(messages[0].reasoning_details, [{ ...own, text: 'one two' }]);
});

test('pieces of a reply: with one index and two formats', () => {
  const reasoning: Reasoning = { details: [], text: '' };
  for (const { text, format, index, signature = null } of [foreign, own] as Json[])
    growReasoning(reasoning, {
      type: 'reasoning',
      kind: 'text',
      id: null,
      text,
      signature,
      format,
      index,
    });
  assert.deepEqual(
    reasoning.details.map(({ text, signature }) => [text, signature]),
    [
      ['foreign', null],
      ['own', 'proof'],
    ],
  );
  const blocks = openBlocks('r', []);
  const events = [foreign, own].flatMap((detail) =>
    blocks.add({ choices: [{ index: 0, delta: { reasoning_details: [detail] } }] }),
  ) as Json[];
  const signed = events.filter(({ delta }) => delta?.type === 'signature_delta');
  const texts = events.filter(({ delta }) => delta?.type === 'thinking_delta');
  assert.deepEqual([signed.length, texts.map(({ index }) => index)], [1, [0, 1]]);
  assert.equal(signed[0]!.index, 1);
});
