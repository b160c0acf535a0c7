import type { Guard } from './guard.ts';

/** Between us and upstreams: no second bill, no place too many, nobody else's word. */
export const upstreams: Guard[] = [
  {
    guards: 'a route that was left is not asked again for the same request',
    file: 'src/worker/routes.ts',
    edits: [['const routes = left_routes ?? [];', 'const routes = (left_routes ?? []).slice(9);']],
    test: 'test/worker/lost.test.ts',
    name: 'is not asked again of the one that was left',
  },
  {
    guards: 'a late callback of a start that was left completes nothing',
    file: 'src/core/request.ts',
    edits: [['row.started === null || row.started.left', 'row.started === null']],
    test: 'test/worker/lost.test.ts',
    name: 'left for the next one, a late callback',
  },
  {
    guards: 'an answer that came is no reason for a second job',
    file: 'src/core/routing.ts',
    edits: [['return answer === undefined || first_byte_seconds !== undefined;', 'return true;']],
    test: 'test/worker/lost.test.ts',
    name: 'goes nowhere else',
  },
  {
    guards: 'a job that can be found nowhere again does not wait for its deadline',
    file: 'src/worker/recover.ts',
    edits: [['if (!canBeFound(row, upstream, task, deps))', 'if (task === "none")']],
    test: 'test/worker/bad-hour.test.ts',
    name: 'none waits for its deadline',
  },
  {
    guards: 'a chat that goes on leaves what it may have cost written down',
    file: 'src/operations/chat.ts',
    edits: [['await insertLeft(deps.db, {', 'void ({']],
    test: 'test/http/chat-lost.test.ts',
    name: 'goes on to the next upstream, is charged once',
  },
  {
    guards: 'one account alone closes a model for a moment only',
    file: 'src/core/busy.ts',
    edits: [['isAlone ? Math.min(wishSeconds, aloneMaxSeconds) : wishSeconds', 'wishSeconds']],
    test: 'test/worker/circuit.test.ts',
    name: 'for one model of one account is paused for that model',
  },
  {
    guards: 'one account and one model do not pause the whole upstream',
    file: 'src/core/busy.ts',
    edits: [['isAccountWide || models.size > 1 ||', 'isAccountWide || models.size > 0 ||']],
    test: 'test/worker/circuit.test.ts',
    name: 'for one model of one account is paused for that model',
  },
  {
    guards: 'a start whose answer was lost goes nowhere else',
    file: 'src/worker/start.ts',
    edits: [
      [
        "if (outcome.outcome === 'not_accepted') return elsewhere(row, outcome, chosen, deps);",
        "if (outcome.outcome === 'not_accepted' || outcome.outcome === 'unknown') return elsewhere(row, outcome as never, chosen, deps);",
      ],
    ],
    test: 'test/worker/routing.test.ts',
    name: 'goes nowhere else where its answer was lost',
  },
  {
    guards: 'a start that goes elsewhere takes a place there',
    file: 'src/db/queue.ts',
    edits: [['and ${lane.concurrency}::int > (select', 'and 1000000 > (select']],
    test: 'test/worker/routing.test.ts',
    name: 'waits for a place where the next one is full',
  },
  {
    guards: 'a start that goes elsewhere goes to the model that is meant there',
    file: 'src/core/routing.ts',
    edits: [['there.find((route) => route.model === model) ?? there[0]', 'there[0]']],
    test: 'test/worker/routing.test.ts',
    name: 'are two routes: the second has what the first did not take',
  },
  {
    guards: 'an upstream that refused is asked again after a pause only',
    file: 'src/worker/start.ts',
    edits: [['(again && isPaused) || ', '']],
    test: 'test/worker/waiting.test.ts',
    name: 'goes back to the upstream that refused it',
  },
  {
    guards: 'a success ends the row of failures, whoever saw them',
    file: 'src/operations/circuit.ts',
    edits: [['if (now < (known.get(model) ?? 0)) return;', 'if (known.size === 0) return;']],
    test: 'test/worker/circuit.test.ts',
    name: "are forgotten once another's model of the upstream went well",
  },
  {
    guards: 'a failure of long ago does not count',
    file: 'src/db/queue.ts',
    edits: [
      [
        'case when ${failure.counts_alone} or (select max(since) from d) <',
        "case when ${failure.counts_alone} or timestamptz '-infinity' <",
      ],
    ],
    test: 'test/db/queue.test.ts',
    name: 'forgets a failure of long ago',
  },
  {
    guards: 'a rest is not ended by a start from before it',
    file: 'src/db/queue.ts',
    edits: [["coalesce(failed_at <= now() - ${seconds}::float8 * interval '1 s', true)", 'true']],
    test: 'test/db/queue.test.ts',
    name: 'rests on when a start goes well that was made before',
  },
  {
    guards: 'a call back comes at an address that we signed',
    file: 'src/http/callbacks.ts',
    edits: [['!verifyCallback(deps.secrets, link, sig!) || ', '']],
    test: 'test/http/callbacks.test.ts',
    name: 'of an attempt it is not signed for',
  },
  {
    guards: 'a call back takes no lease away',
    file: 'src/db/requests.ts',
    edits: [[' and not r.leased\n', '\n']],
    test: 'test/http/callbacks.test.ts',
    name: 'takes no lease away',
  },
  {
    guards: 'a lease is renewed while its step goes on',
    file: 'src/worker/leases.ts',
    edits: [['held.extend(asked + this.#safeMs())', 'void asked']],
    test: 'test/worker/renewal.test.ts',
    name: 'keeps the request beyond its first lease',
  },
  {
    guards: 'an output is an input only by a link that we signed',
    file: 'src/http/media.ts',
    edits: [["if (verdict === 'valid') return true;", 'return true;']],
    test: 'test/worker/own-outputs.test.ts',
    name: 'without a signature',
  },
  {
    guards: 'a hanging upstream leaves places to the others',
    file: 'src/worker/worker.ts',
    edits: [
      [
        'createBudget(deps.settings.concurrency, null)',
        'createBudget(deps.settings.concurrency, Infinity)',
      ],
    ],
    test: 'test/worker/hanging.test.ts',
    name: 'leave places free',
  },
];
