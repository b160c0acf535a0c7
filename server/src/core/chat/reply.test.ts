import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gatherReply, type ReplyEvent, type TextPiece, type ThoughtPiece } from './reply.ts';

const text = (said: string, more: Partial<TextPiece> = {}): TextPiece => ({
  type: 'text',
  text: said,
  logprobs: null,
  ...more,
});
const thought = (said: string, more: Partial<ThoughtPiece> = {}): ThoughtPiece => ({
  type: 'thought',
  form: 'text',
  text: said,
  signature: null,
  id: null,
  format: null,
  index: null,
  ...more,
});
const call = (number: number): ReplyEvent => ({
  type: 'call',
  call: number,
  id: `c${number}`,
  name: 'look',
  custom: false,
});
const input = (number: number, said: string): ReplyEvent => ({
  type: 'input',
  call: number,
  text: said,
});
const stop: ReplyEvent = { type: 'end', reason: 'stop', stop: null };
const counted = (completion_tokens: number): ReplyEvent => ({
  type: 'usage',
  usage: { prompt_tokens: 9, completion_tokens },
});

function gathered(...events: ReplyEvent[]) {
  const reply = gatherReply();
  for (const event of events) reply.add(structuredClone(event));
  return reply;
}

describe('the events of a reply', () => {
  const rows: [what: string, events: ReplyEvent[], joined: ReplyEvent[]][] = [
    ['text', [text('a'), text('b'), stop], [text('ab'), stop]],
    [
      'text and a refusal',
      [text('a'), { ...text('b'), type: 'refusal' }],
      [text('a'), { ...text('b'), type: 'refusal' }],
    ],
    [
      'text of two phases',
      [text('a', { phase: 'commentary' }), text('b', { phase: 'commentary' }), text('c')],
      [text('ab', { phase: 'commentary' }), text('c')],
    ],
    [
      'text with log probabilities',
      [
        text('a', { logprobs: [{ token: 'a' }] }),
        text('b'),
        text('c', { logprobs: [{ token: 'c' }] }),
      ],
      [text('abc', { logprobs: [{ token: 'a' }, { token: 'c' }] })],
    ],
    ['text around a call', [text('a'), call(0), text('b')], [text('a'), call(0), text('b')]],
    [
      'thoughts',
      [
        thought('a', { index: 0, format: 'f' }),
        thought('b', { index: 0 }),
        thought('', { index: 0, signature: 'S', id: 'i' }),
        thought('c', { index: 1 }),
        thought('d', { index: 2 }),
        thought('e', { index: 3, form: 'hidden' }),
        thought('f', { index: 4, form: 'hidden' }),
      ],
      [
        thought('ab', { index: 0, format: 'f', signature: 'S', id: 'i' }),
        thought('c', { index: 1 }),
        thought('d', { index: 2 }),
        thought('e', { index: 3, form: 'hidden' }),
        thought('f', { index: 4, form: 'hidden' }),
      ],
    ],
    [
      'calls whose pieces are mixed',
      [
        call(0),
        input(0, '{'),
        call(1),
        input(1, '['),
        input(0, '}'),
        input(1, ']'),
        counted(3),
        stop,
      ],
      [call(0), input(0, '{}'), call(1), input(1, '[]'), stop],
    ],
    ['nothing', [], []],
  ];
  for (const [what, events, joined] of rows)
    test(`are as few as possible: ${what}`, () => {
      const reply = gathered(...events);
      assert.deepEqual(reply.events(), joined);
      const again = gathered(...reply.events());
      assert.deepEqual(again.events(), joined);
      assert.equal(again.text(), reply.text());
    });

  test('are given as they are, and go on to grow', () => {
    const first = text('a', { logprobs: [{ token: 'a' }] });
    const reply = gatherReply();
    reply.add(first);
    assert.equal(reply.text(), 'a');
    reply.add(text('b', { logprobs: [{ token: 'b' }] }));
    assert.deepEqual(first, text('a', { logprobs: [{ token: 'a' }] }));
    assert.equal(reply.text(), 'ab');
  });

  test('cannot be made many by a faulty upstream', () => {
    const reply = gatherReply();
    for (let i = 0; i < 5_000; i++) {
      reply.add(text('a'));
      reply.add(thought('b', { index: i % 1_000 }));
    }
    assert.ok(reply.events().length < 1_100);
    assert.equal(reply.text().length, 10_000);
  });
});

test('the text is all that the model wrote', () => {
  const reply = gathered(
    thought('a '),
    text('b '),
    { ...text('c '), type: 'refusal' },
    thought('hidden', { form: 'hidden', index: 0 }),
    thought('d ', { form: 'summary', index: 1 }),
    call(0),
    input(0, '{}'),
    stop,
  );
  assert.equal(reply.text(), 'a b c d look{}');
});

test('the end is the one that was said', () => {
  assert.equal(gathered(text('a')).end(), null);
  assert.deepEqual(gathered(text('a'), stop).end(), stop);
});

describe('usage', () => {
  test('is the last one', () => {
    const { usage } = gathered(counted(1), text('a'), counted(2), stop);
    assert.deepEqual(usage(true), { prompt_tokens: 9, completion_tokens: 2 });
    assert.equal(gathered(text('a')).usage(true), null);
  });

  test('that text outruns still counts, because it is more than nothing', () => {
    const { usage } = gathered(text('a'), counted(1), text('b'));
    assert.deepEqual(usage(false), { prompt_tokens: 9, completion_tokens: 1 });
  });

  const rows: [what: string, events: ReplyEvent[], hasEnded: boolean, counts: boolean][] = [
    ['before the text is none', [counted(0), text('a'), stop], true, false],
    ['between texts is none', [text('a'), counted(0), text('b')], true, false],
    ['before a call is none', [counted(0), call(0)], true, false],
    ['behind the text is one', [text('a'), counted(0), stop], true, true],
    ['behind the text of a reply that broke off is none', [text('a'), counted(0)], false, false],
    ['without text is one', [counted(0), stop], true, true],
    ['without text in a reply that broke off is one', [counted(0)], false, true],
    [
      'behind hidden data is one',
      [thought('x', { form: 'hidden', index: 0 }), counted(0)],
      false,
      true,
    ],
  ];
  const cached = { cached_tokens: 0, cache_write_tokens: 0 };
  for (const [what, events, hasEnded, counts] of rows)
    test(`of 0 ${what}`, () => {
      const told = { prompt_tokens: 9, completion_tokens: 0 };
      const prompt = { prompt_tokens: 9, prompt_tokens_details: cached };
      assert.deepEqual(gathered(...events).usage(hasEnded), counts ? told : prompt);
    });

  test('of 0 that is none says nothing of a prompt of 0', () => {
    const zero: ReplyEvent = { type: 'usage', usage: { prompt_tokens: 0, completion_tokens: 0 } };
    assert.equal(gathered(zero, text('a')).usage(true), null);
  });
});
