import type { Reason, ReasonDetails } from '../core/reasons.ts';

/** An operation that cannot be carried out: a sentence for people, and the reason as data. */
export class Refusal extends Error {
  /** The error of a call that is refused for this. */
  readonly code: 'bad_request' | 'invalid_input' | 'idempotency_conflict';
  readonly why: ReasonDetails & { reason: Reason };

  constructor(
    message: string,
    { cause, ...why }: ReasonDetails & { reason: Reason } & ErrorOptions,
    code: Refusal['code'] = 'bad_request',
  ) {
    super(message, { cause });
    this.code = code;
    this.why = why;
  }
}

/** A command that cannot be carried out. The sentence is for the operator; no call meets it. */
export class CommandFailed extends Error {}
