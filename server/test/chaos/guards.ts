/**
 * The guards of the service, each with the edit that takes it away and the test that has to notice.
 * All paths are below `server/`.
 */
export interface Guard {
  /** The law, in words. */
  guards: string;
  /** The file that is spoiled. */
  file: string;
  /** Old text, found exactly once, and new text. */
  edits: [from: string, to: string][];
  /** The test file that must turn red. */
  test: string;
  /** A part of the test's name as it is written there, or the name of its group. */
  name: string;
}

const requests = 'src/db/requests.ts';
const advance = 'src/operations/advance.ts';
const submit = 'src/operations/submit.ts';
const ledger = 'src/ledger/ledger.ts';
const start = 'src/worker/start.ts';
const schema = 'migrations/0001_init.sql';

const ownAttempt = 'r.id = d.id and r.attempt = d.attempt';
const overtaken = {
  test: 'test/operations/advance.test.ts',
  name: 'a move under another attempt changes nothing',
};

/** A worker that was overtaken by a later claim changes nothing. */
const fences: Guard[] = [
  {
    guards: 'an overtaken worker begins nothing',
    file: requests,
    edits: [[`where ${ownAttempt} and r.status in (`, `where r.id = d.id and r.status in (`]],
    ...overtaken,
  },
  {
    guards: 'an overtaken worker accepts nothing',
    file: requests,
    edits: [
      [
        `${ownAttempt}\n      and r.status = 'IN_PROGRESS'`,
        `r.id = d.id\n      and r.status = 'IN_PROGRESS'`,
      ],
    ],
    ...overtaken,
  },
  {
    guards: 'an overtaken worker puts nothing off',
    file: requests,
    edits: [
      [`${ownAttempt} and r.status = 'IN_PROGRESS'`, `r.id = d.id and r.status = 'IN_PROGRESS'`],
    ],
    ...overtaken,
  },
  {
    guards: 'an overtaken worker hands nothing back',
    file: requests,
    edits: [[`where ${ownAttempt} and r.wake_at is`, `where r.id = d.id and r.wake_at is`]],
    ...overtaken,
  },
  {
    guards: 'an overtaken worker clears nothing away',
    file: requests,
    edits: [[`where ${ownAttempt} returning r.id`, `where r.id = d.id returning r.id`]],
    ...overtaken,
  },
  {
    guards: 'an overtaken worker ends nothing',
    file: advance,
    edits: [['  if (row.attempt !== ending.attempt) return false;\n', '']],
    test: 'test/operations/advance.test.ts',
    name: 'nothing under an older attempt',
  },
  {
    guards: 'each claim is a new attempt',
    file: 'src/db/queue.ts',
    edits: [
      [
        'update requests r set attempt = r.attempt + 1,',
        'update requests r set attempt = r.attempt,',
      ],
    ],
    test: 'test/db/queue.test.ts',
    name: 'takes a claim whose lease is over again, under a new attempt',
  },
  {
    guards: 'a handle that came is never written over',
    file: requests,
    edits: [[' and a.handle is null', '']],
    test: 'test/operations/advance.test.ts',
    name: 'is never written over',
  },
];

