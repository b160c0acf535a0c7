import { brand } from './brand.ts';

import type { ErrorBody, ErrorCode, ErrorType } from './types.ts';
import { writable } from './writable.ts';

/** Codes of this library itself, for what the service did not say. */
export type ClientCode =
  /** The service was not reached, or the connection broke. */
  | 'connection_error'
  /** No answer within `timeoutMs`. */
  | 'timeout'
  /** The caller's signal fired. */
  | 'aborted'
  /** An answer that is none of the service's: a proxy's page, a redirect. */
  | 'unexpected_reply'
  /** The request ended FAILED; `details.error` says why. Nothing was charged. */
  | 'request_failed'
  /** The request was cancelled. Nothing was charged. */
  | 'request_cancelled'
  /** The price is above `maxUsdMicro`. */
  | 'price_above_limit'
  /** A webhook that is not the service's, or not a fresh one. */
  | 'bad_signature'
  /** An argument that cannot work: no key, no such file. Nothing was sent. */
  | 'bad_argument';

/** Facts that belong to the code: figures, allowed values. */
export type ErrorDetails = NonNullable<ErrorBody['error']['details']> & {
  /** Of `price_above_limit`, with `max_usd_micro`. */
  price_usd_micro?: bigint;
  max_usd_micro?: bigint;
  /** Of a chat stream that broke off: what had been delivered by then cost so much. */
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
  /** HTTP status; null where there was no reply. */
  readonly status: number | null;
  readonly type: ErrorType | 'client_error';
  /** The generation that it is about; null where none was accepted, or it is not known. */
  requestId: string | null;
  /** The `x-request-id` of the call, for whoever runs the service. */
  readonly callId: string | null;
  /** The field, parameter or header at fault. */
  readonly param: string | null;
  readonly details: ErrorDetails;
  readonly retryAfterSeconds?: number;
  /** The key the call was sent under: the same call under it does nothing twice. */
  idempotencyKey?: string;
  /**
   * True of a submit or chat whose outcome is not known: a reply was lost, be it that of an earlier
   * try. False: nothing was accepted, and nothing is charged.
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

/** The same error, telling of which generation it speaks. */
export function about(error: unknown, requestId: string): unknown {
  if (error instanceof FareboxError) error.requestId ??= requestId;
  return error;
}

export function badArgument(message: string, param: string | null = null): FareboxError {
  return new FareboxError('bad_argument', message, { param });
}

/** Of bytes to upload: their source failed, not the connection. */
export function unreadable(error: unknown): FareboxError {
  const { message } = error as Error;
  return badArgument(`What was to be uploaded cannot be read: ${message}`, 'file');
}

/** A text or NaN would lift the limit that it is compared with. */
export function checkNumber(value: unknown, name: string, least: number): void {
  if (typeof value === 'number' && value >= least) return;
  throw badArgument(`${name} is a number, ${least} or more.`, name);
}
