import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import type { Model, ModelUpstream } from '../../src/core/catalog/catalog.ts';
import { price } from '../../src/core/price/price.ts';
import type { EndTransition } from '../../src/core/request/request.ts';
import { createBudget } from '../../src/lib/budget.ts';
import { runChat, type ChatDeps } from '../../src/operations/requests/run-chat.ts';
import type { ChatRun } from '../../src/operations/requests/call-routes.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { createFake } from '../kit/fake.ts';
import { fakeCatalog } from '../kit/service.ts';

/** Chats that end after their reservation and before anything is sent to a model. */

interface World {
  leave: () => void;
  stop: () => void;
}

const cases: [
  what: string,
  before: (world: World) => void,
  whileRouting: (world: World) => void,
][] = [
  ['its caller leaves, and nobody can read on', () => {}, ({ leave }) => leave()],
  ['its caller had left, and nobody can read on', ({ leave }) => leave(), () => {}],
  ['the server stops', () => {}, ({ stop }) => stop()],
  ['the server was about to end when it began', ({ stop }) => stop(), () => {}],
];

for (const id of ['fake/drain/chat', 'fake/chat'])
  for (const [what, before, whileRouting] of cases)
    test(`${id} is not called and costs nothing if ${what}`, async () => {
      const row = parseCatalogText(fakeCatalog, 'fake.yaml').rows.find((each) => each.id === id);
      const model = row as unknown as Model;
      const fake = createFake();
      const ends: EndTransition[] = [];
      const cutoff = new AbortController();
      let hasLeft = false;
      let onLeave = () => {};
      const world: World = {
        leave() {
          hasLeft = true;
          onLeave();
        },
        stop: () => cutoff.abort(),
      };
      const body = { model: id, messages: [{ role: 'user', content: 'hello' }] };
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
        keep: true,
        // A repeat with the same Idempotency-Key may ask for the reply.
        isAwaited: () => true,
        hasLeft: () => hasLeft,
        created: 1,
      };
      const circuit = {
        async keyFor() {
          whileRouting(world);
          return null;
        },
        noteSuccess: async () => {},
        noteFailure: async () => {},
      };
      const deps = {
        upstreams: new Map([['fake', fake]]),
        circuit,
        inputBytes: createBudget(1_000, null),
        drains: createBudget(0, null),
        operations: {
          async end(ending: EndTransition) {
            ends.push(ending);
            return new Date();
          },
        },
        cutoff: cutoff.signal,
        log: { debug() {} },
      } as unknown as ChatDeps;
      before(world);
      const watch = (callback: () => void) => {
        onLeave = callback;
        if (hasLeft) callback();
        return () => {};
      };
      await assert.rejects(runChat(run, deps, watch, () => assert.fail('a reply began')));
      assert.equal(fake.chats.length, 0);
      assert.deepEqual(
        ends.map((end) => [end.to, 'code' in end && end.code, 'charge' in end]),
        [['FAILED', 'upstream_failed', false]],
      );
    });