/** No upstream is paid twice. */
const intents: Guard[] = [
  {
    guards: 'the intent is committed before the call',
    file: start,
    edits: [
      [
        '  const begun = await',
        '  const outcome = await call(upstream, job);\n  const begun = await',
      ],
      ['return null;\n  const outcome = await call(upstream, job);\n', 'return null;\n'],
    ],
    test: 'test/worker/leases.test.ts',
    name: 'is dropped and counted',
  },
  {
    guards: 'nothing is sent where the intent was refused',
    file: start,
    edits: [['  if (!begun) return null;\n', '']],
    test: 'test/operations/races.test.ts',
    name: 'has one winner: cancelled and never started',
  },
  {
    guards: 'class C is never sent again once its answer was lost',
    file: start,
    edits: [[`if (upstream?.class === 'A')`, `if (upstream && upstream.class !== 'B')`]],
    test: 'test/worker/recovery.test.ts',
    name: 'is never sent again; at the deadline',
  },
  {
    guards: 'class B is searched before it is sent again',
    file: start,
    edits: [[`if (upstream?.class === 'A')`, `if (upstream && upstream.class !== 'C')`]],
    test: 'test/worker/recovery.test.ts',
    name: 'class B: is found, and not sent again',
  },
  {
    guards: 'a job with a handle is polled and not started',
    file: 'src/core/request.ts',
    edits: [[`    if (row.started?.has_handle) return 'poll';\n`, '']],
    test: 'test/worker/recovery.test.ts',
    name: 'a handle that came is polled whatever the class',
  },
  {
    guards: 'a cancel takes only what waits',
    file: advance,
    edits: [
      [
        `if (ending.attempt === null) return row.status === 'IN_QUEUE';`,
        `if (ending.attempt === null) return true;`,
      ],
    ],
    test: 'test/operations/advance.test.ts',
    name: 'an end takes',
  },
  {
    guards: 'what was cancelled is not begun',
    file: requests,
    edits: [[`and r.status in ('IN_QUEUE', 'IN_PROGRESS')\n`, `and r.status <> 'COMPLETED'\n`]],
    test: 'test/operations/advance.test.ts',
    name: 'a move of a request that is over changes nothing',
  },
  {
    guards: 'one end of a request in a batch',
    file: advance,
    edits: [['      open.delete(ending.id);\n', '']],
    test: 'test/operations/advance.test.ts',
    name: 'of one request in one batch take it once',
  },
];

const money: Guard[] = [
  {
    guards: 'a reservation is covered by the balance',
    file: ledger,
    edits: [['    if (available(balance) < hold.amount) return false;\n', '']],
    test: 'test/ledger/books.test.ts',
    name: 'a refused reservation changes nothing',
  },
  {
    guards: 'a submit without cover is refused',
    file: submit,
    edits: [
      [
        'if (!books.reserve({ request_id, account_id, key_id, amount }))',
        'books.reserve({ request_id, account_id, key_id, amount });\n  if (false)',
      ],
    ],
    test: 'test/http/queue.test.ts',
    name: 'may take all that the account has',
  },
  {
    guards: 'balances are locked while they are decided on',
    file: ledger,
    edits: [['order by account_id for update', 'order by account_id']],
    test: 'test/operations/submit.test.ts',
    name: 'three hundred submits of three accounts',
  },
  {
    guards: 'the books take no charge above its reservation',
    file: ledger,
    edits: [['(charge < 0n || charge > reserved)', '(charge < 0n)']],
    test: 'test/ledger/books.test.ts',
    name: 'out of 50',
  },
  {
    guards: 'a charge above its reservation spoils nothing for the others',
    file: advance,
    edits: [['(charge < 0n || charge > row.quoted_usd_micro)', '(charge < 0n)']],
    test: 'test/operations/advance.test.ts',
    name: 'each get their own verdict, in order',
  },
  {
    guards: 'the price of a delivery is capped by the quote',
    file: 'src/core/price.ts',
    edits: [
      ['return spent < quote.price_usd_micro ? spent : quote.price_usd_micro;', 'return spent;'],
    ],
    test: 'src/core/price.test.ts',
    name: 'charge',
  },
  {
    guards: 'a broken-off chat without output is free',
    file: 'src/core/chat-bill.ts',
    edits: [
      [
        `  if (text === '' && (delivered.failed || finishedInError(delivered.completion))) return null;\n`,
        '',
      ],
    ],
    test: 'test/http/chat-stream.test.ts',
    name: 'zero output with an error finish is free',
  },
  {
    guards: 'a deposit is booked once for its reference',
    file: 'src/operations/deposit.ts',
    edits: [['      if (earlier) {', '      if (earlier && earlier.amount !== amount) {']],
    test: 'test/ledger/deposit.test.ts',
    name: 'ten at once are booked once',
  },
  {
    guards: 'a monthly limit counts what is reserved',
    file: 'src/ledger/usage.ts',
    edits: [['row.pending_usd_micro + row.posted_usd_micro', 'row.posted_usd_micro']],
    test: 'test/operations/limits.test.ts',
    name: 'is kept to the micro',
  },
];

