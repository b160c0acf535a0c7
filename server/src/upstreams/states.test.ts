import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobWords, stateOf } from './states.ts';

const words = {
  running:
    'dreaming THROTTLED Preparing submitted TEXT_SUCCESS intermediate-complete not_found not_completed cancelling Running... unblocked SUCCESS_PENDING image.completed audio_completed being_moderated not_filtered not_moderated partial partial_result content_uploaded incomplete FAILED_RETRYING',
  done: 'succeed SUCCEEDED Ready TASK_STATUS_SUCCEED task_success state_success Finished TaskStatus.SUCCESS JobSucceeded partially_succeeded PARTIAL_SUCCESS completed_with_errors true Completed. generation.completed GENERATION_COMPLETE COMPLETED_SUCCESSFULLY ended COMPLETED_WITH_ERROR finished_with_error success_with_error PARTIALLY_FAILED partial_failure image.generation.completed video.completed GENERATE_SUCCESS COMPLETED_PARTIALLY succeeded_partial',
  failed:
    'fail banned TASK_FAILED CREATE_TASK_FAILED SENSITIVE_WORD_ERROR Task-Blocked nsfw crashed TimedOut RequestModerated content_filtered unsuccessful GENERATION_FAILED CALLBACK_EXCEPTION FAILED_MODERATION content_policy_violation moderation_blocked Time_Out TIMEDOUT content_filter content_policy nsfw_detected NSFW_CONTENT_DETECTED unsafe_content moderation_rejected input_moderated content_rejected failed_with_error',
  stopped:
    'Canceled CANCELLED aborted REVOKED job_cancelled Stopped interrupted cancelled_by_user canceled_by_system',
};

/** One a line, because they have blanks. */
const texts = {
  running: [
    'Completed: 45%',
    'Completed (3/10)',
    'failed: will retry',
    'error - attempt 2 of 5',
    'Task not found',
    'Loading: model',
    'success: task submitted',
    'ok (processing)',
    'ready: in queue',
    'complete (stage 1)',
    'failed: worker lost, requeued',
    'timeout (resubmitted)',
    'error: node lost - rescheduling',
    'stage.completed',
  ],
  done: ['completed:', 'Completed (1 warning)', 'done - 2 files'],
  failed: ['failed: nsfw', 'error: out of memory', 'Error (code 7)'],
  stopped: ['Cancelled by admin', 'stopped: by the user'],
};

for (const state of jobWords)
  for (const word of [...words[state].split(' '), ...texts[state]])
    test(`${word} means ${state}`, () => assert.equal(stateOf(word), state));

test('an upstream may use a word otherwise', () =>
  assert.equal(stateOf('Blocked', { blocked: 'running' }), 'running'));

test('a text that is too long for a state takes no time', () => {
  for (const text of [' '.repeat(20_000), '7'.repeat(20_000), 'a '.repeat(20_000)])
    assert.equal(stateOf(text), 'running');
});
