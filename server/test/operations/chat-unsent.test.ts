import { test } from 'node:test';
import assert from 'node:assert/strict';
import { runChat } from '../../src/operations/requests/run-chat.ts';
import { createFake } from '../kit/fake.ts';
import { chatRows, depsOf, runOf } from './chat-run-kit.ts';

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

for (const id of chatRows)
  for (const [what, before, whileRouting] of cases)
    test(`${id} is not called and costs nothing if ${what}`, async () => {
      const fake = createFake();
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
      const run = runOf(id, { keep: true, hasLeft: () => hasLeft });
      const circuit = {
        async keyFor() {
          whileRouting(world);
          return null;
        },
        noteSuccess: async () => {},
        noteFailure: async () => {},
      };
      const { deps, ends } = depsOf(fake, { circuit, cutoff: cutoff.signal });
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
