import type { Why } from '../core/reasons.ts';

/**
 * A command or operation that cannot be carried out. The message is for people; operations that the
 * web pages call also give the reason as data.
 */
export class Refused extends Error {
  /** The error of a call that is refused for this. */
  readonly code: 'bad_request' | 'invalid_input';
  readonly why: Why | undefined;

  constructor(
    message: string,
    { cause, ...why }: Why & ErrorOptions = {},
    code: Refused['code'] = 'bad_request',
  ) {
    super(message, { cause });
    this.code = code;
    this.why = why.reason && why;
  }
}
