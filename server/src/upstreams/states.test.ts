import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobWords, stateOf } from './states.ts';

const words = {
  running: 'dreaming THROTTLED Preparing submitted TEXT_SUCCESS intermediate-complete not_found',
  done: 'succeed SUCCEEDED Ready TASK_STATUS_SUCCEED task_success state_success Finished',
  failed:
    'fail banned TASK_FAILED CREATE_TASK_FAILED SENSITIVE_WORD_ERROR Task-Blocked nsfw crashed',
  stopped: 'Canceled CANCELLED aborted REVOKED job_cancelled',
};

for (const state of jobWords)
  for (const word of words[state].split(' '))
    test(`${word} means ${state}`, () => assert.equal(stateOf(word), state));

test('an upstream may use a word otherwise', () =>
  assert.equal(stateOf('Blocked', { blocked: 'running' }), 'running'));
