import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { ReplyEvent } from '../../src/core/chat/reply.ts';
import { runChat, type Reader } from '../../src/operations/requests/run-chat.ts';
import { chatRows, depsOf, runOf } from './chat-run-kit.ts';

/** Chats whose reader fails after the model has begun to answer. */

const reply: ReplyEvent[] = [
  { type: 'text', text: 'one ', logprobs: null },
  { type: 'text', text: 'two', logprobs: null },
  { type: 'usage', usage: { prompt_tokens: 11, completion_tokens: 2 } },
  { type: 'end', reason: 'stop', stop: null },
];
const bug = new Error('a bug of the reader');
const fail = () => {
  throw bug;
};

/** A reader that fails at the n-th event; `told`: what it learns at the end. */
function failingAt(n: number, told: unknown[]): Reader<string> {
  let events = 0;
  const end = (what: unknown) => {
    told.push(what);
    return 'answered';
  };
  return { take: () => ++events < n || fail(), end, fail: end };
}

const cases: [what: string, open: (told: unknown[]) => Reader<string>, throws: boolean][] = [
  ['cannot be opened', fail, true],
  ['fails at the first event', (told) => failingAt(1, told), false],
  ['fails in the middle', (told) => failingAt(2, told), false],
];

for (const id of chatRows)
  for (const [what, open, throws] of cases)
    test(`${id} is settled once if its reader ${what}, which nobody blames the model for`, async () => {
      const told: unknown[] = [];
      let broke = 0;
      const run = runOf(id, { stream: true, keep: false, hasLeft: () => false });
      const events = async function* () {
        yield* reply;
      };
      const chat = async () => ({ outcome: 'reply', reportedUsage: null, events: events() });
      const circuit = {
        keyFor: async () => null,
        noteSuccess: async () => {},
        streamBegan: () => {},
        streamBroke: () => broke++,
      };
      const { deps, ends } = depsOf({ name: 'fake', chat }, { circuit });
      const ran = runChat(
        run,
        deps,
        () => () => {},
        () => open(told),
      );
      if (throws) await assert.rejects(ran, bug);
      else assert.equal(await ran, 'answered');
      assert.equal(ends.length, 1);
      const [end] = ends;
      assert.equal(end!.to, 'COMPLETED');
      // The model's own usage, if the whole reply is billed.
      if (run.model.on_disconnect === 'finish')
        assert.equal('tokens' in end! && end.tokens?.input_tokens, 11);
      assert.equal(broke, 0);
      assert.equal(told.length, throws ? 0 : 1);
    });