/** What the schema refuses whoever asks. */
const laws: Guard[] = [
  {
    guards: 'a reserve is settled once, by the schema',
    file: schema,
    edits: [['create unique index transfers_pending on', 'create index transfers_pending on']],
    test: 'test/ledger/laws.test.ts',
    name: 'a transfer is refused',
  },
  {
    guards: 'nobody is below zero, by the schema',
    file: schema,
    edits: [['check (credits_posted - debits_posted - debits_pending >= 0)', 'check (true)']],
    test: 'test/ledger/laws.test.ts',
    name: 'a balance is refused',
  },
  {
    guards: 'transfers are append-only, by the schema',
    file: schema,
    edits: [['before update or delete or truncate on transfers', 'before truncate on transfers']],
    test: 'test/ledger/laws.test.ts',
    name: 'transfers are never changed',
  },
  {
    guards: 'an open request has an alarm, by the schema',
    file: schema,
    edits: [
      [`check (status not in ('IN_QUEUE', 'IN_PROGRESS') or wake_at is not null)`, 'check (true)'],
    ],
    test: 'test/ledger/laws.test.ts',
    name: 'a request is refused',
  },
  {
    guards: 'an Idempotency-Key makes one request, by the schema',
    file: schema,
    edits: [
      ['create unique index request_inputs_idempotency', 'create index request_inputs_idempotency'],
    ],
    test: 'test/ledger/laws.test.ts',
    name: 'twice under one idempotency key',
  },
];

const admission: Guard[] = [
  {
    guards: 'a repeat under its Idempotency-Key is no second request',
    file: submit,
    edits: [
      [
        'const earlier = key === null ? undefined : known.get(key);',
        'const earlier = undefined as requests.Earlier | undefined;',
      ],
    ],
    test: 'test/operations/submit.test.ts',
    name: 'the same key in one batch is one request',
  },
  {
    guards: 'another body under an Idempotency-Key is a conflict',
    file: submit,
    edits: [
      [
        'row.fingerprint !== null && earlier.fingerprint.equals(row.fingerprint)',
        'row.fingerprint !== null',
      ],
    ],
    test: 'test/operations/submit.test.ts',
    name: 'the same key in one batch is one request',
  },
  {
    guards: 'a key spends up to its monthly limit',
    file: submit,
    edits: [
      [
        'spending.spent_usd_micro + row.quoted_usd_micro > limit',
        'spending.spent_usd_micro > limit',
      ],
    ],
    test: 'test/operations/limits.test.ts',
    name: 'is kept to the micro',
  },
  {
    guards: 'a key has so many open jobs',
    file: submit,
    edits: [
      [
        'open_jobs !== null && spending.open_requests >= open_jobs',
        'open_jobs !== null && spending.open_requests > open_jobs',
      ],
    ],
    test: 'test/operations/limits.test.ts',
    name: 'are as many as the key may have',
  },
  {
    guards: 'calls a minute are exact over batches',
    file: 'src/db/keys.ts',
    edits: [
      [
        'then excluded.calls\n          else greatest(w.calls, least(w.calls + excluded.asked, excluded.quota)) end,',
        'then excluded.calls\n          else greatest(w.calls, least(excluded.asked, excluded.quota)) end,',
      ],
    ],
    test: 'test/db/keys.test.ts',
    name: 'are exact however many processes count at once',
  },
  {
    guards: 'a minute of calls has sixty seconds',
    file: 'src/db/keys.ts',
    edits: [
      [`then now()\n          else w.started_at end`, `then now()\n          else now() end`],
    ],
    test: 'test/db/keys.test.ts',
    name: 'begin anew a minute after the first, and not before',
  },
  {
    guards: 'a call above its minute is refused',
    file: 'src/http/auth.ts',
    edits: [['if (!caller.rate.granted)', 'if (caller.rate.quota < 0)']],
    test: 'test/http/rate.test.ts',
    name: 'does not let a refused call through to its work',
  },
  {
    guards: 'a revoked key is nobody’s',
    file: 'src/db/keys.ts',
    edits: [[' on k.hash = c.hash and k.revoked_at is null', ' on k.hash = c.hash']],
    test: 'test/db/keys.test.ts',
    name: 'a revoked key is nobody',
  },
  {
    guards: 'a suspended account is refused',
    file: 'src/http/auth.ts',
    edits: [['if (!caller.active)', 'if (caller.active === null)']],
    test: 'test/http/key-changes.test.ts',
    name: 'a change holds from the next call on',
  },
];

