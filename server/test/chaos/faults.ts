import {
  depositsUnderKills,
  everyMoment,
  repeated,
  storageAway,
  underLoad,
  type Scene,
} from './scenes.ts';

/**
 * Faults by name, each with the promise that holds in it, what plays it, and the guards without
 * which a test of it is red. `npm run chaos -- NAME` plays it.
 */
export interface FaultRow {
  fault: string;
  promise: string;
  /** Test files below `server/`. */
  tests: string[];
  /** Guards of the table in `guards.ts`; `npm run sabotage -- GUARD` switches one off. */
  guards: string[];
  scene?: Scene;
  /** Variables of the tests in the long form. */
  long?: Record<string, string>;
}

/** They have no guard of their own: they play the others, or are the check itself. */
export const unguarded = ['R31', 'R32', 'R33'];

export const faultRows: Record<string, FaultRow> = {
  R1: {
    fault: 'a worker is killed at random moments, while its upstream loses answers',
    promise: 'no request is lost, no upstream is paid twice, each is settled once',
    tests: ['test/worker/recovery.test.ts'],
    guards: ['class-c-sent-once', 'class-b-searched-first', 'handle-is-polled'],
    scene: underLoad({ faults: ['kill_worker'], rounds: { short: 12, long: 1_000 } }),
  },
  R2: {
    fault: 'a process dies at each moment between intent and settlement, with every adapter',
    promise: 'the next process comes to the end that the committed rows demand',
    tests: ['test/chaos/adapters.long.test.ts', 'test/worker/leases.test.ts'],
    guards: ['intent-before-call'],
    scene: everyMoment,
  },
  R3: {
    fault: 'a process that takes calls is killed, and callers repeat under the same key',
    promise: 'one request for each key, and a row behind each answer',
    tests: ['test/operations/submit.test.ts'],
    guards: ['repeat-is-one-request', 'balances-locked'],
    scene: underLoad({
      faults: ['kill_service'],
      rounds: { short: 12, long: 500 },
      met: ['callerRetries'],
    }),
  },
  R4: {
    fault: 'PostgreSQL is killed under load',
    promise: 'nothing acknowledged is lost; callers see 503 only, and nothing is restarted by hand',
    tests: ['test/http/load/database-away.long.test.ts', 'test/commands/trial.long.test.ts'],
    guards: ['postgres-comes-back'],
    scene: underLoad({
      faults: ['kill_postgres'],
      rounds: { short: 4, long: 100 },
      met: ['callerRetries'],
      pauseMs: 4_000,
    }),
  },
  R5: {
    fault: 'the answer to a commit is lost',
    promise: 'each write has its effect once',
    tests: ['test/http/load/lost-commits.long.test.ts'],
    guards: ['lost-commit-submit', 'lost-commit-end', 'lost-commit-begin'],
    scene: underLoad({
      faults: ['lose_commits'],
      rounds: { short: 8, long: 120 },
      met: ['lostCommits'],
    }),
  },
  R6: {
    fault: 'hundreds submit at once with money, or a limit, for a few',
    promise: 'exactly so many are accepted; never below zero, the others get 402',
    tests: [
      'test/operations/limits.test.ts',
      'test/operations/races.test.ts',
      'test/ledger/books.test.ts',
    ],
    guards: ['month-counts-reserved', 'monthly-limit', 'covered-by-balance'],
  },
  R7: {
    fault: 'a disk is full or fails to write: that of the media, that of PostgreSQL',
    promise:
      'new work is refused before room runs out; no half output; no byte that is not on disk',
    tests: [
      'test/http/load/disk-low.test.ts',
      'test/storage/disk.long.test.ts',
      'test/db/hostile-servers.long.test.ts',
    ],
    guards: ['not-ready-takes-nothing', 'bytes-reach-the-disk'],
  },
  R8: {
    fault: 'clocks of processes jump by hours and weeks while they run',
    promise: 'leases, ends of keys and deadlines follow the clock of the database',
    tests: ['test/db/keys.test.ts', 'test/operations/restored.long.test.ts'],
    guards: ['expired-key', 'minute-has-sixty-seconds'],
    scene: underLoad({ faults: ['jump_clock'], rounds: { short: 16, long: 500 } }),
  },
  R9: {
    fault: 'a worker stands still for longer than its lease, and goes on',
    promise: 'its late writes change nothing',
    tests: ['test/operations/advance.test.ts'],
    guards: ['own-attempt-begins', 'own-attempt-accepts', 'own-attempt-ends'],
    scene: underLoad({
      faults: ['stop_worker'],
      rounds: { short: 5, long: 200 },
      met: ['fenced'],
    }),
  },
  R10: {
    fault: 'workers claim the same rows, and callers cancel at that moment',
    promise: 'one winner each; a cancelled request reaches no upstream',
    tests: ['test/db/queue.test.ts', 'test/worker/claims.test.ts', 'test/operations/races.test.ts'],
    guards: ['claimed-waits-no-more', 'due-goes-to-one', 'refused-intent-sends-nothing'],
  },
  R11: {
    fault: 'an upstream hangs, drips, lies, breaks off, redirects or answers garbage',
    promise:
      'each request ends in time and right; nothing leaks, nothing above its reserve is charged',
    tests: [
      'test/upstreams/adapter-faults.test.ts',
      'test/upstreams/conformance.test.ts',
      'test/lib/fetch-faults.test.ts',
      'test/worker/bad-hour.long.test.ts',
    ],
    guards: ['lost-start-ends'],
  },
  R12: {
    fault: 'lines to PostgreSQL and to upstreams break, stall or fall silent',
    promise: 'calls go on over new lines; a hanging upstream leaves room for the others',
    tests: ['test/worker/hanging.test.ts', 'test/worker/renewal.long.test.ts'],
    guards: ['hanging-upstream-leaves-slots', 'lease-renewed'],
    scene: underLoad({
      faults: ['cut_line', 'hold_line', 'deafen_line'],
      rounds: { short: 6, long: 120 },
    }),
  },
  R13: {
    fault: 'a hundred duplicates of one call at once, half of them with another body',
    promise: 'one request and equal answers; another body conflicts; a chat is asked once',
    tests: [
      'test/operations/duplicates.test.ts',
      'test/operations/submit.test.ts',
      'test/http/requests/idempotency.test.ts',
      'test/http/api/chat/chat-repeat.test.ts',
    ],
    guards: ['other-body-conflicts', 'failed-call-frees-key', 'dead-chat-is-released'],
  },
  R14: {
    fault: 'random lives of accounts, keys and requests, with overtaken and lost workers',
    promise: 'the books agree with a model in memory after every step',
    tests: ['test/ledger/model.test.ts', 'test/ledger/books.test.ts', 'test/ledger/laws.test.ts'],
    guards: ['charge-within-reservation', 'never_below_zero', 'transfers_pending'],
    long: { LEDGER_RUNS: '2000', LEDGER_STEPS: '60' },
  },
  R15: {
    fault: 'callbacks and polls tell one end many times, and contradict each other',
    promise: 'one settlement and one notice; what comes later changes nothing',
    tests: [
      'test/operations/advance.test.ts',
      'test/http/api/callbacks.test.ts',
      'test/http/requests/webhooks.test.ts',
    ],
    guards: ['one-end-in-a-batch', 'callback-is-signed', 'one-notice'],
  },
  R16: {
    fault: 'processes are stopped and replaced one by one while callers go on',
    promise: 'no call fails; streams end with data or with an event that says why',
    tests: [
      'test/http/load/rolling.long.test.ts',
      'test/http/load/drain-calls.long.test.ts',
      'test/http/load/capacity.long.test.ts',
      'test/commands/processes.long.test.ts',
    ],
    guards: ['streams-told-of-the-stop'],
  },
  R17: {
    fault: 'malformed JSON, numbers, paths, headers and bodies',
    promise: 'a 4xx that says what is allowed, never a 5xx, and nothing is left behind',
    tests: ['test/http/malformed.test.ts', 'src/lib/json.long.test.ts'],
    guards: ['no-nul-in-texts'],
  },
  R18: {
    fault: 'bytes that are hardly HTTP: two lengths, odd chunks, bare line ends, doubled headers',
    promise: 'refused, and the connection closes; nothing is read as a second call',
    tests: ['test/http/malformed.test.ts', 'test/http/load/crowded.long.test.ts'],
    guards: ['one-idempotency-key'],
  },
  R19: {
    fault: 'callers that send heads or bodies byte by byte, or read nothing',
    promise: 'they are cut off in time, and others are served meanwhile',
    tests: [
      'test/http/load/overload.long.test.ts',
      'test/http/load/shares.test.ts',
      'test/http/load/crowded.long.test.ts',
      'src/lib/sse.test.ts',
    ],
    guards: ['slow-reader-is-cut'],
  },
  R20: {
    fault: 'addresses, names and redirects that lead to the own network',
    promise: 'refused before a byte is sent',
    tests: ['test/lib/guard.long.test.ts', 'test/lib/names.test.ts'],
    guards: ['literal-address-judged', 'name-judged-at-connect'],
  },
  R21: {
    fault: 'receivers of webhooks hang, redirect, refuse or answer without end',
    promise: 'the notices of others are not late; each attempt is signed and has its row',
    tests: ['test/worker/notices.test.ts', 'test/http/requests/webhooks.test.ts'],
    guards: ['webhook-judged-when-sent', 'one-notice'],
  },
  R22: {
    fault: 'many streams that are silent, or whose readers do not read',
    promise: 'what waits for a reader is bounded, then it is cut; each stream is settled',
    tests: [
      'src/lib/sse.test.ts',
      'test/http/load/left-slots.test.ts',
      'test/http/dashboard/page-events.long.test.ts',
    ],
    guards: ['slow-reader-is-cut'],
  },
  R23: {
    fault: 'more calls than a process takes',
    promise: 'what is above the limit is refused at once and reserves nothing',
    tests: ['test/http/load/capacity.long.test.ts', 'test/http/load/overload.long.test.ts'],
    guards: ['calls-bounded'],
  },
  R24: {
    fault: 'one account queues thousands of requests',
    promise: 'accounts take turns at each upstream',
    tests: ['test/db/queue.test.ts', 'test/worker/claims.test.ts'],
    guards: ['turns-go-round', 'upstream-slots'],
  },
  R25: {
    fault: 'a key is revoked or limited, an account suspended, a person signed out',
    promise: 'from the next call on, in every process; open streams end',
    tests: [
      'test/db/keys.test.ts',
      'test/http/api/key-changes.test.ts',
      'test/http/load/shares.test.ts',
    ],
    guards: ['revoked-key', 'suspended-account'],
  },
  R26: {
    fault: 'links of outputs are changed, late, or signed with a former secret',
    promise: 'no change opens anything; a link ends to the second, and outlives a rotation',
    tests: ['src/core/request/signature.test.ts', 'test/http/api/outputs.test.ts'],
    guards: ['output-link-signed', 'bad-link-opens-nothing'],
  },
  R27: {
    fault: 'each route with no key, a wrong one, that of another account or of a lower scope',
    promise: 'refused; a new route without its rows fails the tests',
    tests: ['test/http/authorization.test.ts', 'test/http/session/authorization.test.ts'],
    guards: ['key-scope', 'own-requests', 'own-files'],
  },
  R28: {
    fault:
      'a chat is left at each chunk; upstreams end without usage, with too much, or not at all',
    promise: 'charged by the published rule, within the reservation; nothing stays reserved',
    tests: [
      'test/upstreams/chat-billing.test.ts',
      'test/upstreams/chat-random.long.test.ts',
      'test/http/api/chat/chat-stream.test.ts',
      'test/http/api/chat/chat-left.test.ts',
    ],
    guards: ['broken-chat-is-free'],
  },
  R29: {
    fault: 'two versions beside each other; a migration is killed at any statement',
    promise: 'the version before serves on; a migration goes on where it stopped',
    tests: [
      'test/db/processes.test.ts',
      'test/db/beside.long.test.ts',
      'test/db/migration-locks.long.test.ts',
      'test/http/load/rolling.long.test.ts',
    ],
    guards: ['older-process-lives', 'migration-waits-for-writers', 'outdated-takes-no-calls'],
  },
  R30: {
    fault: 'a database is restored from a dump or to a point in time',
    promise: 'the copy pays no upstream and gives out no address until it is told to go on',
    tests: ['test/operations/restored.long.test.ts', 'test/commands/backup.long.test.ts'],
    guards: ['held-copy-issues-no-address', 'restored-copy-issues-new-addresses'],
  },
  R31: {
    fault: 'an hour of load with kills, pauses and broken lines',
    promise: 'no violation, and memory does not grow',
    tests: [],
    guards: [],
    scene: underLoad({
      faults: ['kill_worker', 'stop_worker', 'kill_postgres', 'lose_commits', 'cut_line'],
      rounds: { short: null, long: 500 },
      met: ['fenced', 'lostCommits', 'lostAnswers', 'repeats', 'callerRetries'],
      pauseMs: 4_000,
    }),
  },
  R32: {
    fault: 'guards of the source are switched off, one after the other',
    promise: 'a test is red for each; `npm run sabotage` tries all',
    tests: ['test/chaos/sabotage.test.ts', 'test/chaos/sabotage.long.test.ts'],
    guards: [],
  },
  R33: {
    fault: 'rows of the books are changed, removed or moved by hand',
    promise: 'the audit names them; what it cannot find is said',
    tests: [
      'test/ledger/audit.test.ts',
      'test/ledger/audit-guards.test.ts',
      'test/ledger/seals.test.ts',
      'test/ledger/auditor.test.ts',
    ],
    guards: [],
  },
  R34: {
    fault: 'keys, secrets and prompts in errors, headers and addresses',
    promise: 'none is in a line of the log',
    tests: [
      'src/lib/log.test.ts',
      'test/upstreams/keys-in-log.test.ts',
      'test/http/log-events.test.ts',
    ],
    guards: ['log-holds-no-secret'],
  },
  failover: {
    fault: 'the primary is killed, and a synchronous standby takes over; before, that was slow',
    promise: 'nothing acknowledged is lost; the processes go on without a restart',
    tests: ['test/db/hostile-servers.long.test.ts', 'test/operations/restored.long.test.ts'],
    guards: ['failover-leaves-addresses-out'],
    scene: repeated(
      underLoad({
        faults: ['slow_standby', 'none', 'fail_over', 'none', 'none', 'none'],
        rounds: { short: 6, long: 6 },
        met: ['callerRetries'],
        pauseMs: 1_000,
        standby: true,
      }),
      20,
    ),
  },
  patroni: {
    fault: 'the primary of `examples/ha` is killed; in the long form also frozen and cut off',
    promise: 'another node takes over, nothing acknowledged is lost, and no hand is needed',
    tests: ['test/operations/restored.long.test.ts'],
    guards: ['failover-leaves-addresses-out'],
    scene: underLoad({
      faults: [
        'lose_primary',
        'freeze_standby',
        'split_primary',
        'switch_over',
        'freeze_primary',
        'lose_etcd',
        'lose_majority',
      ],
      rounds: { short: 1, long: 21 },
      met: ['callerRetries'],
      pauseMs: 2_000,
    }),
  },
  pooler: {
    fault: 'PgBouncer in session mode is restarted under load',
    promise: 'each write has its effect once; the processes go on without a restart',
    tests: ['test/db/pooler.test.ts', 'test/http/load/lost-commits.long.test.ts'],
    guards: ['lost-commit-submit'],
    scene: underLoad({
      faults: ['restart_pooler'],
      rounds: { short: 6, long: 200 },
      met: ['callerRetries'],
      pauseMs: 1_500,
    }),
  },
  storage: {
    fault: 'the storage of media goes away and comes back',
    promise: 'what was paid for is kept, stored and charged once; text goes on',
    tests: ['test/worker/storage-away.long.test.ts', 'test/http/load/disk-low.test.ts'],
    guards: ['not-ready-takes-nothing'],
    scene: storageAway,
  },
  memory: {
    fault: 'one process runs out of memory in the midst of its work',
    promise: 'as a kill: the others go on, nothing is lost or paid twice',
    tests: ['test/worker/leases.test.ts', 'test/commands/processes.long.test.ts'],
    guards: ['intent-before-call'],
    scene: underLoad({ faults: ['exhaust_memory'], rounds: { short: 6, long: 300 } }),
  },
  deposits: {
    fault: 'services, workers and PostgreSQL are killed while deposits come in over reorgs',
    promise: 'each deposit is credited once',
    tests: ['test/chaos/deposits.long.test.ts', 'test/operations/deposits.test.ts'],
    guards: ['deposit-credited-once', 'newest-read-writes'],
    scene: depositsUnderKills,
  },
};
