import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import type { Model, ModelUpstream } from '../../src/core/catalog/catalog.ts';
import type { ReplyEvent } from '../../src/core/chat/reply.ts';
import { price } from '../../src/core/price/price.ts';
import type { EndTransition } from '../../src/core/request/request.ts';
import { createBudget } from '../../src/lib/budget.ts';
import type { ChatRun } from '../../src/operations/requests/call-routes.ts';
import { runChat, type ChatDeps, type Reader } from '../../src/operations/requests/run-chat.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { fakeCatalog } from '../kit/service.ts';

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

// One row bills the whole reply, the other one what was delivered.
for (const id of ['fake/drain/chat', 'fake/chat'])
  for (const [what, open, throws] of cases)
    test(`${id} is settled once if its reader ${what}, which nobody blames the model for`, async () => {
      const row = parseCatalogText(fakeCatalog, 'fake.yaml').rows.find((each) => each.id === id);
      const model = row as unknown as Model;
      const ends: EndTransition[] = [];
      const told: unknown[] = [];
      let broke = 0;
      const body = { model: id, stream: true, messages: [{ role: 'user', content: 'hello' }] };
      const run: ChatRun = {
        request_id: 'r',
        account_id: 'a',
        key_id: 'k',
        call: readCompletionsCall(body),
        body,
        model,
        files: {},
        routes: [{ upstream: 'fake', model: 'chat', cost_usd_micro: null } as ModelUpstream],
        quote: price(model, { input_tokens: 1_000, output_tokens: 100 }),
        max_tokens: 100,
        keep: false,
        isAwaited: () => true,
        hasLeft: () => false,
        created: 1,
      };
      const events = async function* () {
        yield* reply;
      };
      const chat = async () => ({ outcome: 'reply', reportedUsage: null, events: events() });
      const deps = {
        upstreams: new Map([['fake', { name: 'fake', chat }]]),
        circuit: {
          keyFor: async () => null,
          noteSuccess: async () => {},
          streamBegan: () => {},
          streamBroke: () => broke++,
        },
        inputBytes: createBudget(1_000, null),
        drains: createBudget(0, null),
        operations: {
          async end(ending: EndTransition) {
            ends.push(ending);
            return new Date();
          },
        },
        cutoff: new AbortController().signal,
        log: { debug() {} },
      } as unknown as ChatDeps;
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
      if (model.on_disconnect === 'finish')
        assert.equal('tokens' in end! && end.tokens?.input_tokens, 11);
      assert.equal(broke, 0);
      assert.equal(told.length, throws ? 0 : 1);
    });
