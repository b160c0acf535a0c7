/** The words that upstreams use for the state of a job. */

export type JobWord = 'running' | 'done' | 'failed';

const words: Readonly<Record<JobWord, readonly string[]>> = {
  running: [],
  done: [
    'completed',
    'complete',
    'succeeded',
    'succeed',
    'success',
    'successful',
    'finished',
    'finish',
    'generated',
    'done',
    'ok',
    'ready',
    'task_status_succeed',
  ],
  failed: [
    'failed',
    'fail',
    'failure',
    'error',
    'errored',
    'canceled',
    'cancelled',
    'cancel',
    'aborted',
    'expired',
    'rejected',
    'timeout',
    'timed_out',
    'terminated',
    'killed',
    'banned',
    'moderated',
    'content_moderated',
    'request_moderated',
    'task_status_failed',
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
  if (words.done.includes(said)) return 'done';
  return words.failed.includes(said) ? 'failed' : 'running';
}

/** Normalizes a word for comparison: lower case, with `_` between its parts. */
export function stateWord(word: unknown): string {
  return String(word)
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
}
