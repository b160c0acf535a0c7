import type { Why } from '../core/reasons.ts';

/**
 * A command or operation that cannot be carried out. The message is for people; operations that the
 * web pages call also give the reason as data.
 */
export class Refused extends Error {
  readonly why: Why | undefined;

  constructor(message: string, { cause, ...why }: Why & ErrorOptions = {}) {
    super(message, { cause });
    this.why = why.reason && why;
  }
}
