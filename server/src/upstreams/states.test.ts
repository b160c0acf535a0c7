import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobWords, stateOf } from './states.ts';

const words = {
  running: 'dreaming THROTTLED Preparing submitted TEXT_SUCCESS intermediate-complete not_found',
  done: 'succeed SUCCEEDED Ready TASK_STATUS_SUCCEED task_success state_success Finished TaskStatus.SUCCESS JobSucceeded partially_succeeded PARTIAL_SUCCESS completed_with_errors true',
  failed:
    'fail banned TASK_FAILED CREATE_TASK_FAILED SENSITIVE_WORD_ERROR Task-Blocked nsfw crashed TimedOut RequestModerated content_filtered',
  stopped: 'Canceled CANCELLED aborted REVOKED job_cancelled Stopped interrupted',
};

for (const state of jobWords)
  for (const word of words[state].split(' '))
    test(`${word} means ${state}`, () => assert.equal(stateOf(word), state));

test('an upstream may use a word otherwise', () =>
  assert.equal(stateOf('Blocked', { blocked: 'running' }), 'running'));
