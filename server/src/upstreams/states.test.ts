import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobWords, stateOf } from './states.ts';

const words = {
  running:
    'dreaming THROTTLED Preparing submitted TEXT_SUCCESS intermediate-complete not_found not_completed cancelling Running... unblocked incomplete FAILED_RETRYING',
  done: 'succeed SUCCEEDED Ready TASK_STATUS_SUCCEED task_success state_success Finished TaskStatus.SUCCESS JobSucceeded partially_succeeded PARTIAL_SUCCESS completed_with_errors true Completed. generation.completed GENERATION_COMPLETE COMPLETED_SUCCESSFULLY ended',
  failed:
    'fail banned TASK_FAILED CREATE_TASK_FAILED SENSITIVE_WORD_ERROR Task-Blocked nsfw crashed TimedOut RequestModerated content_filtered unsuccessful GENERATION_FAILED CALLBACK_EXCEPTION FAILED_MODERATION content_policy_violation moderation_blocked Time_Out',
  stopped: 'Canceled CANCELLED aborted REVOKED job_cancelled Stopped interrupted cancelled_by_user',
};

for (const state of jobWords)
  for (const word of words[state].split(' '))
    test(`${word} means ${state}`, () => assert.equal(stateOf(word), state));

test('an upstream may use a word otherwise', () =>
  assert.equal(stateOf('Blocked', { blocked: 'running' }), 'running'));