const queue: Guard[] = [
  {
    guards: 'an upstream has so many places',
    file: 'src/db/queue.ts',
    edits: [
      [
        'greatest(${lane.concurrency}::int - count(*), 0)::int',
        'greatest(${lane.concurrency}::int - count(*) * 0, 0)::int',
      ],
    ],
    test: 'test/db/queue.test.ts',
    name: 'takes no more than the upstream has places',
  },
  {
    guards: 'places are counted by one worker at a time',
    file: 'src/db/queue.ts',
    edits: [['where name = ${lane.upstream} for update`', 'where name = ${lane.upstream}`']],
    test: 'test/db/queue_places.test.ts',
    name: 'a second worker waits for the first to count',
  },
  {
    guards: 'turns go round the accounts',
    file: 'src/db/queue.ts',
    edits: [
      ['row_number() over (order by round, lap, account_id)', 'row_number() over (order by id)'],
    ],
    test: 'test/db/queue.test.ts',
    name: 'go round the accounts, whoever has queued how much',
  },
  {
    guards: 'a due request goes to one worker',
    file: 'src/db/queue.ts',
    edits: [
      ['order by wake_at limit ${limit} for update skip locked', 'order by wake_at limit ${limit}'],
    ],
    test: 'test/db/queue.test.ts',
    name: 'passes over a row that somebody else has locked',
  },
  {
    guards: 'a notification is sent once, whatever its receiver does',
    file: requests,
    edits: [
      [
        `case when d.delivered then 'delivered' else 'failed' end,\n      wake_at = r.expires_at`,
        `case when d.delivered then 'delivered' else 'pending' end,\n      wake_at = now() + interval '1 h'`,
      ],
    ],
    test: 'test/http/webhooks.test.ts',
    name: 'whatever the receiver does is recorded, and it is not told again',
  },
  {
    guards: 'an overtaken worker tells of no notification',
    file: requests,
    edits: [[`${ownAttempt}\n      and r.webhook_state`, `r.id = d.id\n      and r.webhook_state`]],
    ...overtaken,
  },
];

