import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  failuresAfter,
  modelPause,
  upstreamPause,
  withReply,
  type BusyReply,
  type FailureState,
  type StartFailure,
} from './pauses.ts';

const said = (model: string, account_id: string, at = 1_000): BusyReply => ({
  model,
  account_id,
  at,
});

const cases: [what: string, replies: BusyReply[], isWide: boolean, model: number, all: number][] = [
  ['one account, one model', [said('a', '1')], false, 5, 0],
  ['one account, however often', [said('a', '1'), said('a', '1')], false, 5, 0],
  ['one account, two models', [said('a', '1'), said('b', '1')], false, 5, 5],
  ['two accounts, one model', [said('a', '1'), said('a', '2')], false, 40, 40],
  ['two accounts, two models', [said('a', '1'), said('b', '2')], false, 40, 40],
  ['one account, of a limit of the whole account', [said('a', '1')], true, 5, 5],
];
for (const [what, replies, isWide, model, all] of cases) {
  test(`${what}: the model is paused ${model} s, the upstream ${all} s of 40`, () => {
    const since = replies.reduce<BusyReply[]>((before, reply) => withReply(before, reply), []);
    assert.deepEqual([modelPause(since, 40), upstreamPause(since, 40, isWide)], [model, all]);
  });
}

test('what was said ten minutes ago counts no longer, and no more than eight are kept', () => {
  assert.equal(withReply([said('a', '1', 300)], said('b', '2', 1_000)).length, 1);
  let replies: BusyReply[] = [];
  for (let i = 0; i < 20; i++) replies = withReply(replies, said('a', String(i)));
  assert.deepEqual([replies.length, replies.at(-1)!.account_id], [8, '19']);
});

const healthy: FailureState = {
  failures: 0,
  failed_ago: null,
  failed_account: null,
  other_failed_ago: null,
  paused_seconds: 0,
};
const twice: FailureState = { ...healthy, failures: 2, failed_ago: 10, failed_account: 'one' };
const failure: StartFailure = {
  account_id: 'one',
  pause_seconds: 0,
  pauses_at_once: true,
  counts_alone: false,
  threshold: 3,
  failure_pause_seconds: 30,
};

type FailureEffect = ReturnType<typeof failuresAfter>;
const afterFailures: [
  outcome: string,
  before: FailureState,
  failed: Partial<StartFailure>,
  after: FailureEffect,
][] = [
  [
    'a first failure pauses nothing',
    healthy,
    {},
    { failures: 1, other_failed_ago: null, paused_seconds: 0 },
  ],
  [
    'a third failure of the same account pauses nothing',
    twice,
    {},
    { failures: 3, other_failed_ago: null, paused_seconds: 0 },
  ],
  [
    'a third failure, the first of another account, pauses',
    twice,
    { account_id: 'two' },
    { failures: 3, other_failed_ago: 10, paused_seconds: 30 },
  ],
  [
    'a third failure pauses if another account failed 599 seconds ago',
    { ...twice, other_failed_ago: 599 },
    {},
    { failures: 3, other_failed_ago: 599, paused_seconds: 30 },
  ],
  [
    'another account that failed ten minutes ago does not count',
    { ...twice, other_failed_ago: 600 },
    {},
    { failures: 3, other_failed_ago: 600, paused_seconds: 0 },
  ],
  [
    'failures of ten minutes ago are not in succession',
    { ...twice, failed_ago: 600 },
    { account_id: 'two' },
    { failures: 1, other_failed_ago: 600, paused_seconds: 0 },
  ],
  [
    'a third failure that no input causes pauses, though of one account',
    twice,
    { counts_alone: true },
    { failures: 3, other_failed_ago: null, paused_seconds: 30 },
  ],
  [
    'a pause that the upstream asks for begins with the first failure',
    healthy,
    { pause_seconds: 100 },
    { failures: 1, other_failed_ago: null, paused_seconds: 100 },
  ],
  [
    'a pause that has to wait for a second account does not begin with the first',
    healthy,
    { pause_seconds: 100, pauses_at_once: false },
    { failures: 1, other_failed_ago: null, paused_seconds: 0 },
  ],
  [
    'it begins with the second account, before the threshold',
    { ...twice, failures: 1 },
    { account_id: 'two', pause_seconds: 100, pauses_at_once: false },
    { failures: 2, other_failed_ago: 10, paused_seconds: 100 },
  ],
  [
    'a shorter pause does not shorten a longer one',
    { ...twice, paused_seconds: 90 },
    { account_id: 'two', pause_seconds: 10 },
    { failures: 3, other_failed_ago: 10, paused_seconds: 90 },
  ],
  [
    'a failure after a success has no other account before it',
    { ...twice, failures: 0, failed_account: null },
    { account_id: 'two' },
    { failures: 1, other_failed_ago: null, paused_seconds: 0 },
  ],
];
for (const [outcome, before, failed, after] of afterFailures)
  test(outcome, () => assert.deepEqual(failuresAfter(before, { ...failure, ...failed }), after));
