/**
 * The error catalogue: every code that a caller can get, with its HTTP status, its type and its
 * meaning. Tests compare the documentation and the OpenAPI document with this table in both
 * directions.
 */

import type { Reason } from './reasons.ts';

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'rate_limit_error'
  | 'conflict_error'
  | 'upstream_error'
  | 'server_error';

interface Entry {
  status: number;
  type: ErrorType;
  /** The default message, which tells the caller what to do next. */
  message: string;
}

export const errors = {
  bad_request: e(
    400,
    'invalid_request_error',
    'The call is malformed. Correct it and send it again.',
  ),
  unknown_model: e(
    400,
    'invalid_request_error',
    'No such model. GET /v1/models lists the ids, to be used exactly as listed.',
  ),
  unpriceable: e(
    400,
    'invalid_request_error',
    'The input cannot be priced. Correct the named field.',
  ),
  invalid_input: e(
    400,
    'invalid_request_error',
    "The input does not fit the model's schema. See details.errors.",
  ),
  bad_webhook_url: e(
    400,
    'invalid_request_error',
    'webhook_url must be a public http or https address.',
  ),
  bad_messages: e(
    400,
    'invalid_request_error',
    'messages must be a non-empty list of objects with role and content.',
  ),
  context_length_exceeded: e(
    400,
    'invalid_request_error',
    'Your input exceeds the context window of this model. Please reduce the length of the messages.',
  ),
  use_chat_completions: e(
    400,
    'invalid_request_error',
    'This is a text model. Call POST /v1/chat/completions.',
  ),
  unauthorized: e(
    401,
    'authentication_error',
    'Send a valid key as "Authorization: Key <API_KEY>".',
  ),
  insufficient_balance: e(
    402,
    'billing_error',
    'The balance does not cover the reservation. Top up and send the request again.',
  ),
  key_limit_reached: e(
    402,
    'billing_error',
    "The key's monthly spend limit is reached. Raise it in the dashboard, or use another key.",
  ),
  forbidden: e(403, 'authentication_error', 'You are not allowed to do this.'),
  not_found: e(
    404,
    'invalid_request_error',
    'Nothing with this id belongs to this account. Check the id and the key.',
  ),
  method_not_allowed: e(
    405,
    'invalid_request_error',
    'This address does not support that method. See the Allow header.',
  ),
  idempotency_conflict: e(
    409,
    'conflict_error',
    'This Idempotency-Key was used for another call (model, body or webhook). Use a new key for a new request.',
  ),
  request_not_ready: e(
    409,
    'conflict_error',
    'The request is not COMPLETED. Poll its status_url first.',
  ),
  not_cancellable: e(
    409,
    'conflict_error',
    'Only a request that is IN_QUEUE can be cancelled. With ?running=true, a running job whose model has on_cancel is asked to stop.',
  ),
  expired: e(
    410,
    'invalid_request_error',
    'This output has been deleted. Outputs are kept for 24 hours after completion.',
  ),
  payload_too_large: e(413, 'invalid_request_error', 'The body is larger than this call allows.'),
  unsupported_media_type: e(
    415,
    'invalid_request_error',
    'This call does not accept that Content-Type.',
  ),
  rate_limited: e(429, 'rate_limit_error', 'Too many calls. Wait as long as Retry-After says.'),
  internal_error: e(
    500,
    'server_error',
    'The service failed. Try again; if it fails again, give the operator the request_id.',
  ),
  submit_failed: e(
    502,
    'upstream_error',
    'The model did not accept the request. Nothing was charged.',
  ),
  capacity_unavailable: e(
    503,
    'server_error',
    'There is no capacity at the moment. Nothing was charged; retry with backoff.',
  ),
} satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof errors;

/** Why an accepted request ended FAILED: the `error.code` in its status and its full view. */
export const failures = {
  upstream_rejected: 'The model refused the input.',
  upstream_failed: 'The model failed to generate.',
  timeout: 'The generation took longer than its model allows.',
  output_too_large: 'The output is larger than this service can keep.',
  outcome_unknown:
    'The answer of the model did not come, or could not be read, so the outcome is unknown.',
  output_unusable: 'The model returned an output that cannot be used.',
} as const;

export type FailureCode = keyof typeof failures;

/** `error.details` of a failed request: its cause, if that is more precise than the code. */
export interface FailureDetails {
  reason: Reason;
}

export interface ApiErrorOptions {
  /** Message for the caller, in place of the catalogue's. */
  message?: string;
  /** A more precise cause than the code: `details.reason`. */
  reason?: Reason;
  /** The field or header that is wrong. */
  param?: string | null;
  /** Public details as data: numbers, allowed values. */
  details?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Replaces the catalogue's status if HTTP has a more precise one for this case, such as 416. */
  status?: number;
  /** Internal cause; it is logged, and never sent to the caller. */
  cause?: unknown;
  /** Set if the thrower has logged the error already. */
  expected?: boolean;
}

/** An error meant for the caller. Any other error becomes `internal_error`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: ErrorType;
  readonly param: string | null;
  readonly details: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;
  readonly expected: boolean;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const entry: Entry = errors[code];
    super(options.message ?? entry.message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? entry.status;
    this.type = entry.type;
    this.param = options.param ?? null;
    this.details = detailsOf(options);
    this.headers = options.headers ?? {};
    this.expected = options.expected ?? false;
  }

  /**
   * A copy for another field. If a text begins with the old field's path, the new path replaces it.
   */
  at(param: string): ApiError {
    const { code, status, headers, expected, cause } = this;
    const moved = (text: string) =>
      this.param !== null && text.startsWith(this.param)
        ? param + text.slice(this.param.length)
        : text;
    const said = this.details?.said;
    const details =
      typeof said === 'string' ? { ...this.details, said: moved(said) } : this.details;
    const message = moved(this.message);
    return new ApiError(code, { message, status, param, details, headers, expected, cause });
  }

  withDetails(more: Record<string, unknown>): ApiError {
    const { code, message, status, param, headers, expected, cause } = this;
    const details = { ...this.details, ...more };
    return new ApiError(code, { message, status, param, details, headers, expected, cause });
  }
}

function detailsOf({ reason, details }: ApiErrorOptions): Record<string, unknown> | undefined {
  return reason === undefined ? details : { reason, ...details };
}

function e(status: number, type: ErrorType, message: string): Entry {
  return { status, type, message };
}
