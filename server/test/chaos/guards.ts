/**
 * Guards of the service, each with the test that must fail without it: test file below `server/`,
 * name of the guard, part of the name of the test or its group.
 *
 * The source names a guard in a comment `guard: NAME`; `switch-off.ts` says where, and how the
 * guard is switched off.
 */
type Tests = Record<string, Record<string, string>>;

const overtaken = 'a move under another attempt changes nothing';

export const guards: Tests = {
  'test/operations/advance.test.ts': {
    // A worker whose claim was overtaken by a later one changes nothing.
    'own-attempt-begins': overtaken,
    'own-attempt-accepts': overtaken,
    'own-attempt-waits': overtaken,
    'own-attempt-requeues': overtaken,
    'own-attempt-clears': overtaken,
    'own-attempt-rests': overtaken,
    'own-attempt-notifies': overtaken,
    'own-attempt-ends': 'nothing under an older attempt',
    'first-handle-stays': 'is never written over',
    'cancel-takes-what-waits': 'an end takes',
    'running-cancelled-on-request': 'takes a running request only if its caller asked',
    'first-cancel-stays': 'keeps the time and the rule of the first',
    'cancelled-not-begun': 'a move of a request that is over changes nothing',
    'one-end-in-a-batch': 'of one request in one batch take it once',
    'wrong-charge-fails-alone': 'each get their own verdict, in order',
  },
  'test/db/processes.test.ts': {
    'older-process-lives': 'is refused with their names',
    'migration-waits-for-writers': 'waits for transactions that hold money',
    'outdated-takes-no-calls': 'refuses calls with the reason',
  },
  'test/operations/submit.test.ts': {
    'balances-locked': 'three hundred submits of three accounts',
    'repeat-is-one-request': 'the same key in one batch is one request',
    'other-body-conflicts': 'the same key in one batch is one request',
    'refused-submit': 'its own error is returned',
  },
  'test/operations/limits.test.ts': {
    'month-counts-reserved': 'is kept to the micro',
    'monthly-limit': 'is kept to the micro',
    'open-jobs': 'are limited by key',
  },
  'test/operations/races.test.ts': {
    'refused-intent-sends-nothing': 'has one winner: cancelled and never started',
  },
  'test/ledger/books.test.ts': {
    'covered-by-balance': 'a refused reservation changes nothing',
    'charge-within-reservation': 'out of 50',
  },
  'src/core/deposit/deposit.test.ts': {
    'dust-is-ignored': 'less than the minimum is dust',
    'both-endpoints-agree': 'what one endpoint alone knows is held',
    'credited-by-hand-is-reviewed': 'what was credited by hand is held',
    'trifles-leave-no-trace': 'leaves no trace below a hundredth',
  },
  'test/chains/chains.test.ts': {
    'play-key-is-for-the-trial': 'the public key of a mnemonic that everybody knows',
    'chain-has-one-name': 'are refused if one has two names',
  },
  'test/chains/rpc.test.ts': {
    'reply-is-to-this-call': 'to another call',
  },
  'test/chains/read-chain.test.ts': {
    'only-final-is-credited': 'what was paid in final blocks, and what is above them',
    'replaced-block-stops': 'of a final block stops the reading',
    'both-endpoints-asked': 'do not confirm it with one',
    'both-endpoints-call-it-final': 'of which one calls blocks final an hour late',
    'answer-fits-question': 'is not believed',
    'block-time-is-judged': 'is not believed, and the read goes on when it is right again',
  },
  'test/operations/decide-deposit.test.ts': {
    'deposit-decided-once': 'once, if several do it at the same moment',
    'credited-by-hand-is-asked': 'that was booked by hand under its hash only with a confirmation',
    'one-transaction-a-reference': 'would keep the chain from crediting only one',
    'credited-by-chain-is-refused': 'is refused once the chain has credited it',
    'deposit-stays-with-owner': 'deposit_of_other',
  },
  'test/operations/deposit-keys.test.ts': {
    'new-addresses-bounded': 'until the account has twenty',
    'trial-address-is-not-read':
      'a deposit to an address of the trial is credited only in the trial',
  },
  'test/operations/restored.long.test.ts': {
    'restored-copy-issues-new-addresses':
      'an address that an account got after the backup is given to no other',
    'failover-leaves-addresses-out': 'goes on at once',
    'held-copy-issues-no-address':
      'an address that an account got after the backup is given to no other',
  },
  'test/operations/deposits.test.ts': {
    'deposit-credited-once': 'is credited once, under the name of its place',
    'newest-read-writes': 'found by an attempt that another has overtaken',
    'replaced-key-shows-nothing': 'if the configured key differs from the stored one',
    'changed-address-is-not-shown': 'if somebody changed it in the database',
  },
  'test/http/dashboard/play-deposits.test.ts': {
    'play-money-in-the-trial': 'play tokens are paid only in the trial',
    'addresses-for-payers': 'only to people who may pay',
  },
  'test/ledger/deposit.test.ts': {
    'deposit-booked-once': 'ten at once are booked once',
    'debt-is-allowed': 'downwards never takes reserved money',
  },
  'test/ledger/bonus.test.ts': {
    'reserved-bonus-stays': 'leaves what is reserved',
  },
  'test/ledger/debt.test.ts': {
    'debt-paid-first': 'is paid first by deposits',
  },
  'test/ledger/refund.test.ts': {
    'refund-within-charge': 'ten at once give back no more than the charge',
  },
  'src/core/price/price.test.ts': {
    'charge-within-quote': 'charge',
  },
  'src/core/request/request.test.ts': {
    'deadline-ends': 'past its deadline a polled job is given up',
    'called-off-not-started': 'a cancelled start that was refused is called off',
  },
  'test/db/sql.test.ts': {
    'commit-is-checked': 'whose error was caught does not count as committed',
  },
  'test/http/operator/scopes.test.ts': {
    'operator-scope': 'needs its scope',
    'revoked-operator-key': 'is closed to everyone else',
    'operator-calls-a-minute': 'refused above the limit',
  },
  'test/http/api/keys.test.ts': {
    'studio-key-unmanaged': 'not the key of the studio',
    'keys-made-a-day': 'made in a day are bounded',
    'managers-unmanaged': 'cannot be changed or revoked by itself or another',
  },
  'test/http/api/managing-keys.test.ts': {
    'keys-changed-a-day': 'changes by a managing key are limited a day',
    'keys-by-api': 'may not manage keys by API is refused',
    'managers-only-if-allowed': 'may not manage keys by API is refused',
  },
  'test/http/operator/calls.test.ts': {
    'keys-leave-operators': 'is left alone by a key',
  },
  'test/http/operator/people.test.ts': {
    'owners-choose-operators': 'reaches customers, and nobody who runs the service',
  },
  'test/http/operator/console.test.ts': {
    'earlier-invitations-end': 'an invitation by a leaked key ends',
    'keys-vouch-for-nobody': 'a leaked key proves nobody',
  },
  'test/db/keys.test.ts': {
    'calls-add-up': 'are exact when many processes count at once',
    'minute-has-sixty-seconds': 'are counted from 0 again a minute after the first',
    'revoked-key': 'a revoked key has no owner from the next call on',
    'expired-key': 'the end of a key',
    'rotated-secret-ends': 'ends the earlier secret with the overlap',
    'one-rotation': 'of one secret happens once',
  },
  'test/db/queue.test.ts': {
    'claim-is-new-attempt': 'takes a request whose lease is over',
    'upstream-slots': 'takes no more requests than the upstream has slots',
    'turns-go-round': 'go round the accounts',
    'claimed-waits-no-more': 'is claimed by one worker',
    'due-goes-to-one': 'skips a row that another transaction has locked',
    'old-failure-forgotten': 'forgets an old failure',
    'pause-stays': 'stays paused when a start from before the pause succeeds',
  },
  'test/db/queue-slots.test.ts': {
    'slots-counted-by-one': 'a second worker waits for the first to count',
  },
  'test/worker/read-chains.test.ts': {
    'renamed-chain-is-not-read': 'read under another name is not read again',
    'renamed-chain-is-not-resumed': 'read under another name is not read again',
  },
  'test/worker/leases.test.ts': {
    'intent-before-call': 'is dropped and counted',
  },
  'test/worker/renewal.long.test.ts': {
    'lease-renewed': 'keeps the request beyond its first lease',
  },
  'test/worker/cancel-running.test.ts': {
    'stop-committed-first': 'and forgets the job',
  },
  'test/worker/recovery.test.ts': {
    'class-c-sent-once': 'is never sent again; if nothing can call back',
    'class-b-searched-first': 'class B: is found, and not sent again',
    'handle-is-polled': 'a stored handle is polled in every class',
  },
  'test/worker/bad-hour.long.test.ts': {
    'lost-start-ends': 'none waits for its deadline',
  },
  'test/worker/waiting.test.ts': {
    'refused-keeps-its-turn': 'gets the next slot before all requests that were submitted after it',
    'refused-upstream-rests': 'goes back to the upstream that refused it',
  },
  'test/worker/outputs.test.ts': {
    'unwritten-end-backs-off': 'an end that cannot be written is tried again less and less often',
    'outputs-per-attempt': 'is removed, and the outputs that count stay',
  },
  'test/worker/own-outputs.test.ts': {
    'input-link-signed': 'without a signature',
  },
  'test/worker/lost.test.ts': {
    'left-route-not-asked-again':
      'is not started again at the first one while the next one has no free slot',
    'left-start-not-completed': 'left for the next one, a late callback',
    'answer-is-no-loss': 'goes to no other route',
    'slow-image-let-go': 'too slow for first_byte_seconds',
  },
  'test/worker/routing.test.ts': {
    'job-with-id-stays': 'goes to no other route after a lost answer',
    'next-upstream-slots': 'waits for a slot if the next one is full',
    'meant-model': 'are two routes',
  },
  'test/worker/circuit.test.ts': {
    'lone-account-pauses-briefly': 'for one model of one account is paused for that model',
    'one-model-pauses-itself': 'for one model of one account is paused for that model',
    'success-ends-failures': "are forgotten once another account's call of the upstream succeeds",
  },
  'test/worker/hanging.test.ts': {
    'hanging-upstream-leaves-slots': 'leave places free',
  },
  'test/http/load/lost-commits.long.test.ts': {
    'lost-commit-submit': 'a submit: 202, and one request is reserved for',
    'lost-commit-end': 'a cancel: 200, and its reservation is released once',
    'lost-commit-begin': 'the intent to start a job: who recognises no repeat is asked once',
  },
  'test/http/api/chat/chat-stream.test.ts': {
    'broken-chat-is-free': 'zero output with an error finish is free',
  },
  'test/http/api/chat/chat-repeat.test.ts': {
    'failed-call-frees-key': 'a call that failed frees its key',
    'dead-chat-is-released': 'is released when it is due, and its key is free',
  },
  'test/http/api/chat/chat-lost.test.ts': {
    'left-chat-is-written': 'goes on to the next upstream, is charged once',
    'lost-waits': 'goes to no other route if the row or the route says wait',
    'patience-for-streams': 'does not bound a reply that is not streamed',
  },
  'test/http/rate.test.ts': {
    'calls-a-minute': 'does not let a refused call through to its work',
  },
  'test/http/api/key-changes.test.ts': {
    'key-models': 'is for the models of the key',
    'suspended-account': 'a change applies from the next call on',
  },
  'test/http/authorization.test.ts': {
    'key-scope': 'a key of scope keys',
    'own-files': 'lets in whom it should',
    'own-requests': 'what belongs to another account',
    'key-checksum': 'a key that cannot be one is refused without a look-up',
  },
  'test/http/api/callbacks.test.ts': {
    'callback-is-signed': 'of an attempt it is not signed for',
    'callback-keeps-lease': 'that comes before the answer of the start ends no lease',
  },
  'test/http/requests/webhooks.test.ts': {
    'webhook-judged-when-sent': 'an address that is not public is not called',
    'one-notice': "the receiver's answer is recorded",
  },
  'test/http/requests/local-webhooks.test.ts': {
    'local-webhooks-in-the-trial': 'outside a trial the demo account is refused',
    'local-webhooks-of-the-demo-account': 'of another account in the trial are refused',
  },
  'test/http/api/outputs.test.ts': {
    'output-link-signed': 'with a link that was changed in any way',
    'bad-link-opens-nothing': 'with a link that was changed in any way',
    'own-outputs': 'with the key of another account it is not there',
    'outputs-end-after-a-day': 'ends 24 hours after completion',
  },
  'test/http/requests/queue.test.ts': {
    'own-input-files': 'of another account is refused like an unknown one',
  },
  'test/http/load/capacity.long.test.ts': {
    'calls-bounded': 'above the limit are refused at once',
    'streams-told-of-the-stop': 'answers waiting calls, and ends streams with an event',
  },
  'test/http/load/disk-low.test.ts': {
    'not-ready-takes-nothing': 'refuses submits of media and uploads with 503',
  },
  'test/http/malformed.test.ts': {
    'no-nul-in-texts': 'is refused:',
    'one-idempotency-key': 'is refused:',
  },
  'test/storage/disk.long.test.ts': {
    'bytes-reach-the-disk': 'bytes that did not reach the disk',
  },
  'test/lib/names.test.ts': {
    'name-judged-at-connect': 'the forbidden listener hears nothing',
  },
  'test/lib/guard.long.test.ts': {
    'literal-address-judged': 'is refused for a literal address of our own',
  },
  'src/lib/sse.test.ts': {
    'slow-reader-is-cut': 'a reader',
  },
  'src/lib/log.test.ts': {
    'log-holds-no-secret': 'a secret in a line is cut out',
  },
  'test/http/operator/left-starts.long.test.ts': {
    'left-start-booked-once': 'is an unknown outcome beside its completed request',
    'left-start-costs-there': 'counts on the day it was left',
  },
  'test/commands/bulk.test.ts': {
    'all-rows-or-none': 'accounts that exist or are there twice, and addresses that are none',
  },
  'test/commands/serve.test.ts': {
    'one-service-a-folder': 'a second service in the folder is refused',
    'failed-start-stops-postgres': 'a port in use is said in words',
  },
  'test/commands/serve.long.test.ts': {
    'no-worker': 'a worker completes waiting requests without a service',
    'stop-during-start': 'stopped in the midst of its start',
  },
  'test/commands/trial.long.test.ts': {
    'one-demo-key': 'a second start tells a human the same key',
    'postgres-comes-back': 'its PostgreSQL comes back by itself',
  },
  'test/commands/verbs.test.ts': {
    'verb-stops-postgres': 'a verb starts the embedded database for itself and leaves none behind',
    'refusal-exits-2': 'invalid commands are refused in words, exit 2',
  },
  'test/db/migrate-start.long.test.ts': {
    'newer-database-left-alone': 'a database that a newer version has migrated',
    'durable-database': 'prevent a start of the service',
  },
  'test/db/embedded-server.long.test.ts': {
    'verb-leaves-postgres': 'stops the server unless another process or a client uses it',
  },
};

/**
 * Laws of the schema, by the name of their constraint, index or trigger: how to drop it, and a part
 * of the name of the test in `laws.test.ts` that must then fail.
 */
export const laws: Record<string, { drop: string; test: string }> = {
  transfers_pending: {
    drop: 'drop index transfers_pending',
    test: 'a transfer is refused',
  },
  never_below_zero: {
    drop: 'alter table balances drop constraint never_below_zero',
    test: 'a balance is refused',
  },
  transfers_append_only: {
    drop: 'drop trigger transfers_append_only on transfers',
    test: 'transfers are never changed',
  },
  open_request_wakes: {
    drop: 'alter table requests drop constraint open_request_wakes',
    test: 'a request is refused',
  },
  request_inputs_idempotency: {
    drop: 'drop index request_inputs_idempotency',
    test: 'twice under one idempotency key',
  },
};
