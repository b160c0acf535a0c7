import type { Why } from '../core/reasons.ts';

/**
 * A command or an operation that cannot be carried out. The message says why, for people;
 * operations that the web pages call give the reason in values as well.
 */
export class Refused extends Error {
  readonly why: Why | undefined;

  constructor(message: string, { cause, ...why }: Why & ErrorOptions = {}) {
    super(message, { cause });
    this.why = why.reason && why;
  }
}