const walls: Guard[] = [
  {
    guards: 'an address is judged where the socket connects',
    file: 'src/lib/connect.ts',
    edits: [['    if (!areFit(addresses)) throw blocked();\n', '']],
    test: 'test/lib/names.test.ts',
    name: 'the forbidden listener hears nothing',
  },
  {
    guards: 'a literal address is judged, as no name is looked up for it',
    file: 'src/lib/connect.ts',
    edits: [
      ['isIP(hostname) !== 0 && !areFit([hostname])', 'isIP(hostname) !== 0 && hostname === ""'],
    ],
    test: 'test/lib/guard.test.ts',
    name: 'is refused for a literal address of our own',
  },
  {
    guards: 'a webhook is judged again when it is sent',
    file: 'src/parts.ts',
    edits: [['      guard: publicOnly,\n', '      guard: false,\n']],
    test: 'test/http/webhooks.test.ts',
    name: 'an address that is not public is not called',
  },
  {
    guards: 'an output link opens with its own signature',
    file: 'src/core/signature.ts',
    edits: [[`  if (!good) return 'invalid';\n`, '']],
    test: 'test/http/outputs.test.ts',
    name: 'with a link that is not to the letter',
  },
  {
    guards: 'a link of no use opens nothing',
    file: 'src/http/outputs.ts',
    edits: [[`if (verdict === 'valid') return null;`, `if (verdict !== 'expired') return null;`]],
    test: 'test/http/outputs.test.ts',
    name: 'with a link that is not to the letter',
  },
  {
    guards: 'a key opens the outputs of its own account',
    file: 'src/http/outputs.ts',
    edits: [['(account !== null && row.account_id !== account) || ', '']],
    test: 'test/http/outputs.test.ts',
    name: 'with the key of another account it is not there',
  },
  {
    guards: 'outputs are over after a day, whatever a link says',
    file: 'src/http/outputs.ts',
    edits: [
      [
        'row.expires_at === null || expiry(row, deps.links).getTime() <= Date.now()',
        'row.expires_at === null',
      ],
    ],
    test: 'test/http/outputs.test.ts',
    name: 'ends 24 hours after completion',
  },
  {
    guards: 'a request is its own account’s',
    file: 'src/http/requests.ts',
    edits: [['row === null || row.account_id !== req.caller.account_id', 'row === null']],
    test: 'test/http/authorization.test.ts',
    name: 'what belongs to another account',
  },
  {
    guards: 'a file is its own account’s',
    file: 'src/db/files.ts',
    edits: [[' and account_id = ${accountId} and expires_at > now()', ' and expires_at > now()']],
    test: 'test/http/queue.test.ts',
    name: 'of another account is refused as one that never was',
  },
  {
    guards: 'a reader that does not read cannot fill the memory',
    file: 'src/lib/sse.ts',
    edits: [['raw.writableLength > bufferMaxBytes', 'raw.writableLength > Infinity']],
    test: 'src/lib/sse.test.ts',
    name: 'a reader',
  },
  {
    guards: 'no line of the log holds a secret',
    file: 'src/lib/log.ts',
    edits: [['out.write(redact(line))', 'out.write(line)']],
    test: 'src/lib/log.test.ts',
    name: 'a secret in a line is cut out',
  },
];

const operator: Guard[] = [
  {
    guards: 'one service to a data folder',
    file: 'src/commands/serve.ts',
    edits: [
      [`  if ('held_by' in claimed) {`, `  if ('held_by' in claimed && claimed.held_by === '') {`],
    ],
    test: 'test/commands/serve.test.ts',
    name: 'a second service in the folder is refused',
  },
  {
    guards: 'a start that is stopped leaves no PostgreSQL behind',
    file: 'src/commands/serve.ts',
    edits: [
      ['  const asked = stopSignal();\n', ''],
      ['signal: await asked', 'signal: await stopSignal()'],
    ],
    test: 'test/commands/serve.test.ts',
    name: 'stopped in the midst of its start',
  },
  {
    guards: 'a start that fails leaves no PostgreSQL behind',
    file: 'src/db/embedded/database.ts',
    edits: [['      if (!rows[0]!.found) return false;\n', '']],
    test: 'test/commands/serve.test.ts',
    name: 'a port in use is said in words',
  },
  {
    guards: 'a trial makes one demo key, not one a start',
    file: 'src/commands/trial.ts',
    edits: [['kept !== null && (await isLiving(db, kept, account_id))', 'kept === ""']],
    test: 'test/commands/trial.test.ts',
    name: 'a second start tells a human the same key',
  },
  {
    guards: 'a database that a newer version has migrated is left alone',
    file: 'src/db/migrate.ts',
    edits: [['if (applied.length > wanted.length)', 'if (applied.length > wanted.length + 9)']],
    test: 'test/db/migrate.test.ts',
    name: 'a database that a newer version has migrated',
  },
  {
    guards: 'a database that may lose what it committed is refused',
    file: 'src/store.ts',
    edits: [['if (unsafe.length > 0)', 'if (unsafe.length > 99)']],
    test: 'test/db/migrate.test.ts',
    name: 'stop the service from starting',
  },
];

export const guards: Guard[] = [
  ...fences,
  ...intents,
  ...money,
  ...laws,
  ...admission,
  ...queue,
  ...walls,
  ...operator,
];
