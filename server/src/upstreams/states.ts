/** The words that upstreams use for the state of a job. */

export const jobWords = ['running', 'done', 'failed', 'stopped'] as const;
export type JobWord = (typeof jobWords)[number];

const words: Readonly<Record<JobWord, readonly string[]>> = {
  running: [],
  done: [
    'completed',
    'complete',
    'succeeded',
    'succeed',
    'success',
    'successful',
    'successfully',
    'completed_successfully',
    'finished',
    'finish',
    'generated',
    'rendered',
    'fulfilled',
    'ended',
    'done',
    'ok',
    'ready',
    // A field such as `done`.
    'true',
  ],
  failed: [
    'failed',
    'fail',
    'failure',
    'error',
    'errored',
    'expired',
    'rejected',
    'timeout',
    'timed_out',
    'time_out',
    'unsuccessful',
    'invalid',
    'exception',
    'unsafe',
    'violation',
    'censored',
    'banned',
    'moderated',
    'content_moderated',
    'request_moderated',
    'blocked',
    'flagged',
    'nsfw',
    'crashed',
    'filtered',
    'content_filtered',
    'denied',
    'refused',
  ],
  stopped: [
    'canceled',
    'cancelled',
    'cancel',
    'cancelled_by_user',
    'canceled_by_user',
    'user_cancelled',
    'user_canceled',
    'aborted',
    'terminated',
    'killed',
    'revoked',
    'stopped',
    'interrupted',
  ],
};

/**
 * An unknown word counts as running: the deadline ends the job anyway, while ending a running job
 * by mistake would cost money. `more`: an upstream's own words, in the form that `stateWord`
 * returns.
 */
export function stateOf(word: unknown, more: Readonly<Record<string, JobWord>> = {}): JobWord {
  const said = stateWord(word);
  if (Object.hasOwn(more, said)) return more[said]!;
  const bare = said
    .replace(/^(?:task_|job_|generation_)?(?:status_|state_)?/, '')
    .replace(/^partial(?:ly)?_|_with_(?:errors|warnings)$/, '');
  if (/^failed_(?!.*retry)|_(?:failed|error|exception|violation|blocked)$/.test(bare))
    return 'failed';
  return jobWords.find((word) => words[word].includes(bare)) ?? 'running';
}

/** Normalizes a word for comparison: lower case, with `_` between its parts. */
export function stateWord(word: unknown): string {
  const parts = String(word)
    .trim()
    .replace(/[.!…]+$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|[\s.-]+/g, '_');
  return parts.toLowerCase();
}
