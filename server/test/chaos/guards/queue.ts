import { dueWake, type Guard } from './guard.ts';

const requests = 'src/db/requests/requests.ts';
const submit = 'src/operations/requests/admit.ts';

const lostCommits = { test: 'test/http/lost-commits.test.ts' };

export const queue: Guard[] = [
  {
    guards: 'an upstream has so many places',
    file: 'src/db/requests/queue.ts',
    edits: [
      [
        'greatest(${lane.concurrency}::int - coalesce(sum(slots), 0), 0)::int',
        'greatest(${lane.concurrency}::int - coalesce(sum(slots), 0) * 0, 0)::int',
      ],
    ],
    test: 'test/db/queue.test.ts',
    name: 'takes no more than the upstream has places',
  },
  {
    guards: 'places are counted by one worker at a time',
    file: 'src/db/requests/queue.ts',
    edits: [["where name = ${upstream} and model = '' for update`", 'where name = ${upstream}`']],
    test: 'test/db/queue-slots.test.ts',
    name: 'a second worker waits for the first to count',
  },
  {
    guards: 'turns go round the accounts',
    file: 'src/db/requests/queue.ts',
    edits: [
      ['row_number() over (order by round, lap, account_id)', 'row_number() over (order by id)'],
    ],
    test: 'test/db/queue.test.ts',
    name: 'go round the accounts, whoever has queued how much',
  },
  {
    guards: 'a request that was refused once keeps its turn',
    file: 'src/worker/start.ts',
    edits: [[', waits: true }', ' }']],
    test: 'test/worker/waiting.test.ts',
    name: 'has the next place before all that were submitted after it',
  },
  {
    guards: 'whoever looks for a place is not given one as well',
    file: 'src/db/requests/queue.ts',
    edits: [
      [`leased = true, waits = false,\n      ${dueWake}`, `leased = true,\n      ${dueWake}`],
    ],
    test: 'test/db/queue.test.ts',
    name: 'is claimed by one, as its turn comes or when it is due',
  },
  {
    guards: 'an end that cannot be written is no success',
    file: 'src/worker/worker.ts',
    edits: [
      [
        'const moved = transition === null',
        'this.#backoff.succeeded(row.id);\n      const moved = transition === null',
      ],
    ],
    test: 'test/worker/outputs.test.ts',
    name: 'an end that cannot be written is tried again less and less often',
  },
  {
    guards: 'a due request goes to one worker',
    file: 'src/db/requests/queue.ts',
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
        `else 'failed' end,\n      wake_at = r.expires_at`,
        `else 'pending' end,\n      wake_at = now() + interval '1 h'`,
      ],
    ],
    test: 'test/http/webhooks.test.ts',
    name: 'whatever the receiver does is recorded, and it is not told again',
  },
  {
    guards: 'what refuses everything refuses new submits',
    file: submit,
    edits: [['submit.refusal ?? refuse(', 'refuse(']],
    test: 'test/operations/submit.test.ts',
    name: 'takes nothing, and its own error is told',
  },
  {
    guards: 'an unfinished job is given up at its deadline',
    file: 'src/core/request/request.ts',
    edits: [[`    if (row.past_deadline) return 'give_up';\n`, '']],
    test: 'src/core/request/request.test.ts',
    name: 'past its deadline a polled job is given up',
  },
  {
    guards: 'a chat call whose process died is released',
    file: 'src/core/request/request.ts',
    edits: [[`    if (row.kind === 'text') return 'abandon';\n`, '']],
    test: 'test/http/chat-repeat.test.ts',
    name: 'is released when it is due, and its key is free',
  },
  {
    guards: 'a late worker never writes over the output that is kept',
    file: 'src/worker/finish.ts',
    edits: [['/${attempt}-${index}`', '/${index}`']],
    test: 'test/worker/outputs.test.ts',
    name: 'is removed, and the outputs that count stay',
  },
  {
    guards: 'a submit whose commit lost its answer is taken once',
    file: 'src/operations/requests/admit.ts',
    edits: [['own.has(submit.row.id)', 'own.has(String(own.size))']],
    ...lostCommits,
    name: 'a submit: 202, and one request is reserved for',
  },
  {
    guards: 'an end whose commit lost its answer is one',
    file: 'src/operations/requests/advance.ts',
    edits: [['isRepeat && hasEnded(ending, row)', 'isRepeat && !hasEnded && row']],
    ...lostCommits,
    name: 'a cancel: 200, and its reservation is released once',
  },
  {
    guards: 'an intent whose commit lost its answer holds',
    file: 'src/db/requests/requests.ts',
    edits: [['where ${isRepeat}', 'where ${isRepeat} and false']],
    ...lostCommits,
    name: 'the intent to start a job: who recognises no repeat is asked once',
  },
];
