import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  isFinal,
  statuses,
  stepFor,
  type DueRequest,
  type AttemptOutcome,
  type Step,
} from './request.ts';

const outcomes: AttemptOutcome[] = [
  'accepted',
  'done',
  'rejected',
  'not_accepted',
  'unknown',
  'missing',
  null,
];

const fresh: DueRequest = {
  status: 'IN_QUEUE',
  kind: 'image',
  past_deadline: false,
  webhook_state: null,
  outputs_due: false,
  started: null,
  cancel_asked: false,
};
const handle = { has_handle: true, outcome: 'accepted' as const };
const lost = { has_handle: false, outcome: null };
const missing = { has_handle: false, outcome: 'missing' as const };
const unknown = { has_handle: false, outcome: 'unknown' as const };
const refused = { has_handle: false, outcome: 'not_accepted' as const };

const running: Partial<DueRequest> = { status: 'IN_PROGRESS' };
const stopping: Partial<DueRequest> = { ...running, cancel_asked: true };
const completed: Partial<DueRequest> = { status: 'COMPLETED' };

const cases: [what: string, due: Partial<DueRequest>, step: Step][] = [
  ['a queued request is started', {}, 'start'],
  [
    'a queued request is started even with a notification to come',
    { webhook_state: 'pending' },
    'start',
  ],
  ['a running job with a handle is polled', { ...running, started: handle }, 'poll'],
  ['a start whose caller died is recovered', { ...running, started: lost }, 'recover'],
  ['a start whose answer was lost is recovered', { ...running, started: unknown }, 'recover'],
  [
    'a start that one search did not find is searched again',
    { ...running, started: missing },
    'recover',
  ],
  ['a start that was surely not taken is made again', { ...running, started: refused }, 'start'],
  ['a running one that was never handed over is started', { ...running, started: null }, 'start'],
  [
    'a handle counts whatever else is noted',
    { ...running, started: { has_handle: true, outcome: null } },
    'poll',
  ],
  ['a cancelled job with a handle is polled first', { ...stopping, started: handle }, 'poll'],
  [
    'a cancelled start that was refused is called off',
    { ...stopping, started: refused },
    'call_off',
  ],
  [
    'a cancelled start that was left for the next route is called off',
    { ...stopping, started: { ...unknown, left: true } },
    'call_off',
  ],
  ['a cancelled start that was lost is found first', { ...stopping, started: unknown }, 'recover'],
  ['a cancelled start that one search missed', { ...stopping, started: missing }, 'recover'],
  [
    'a cancelled job past its deadline is given up',
    { ...stopping, past_deadline: true, started: handle },
    'give_up',
  ],
  [
    'past its deadline a polled job is given up',
    { ...running, past_deadline: true, started: handle },
    'give_up',
  ],
  [
    'past its deadline a lost start is given up',
    { ...running, past_deadline: true, started: lost },
    'give_up',
  ],
  [
    'past its deadline a refused start is given up',
    { ...running, past_deadline: true, started: refused },
    'give_up',
  ],
  ['a chat call that nobody ended is abandoned', { ...running, kind: 'text' }, 'abandon'],
  [
    'a chat call past its deadline is abandoned',
    { ...running, kind: 'text', past_deadline: true },
    'abandon',
  ],
  ['an end is told', { ...completed, webhook_state: 'pending' }, 'notify'],
  [
    'an end is told before its outputs are deleted',
    { ...completed, webhook_state: 'pending', outputs_due: true },
    'notify',
  ],
  ['outputs go when their time is over', { ...completed, outputs_due: true }, 'expire'],
  [
    'outputs go after the notification',
    { ...completed, webhook_state: 'delivered', outputs_due: true },
    'expire',
  ],
  [
    'outputs go after a failed notification',
    { ...completed, webhook_state: 'failed', outputs_due: true },
    'expire',
  ],
  ['with nothing due it is idle', completed, 'idle'],
  ['a failure is told', { status: 'FAILED', webhook_state: 'pending' }, 'notify'],
  ['a cancellation is told', { status: 'CANCELLED', webhook_state: 'pending' }, 'notify'],
  ['a failure that was told is idle', { status: 'FAILED', webhook_state: 'failed' }, 'idle'],
];

const anyDue: fc.Arbitrary<DueRequest> = fc.record({
  status: fc.constantFrom(...statuses),
  kind: fc.constantFrom('video', 'image', 'text'),
  past_deadline: fc.boolean(),
  webhook_state: fc.constantFrom('pending', 'delivered', 'failed', null),
  outputs_due: fc.boolean(),
  cancel_asked: fc.boolean(),
  started: fc.option(
    fc.record({ has_handle: fc.boolean(), outcome: fc.constantFrom(...outcomes) }),
  ),
});

describe('stepFor', () => {
  for (const [what, due, step] of cases) {
    test(what, () => assert.equal(stepFor({ ...fresh, ...due }), step));
  }

  test('a job that the upstream knows is never started again, and one that may be running neither', () => {
    fc.assert(
      fc.property(anyDue, (due) => {
        if (due.status !== 'IN_PROGRESS' || due.started === null) return;
        const surelyNotTaken = !due.started.has_handle && due.started.outcome === 'not_accepted';
        if (!surelyNotTaken) assert.notEqual(stepFor(due), 'start');
      }),
      { numRuns: 2_000 },
    );
  });

  test('only what is not final runs, and only what is final is told, expires or rests', () => {
    const after = new Set<Step>(['notify', 'expire', 'idle']);
    fc.assert(
      fc.property(anyDue, (due) => {
        assert.equal(after.has(stepFor(due)), isFinal(due.status));
      }),
      { numRuns: 2_000 },
    );
  });
});

test('three of the five statuses are final', () => {
  assert.deepEqual(statuses.filter(isFinal), ['COMPLETED', 'FAILED', 'CANCELLED']);
});
