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
    'timedout',
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
    'blocked',
    'flagged',
    'nsfw',
    'crashed',
    'filtered',
    'denied',
    'refused',
  ],
  stopped: [
    'canceled',
    'cancelled',
    'cancel',
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
  const text = String(word).slice(0, textMax);
  const [, head = '', rest = ''] = /^(.+?)\s*(?:[:(]|\s-\s)(.*)$/s.exec(text) ?? [];
  // Behind its first word a text may say how far the job is.
  const first = goesOn.test(rest) ? '' : head;
  const forms = [text, first].map(stateWord);
  const found = forms.map((form) => (Object.hasOwn(more, form) ? more[form] : meaningOf(form)));
  return found.find((each) => each !== undefined) ?? 'running';
}

/** No state is as long, and patterns take long over long texts. */
const textMax = 200;

const goesOn =
  /retr|again|attempt|progress|pending|queue|processing|submit|schedul|wait|stage|step|resum|%|\d\s*(?:\/|of)\s*\d/i;

function meaningOf(said: string): JobWord | undefined {
  const bare = said
    // A job for a video may have completed its sound only.
    .replace(/^(?:video_(?=completed$)|(?:image|video|audio)_(?=generation_|failed$))/, '')
    .replace(/^(?:task_|job_|generation_|generate_)?(?:status_|state_)?/, '')
    .replace(/_with_(?:error|warning)s?$|_partial(?:ly)?$/, '');
  // It has made something, of which the outputs tell.
  if (/^partial(?:ly)?_fail/.test(bare)) return 'done';
  const whole = bare.replace(/^partial(?:ly)?_/, '');
  if (/^cancell?ed_by_/.test(whole)) return 'stopped';
  return failure.test(whole) ? 'failed' : jobWords.find((word) => words[word].includes(whole));
}

const failure = new RegExp(
  [
    /^failed_(?!.*retry)/,
    /(?<!(?:^|_)(?:being|not))_(?:failed|error|exception|violation|blocked|rejected|moderated|filtered)$/,
    /^(?:nsfw|unsafe|content)_(?:\w+_)?(?:detected|content|filter|policy)$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Whether the word says that the service does not know the job. */
export function saysMissing(word: unknown): boolean {
  return /^(?:(?:task|job|request|prediction)_)?not_found$/.test(stateWord(word));
}

/** Normalizes a word for comparison: lower case, with `_` between its parts. */
export function stateWord(word: unknown): string {
  const parts = String(word)
    .slice(0, textMax)
    .trim()
    .replace(/[.!…]+$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|[\s.-]+/g, '_');
  return parts.toLowerCase();
}
