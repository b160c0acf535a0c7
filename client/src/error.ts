import { brand } from './brand.ts';

import { messageOf } from './unknown.ts';
import type { ErrorBody, ErrorCode, ErrorType } from './types.ts';
import { writable } from './writable.ts';

/** Codes of this library itself, for faults that the service did not report. */
export type ClientCode =
  /** The service was not reached, or the connection broke. */
  | 'connection_error'
  /** No answer came within `timeoutMs`. */
  | 'timeout'
  /** The caller's signal fired. */
  | 'aborted'
  /** The reply is not the service's: a proxy's page, a redirect. */
  | 'unexpected_reply'
  /** The request ended FAILED; `details.error` says why. Nothing was charged. */
  | 'request_failed'
  /** The request was cancelled. */
  | 'request_cancelled'
  /** The price is above `maxUsdMicro`. */
  | 'price_above_limit'
  /** The webhook was not signed by the service, or is too old. */
  | 'bad_signature'
  /** An argument that cannot work, such as a missing key or file. Nothing was sent. */
  | 'bad_argument';

/** Facts that belong to the error's code: amounts, limits, allowed values. */
export type ErrorDetails = NonNullable<ErrorBody['error']['details']> & {
  /** For `price_above_limit`, with `max_usd_micro`. */
  price_usd_micro?: bigint;
  max_usd_micro?: bigint;
  /** For a chat stream that broke off: the charge for the part that was delivered. */
  charged_usd_micro?: bigint;
};

export interface ErrorFacts {
  status?: number | null;
  type?: ErrorType | 'client_error';
  requestId?: string | null;
  callId?: string | null;
  param?: string | null;
  details?: ErrorDetails;
  retryAfterSeconds?: number;
  idempotencyKey?: string;
  cause?: unknown;
}

/** The one error that this library throws. Its message says what to do next. */
export class FareboxError extends Error {
  static {
    brand(this, 'error');
  }

  override readonly name = 'FareboxError';
  readonly code: ErrorCode | ClientCode;
  /** HTTP status; null without a reply. */
  readonly status: number | null;
  readonly type: ErrorType | 'client_error';
  /** The request that the error is about; null if none was accepted or its id is unknown. */
  requestId: string | null;
  /** The `x-request-id` of the call, for the operator of the service. */
  readonly callId: string | null;
  /** The field, parameter or header at fault. */
  readonly param: string | null;
  readonly details: ErrorDetails;
  readonly retryAfterSeconds?: number;
  /** The idempotency key of the call: repeating the call under the same key is safe. */
  idempotencyKey?: string;
  /**
   * True for a submit or chat that the service may have accepted: the reply of some attempt was
   * lost or broke off. If false, this submit or chat was not accepted and costs nothing.
   */
  mayHaveBeenAccepted = false;

  constructor(code: ErrorCode | ClientCode, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.status = facts.status ?? null;
    this.type = facts.type ?? 'client_error';
    this.requestId = facts.requestId ?? null;
    this.callId = facts.callId ?? null;
    this.param = facts.param ?? null;
    this.details = writable(facts.details ?? {});
    if (facts.retryAfterSeconds !== undefined) this.retryAfterSeconds = facts.retryAfterSeconds;
    if (facts.idempotencyKey !== undefined) this.idempotencyKey = facts.idempotencyKey;
  }
}

export function isCode(error: unknown, code: FareboxError['code']): error is FareboxError {
  return error instanceof FareboxError && error.code === code;
}

/** Returns the same error, with the id of the request that it concerns. */
export function about(error: unknown, requestId: string): unknown {
  if (error instanceof FareboxError) error.requestId ??= requestId;
  return error;
}

export function badArgument(message: string, param: string | null = null): FareboxError {
  return new FareboxError('bad_argument', message, { param });
}

/** The error of an upload whose source could not be read. */
export function unreadable(error: unknown): FareboxError {
  const message = messageOf(error);
  return badArgument(`The upload cannot be read: ${message}`, 'file');
}

/**
 * Throws `bad_argument` unless the value is a number of at least `least`. With NaN as `maxRetries`,
 * for example, the retries would never end.
 */
export function checkNumber(value: unknown, name: string, least: number): void {
  if (typeof value === 'number' && value >= least) return;
  throw badArgument(`${name} must be a number, ${least} or more.`, name);
}
