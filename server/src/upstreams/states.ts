/** The many words of upstreams for the state of a job. */

export type JobWord = 'running' | 'done' | 'failed';

const words: Readonly<Record<JobWord, readonly string[]>> = {
  running: [],
  done: [
    'completed',
    'complete',
    'succeeded',
    'success',
    'successful',
    'finished',
    'done',
    'ok',
    'ready',
  ],
  failed: [
    'failed',
    'fail',
    'failure',
    'error',
    'errored',
    'canceled',
    'cancelled',
    'aborted',
    'expired',
    'rejected',
    'timeout',
    'timed_out',
    'terminated',
  ],
};

/**
 * An unknown word means that the job still runs: its time is bounded, and a wrong end would cost.
 * `more` are an upstream's own words, as `stateWord` writes them.
 */
export function stateOf(word: unknown, more: Readonly<Record<string, JobWord>> = {}): JobWord {
  const said = stateWord(word);
  if (Object.hasOwn(more, said)) return more[said]!;
  if (words.done.includes(said)) return 'done';
  return words.failed.includes(said) ? 'failed' : 'running';
}

/** A word in the form that is compared: in lower case, with `_` between its parts. */
export function stateWord(word: unknown): string {
  return String(word)
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
}
