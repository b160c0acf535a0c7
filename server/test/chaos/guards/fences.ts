import { dueWake, type Guard } from './guard.ts';

const requests = 'src/db/requests/requests.ts';
const advance = 'src/operations/requests/advance.ts';
const start = 'src/worker/start.ts';

const ownAttempt = 'r.id = d.id and r.attempt = d.attempt';
const overtaken = {
  test: 'test/operations/advance.test.ts',
  name: 'a move under another attempt changes nothing',
};

/** A worker that was overtaken by a later claim must change nothing. */
export const fences: Guard[] = [
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
    guards: 'an overtaken worker lets nothing rest',
    file: requests,
    edits: [[`where ${ownAttempt} and r.completed_at`, `where r.id = d.id and r.completed_at`]],
    ...overtaken,
  },
  {
    guards: 'an overtaken worker tells of no notification',
    file: requests,
    edits: [[`${ownAttempt}\n      and r.webhook_state`, `r.id = d.id\n      and r.webhook_state`]],
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
    file: 'src/db/requests/queue.ts',
    edits: [
      [
        `attempt = r.attempt + 1, leased = true, waits = false,\n      ${dueWake}`,
        `attempt = r.attempt, leased = true, waits = false,\n      ${dueWake}`,
      ],
    ],
    test: 'test/db/queue.test.ts',
    name: 'takes a claim whose lease is over again, under a new attempt',
  },
  {
    guards: 'a handle that came is never written over',
    file: requests,
    edits: [
      ['set handle = coalesce(a.handle, d.handle), outcome', 'set handle = d.handle, outcome'],
    ],
    test: 'test/operations/advance.test.ts',
    name: 'is never written over',
  },
];

/** No upstream is paid twice. */
export const intents: Guard[] = [
  {
    guards: 'the intent is committed before the call',
    file: start,
    edits: [
      [
        '  const begun = await',
        '  const outcome = await call(upstream, job, route, deps);\n  const begun = await',
      ],
      ['() };\n  const outcome = await call(upstream, job, route, deps);\n', '() };\n'],
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
    file: 'src/worker/recover.ts',
    edits: [
      // Sends again only once: without an end its test would hang instead of failing.
      ['if (!canBeFound(row, upstream, task, deps))', 'if (row.starts > 1)'],
      [`if (upstream.class === 'A')`, `if (upstream.class !== 'B')`],
    ],
    test: 'test/worker/recovery.test.ts',
    name: 'is never sent again; where nothing can call back',
  },
  {
    guards: 'class B is searched before it is sent again',
    file: 'src/worker/recover.ts',
    edits: [[`if (upstream.class === 'A')`, `if (upstream.class !== 'C')`]],
    test: 'test/worker/recovery.test.ts',
    name: 'class B: is found, and not sent again',
  },
  {
    guards: 'a job with a handle is polled and not started',
    file: 'src/core/request/request.ts',
    edits: [[`    if (row.started.has_handle) return 'poll';\n`, '']],
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
    edits: [['    open.delete(ending.id);\n', '']],
    test: 'test/operations/advance.test.ts',
    name: 'of one request in one batch take it once',
  },
];
