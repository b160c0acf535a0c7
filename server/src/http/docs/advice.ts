import type { ErrorCode, FailureCode } from '../../core/errors.ts';

/** When a code comes, and what the caller does about it. The compiler misses none. */
export interface Advice {
  when: string;
  do: string;
}

export const advice: Record<ErrorCode, Advice> = {
  bad_request: {
    when:
      'The call is malformed: no valid JSON, a wrong parameter or header, a body that ended ' +
      'early or came too slowly. With status 416: the `Range` lies outside the file.',
    do: 'Correct what the message names (`param` says where) and send it again.',
  },
  unknown_model: {
    when: 'No model of the catalog has this id; or a media model was sent to the chat call.',
    do:
      'Take an id from `GET /models`, exactly as it stands there. Media models go to `POST ' +
      '/queue/{model_id}`.',
  },
  unpriceable: {
    when:
      'A field that decides the price is no price: of a wrong type, not above 0, above the ' +
      "model's `max`, a resolution that is not offered; or a text estimate lacks its token " +
      'counts.',
    do: 'Correct the field in `param`; `details` says what is allowed.',
  },
  invalid_input: {
    when:
      "The input does not fit the model's `input_schema`, names a file that is not there or an " +
      'address that is not public; or a chat model refused what it was sent.',
    do: 'Correct every entry of `details.errors` (`path` is a JSON pointer into the input).',
  },
  bad_webhook_url: {
    when: '`webhook_url` is no public http or https address, or differs between query and body.',
    do: 'Give one address that is reachable from the internet, in one place.',
  },
  bad_messages: {
    when:
      '`messages` of a chat call is not a list of messages with a known role and content; or a ' +
      'part names a file that is not there or an address that is not public.',
    do: 'Correct the message in `param`, such as `messages[0].content`.',
  },
  use_chat_completions: {
    when: 'A text model was sent to the queue.',
    do: 'Send it to `POST /chat/completions`.',
  },
  unauthorized: {
    when:
      'The key is missing, misspelt, revoked, expired or replaced by a rotation, or its account ' +
      'is suspended; or an output link ' +
      'has a wrong signature and no key came with it.',
    do:
      'Send `Authorization: Key <API_KEY>`. Do not repeat the call with the same key. For an ' +
      'output, fetch `response_url` again.',
  },
  insufficient_balance: {
    when: 'The balance does not cover the reservation.',
    do:
      'Top up, then send the call again. `details` has the amount required, the amount available ' +
      'and the amount reserved by open requests.',
  },
  key_limit_reached: {
    when: 'With this reservation the key would pass its spend limit of the month.',
    do: 'Raise the limit in the dashboard, use another key, or wait until `details.resets_at`.',
  },
  forbidden: {
    when:
      'The key may use other models only; or metrics were asked for from another machine without ' +
      'their token.',
    do:
      'Use one of `details.models`, or another key; what a key may use is set in the dashboard. ' +
      'For metrics ask the operator.',
  },
  not_found: {
    when: 'There is no such address, model, request or output; or it belongs to another account.',
    do: 'Check the id, and that the key belongs to the account that made it.',
  },
  method_not_allowed: {
    when: 'The address exists, but does not take this method.',
    do: 'Use one of the methods in the `Allow` header.',
  },
  idempotency_conflict: {
    when:
      'The `Idempotency-Key` was used before with another body, model or webhook; or, with ' +
      '`Retry-After`, the first chat call under it is still running.',
    do:
      'Use a new key for a new call. With `Retry-After`: send the same call again after that ' +
      'time.',
  },
  request_not_ready: {
    when: 'The response was asked for, but the request is not `COMPLETED`.',
    do:
      'Look at `details.status`. While `IN_QUEUE` or `IN_PROGRESS`, poll `status_url`; after ' +
      '`FAILED` (`details.error` says why) or `CANCELLED` there is no response and nothing was ' +
      'charged.',
  },
  not_cancellable: {
    when: 'The request is no longer `IN_QUEUE`.',
    do: 'Look at `details.status`. A request that runs cannot be stopped; let it end.',
  },
  expired: {
    when: 'The output is older than 24 hours, or its link has passed its time.',
    do: 'Outputs are not archived: run the request again, and download within 24 hours.',
  },
  payload_too_large: {
    when: 'The body is larger than this call takes, or than the room left for files.',
    do:
      'Send at most `details.max_bytes`. Large media go to `POST /files`, and their `file_id` ' +
      'into the input. Where `details.max_bytes_in_all` stands, the files of the account take as ' +
      'much as they may: wait until `details.first_expires_at`.',
  },
  unsupported_media_type: {
    when:
      'A JSON call without `Content-Type: application/json`; or, with any body, a ' +
      '`Content-Type` that names no type at all; or an uploaded file of a type that ' +
      'is not taken, or whose bytes are not what its `Content-Type` says; or a form instead of ' +
      'the bytes of a file; or a `Content-Encoding`.',
    do:
      'Send the right `Content-Type`, and the body uncompressed. Of a file send the raw bytes ' +
      '(`curl --data-binary @file`), a text in UTF-8.',
  },
  rate_limited: {
    when:
      'The key made more calls in a minute than it may, or has as many open jobs or open chat ' +
      'calls as it may, or its account as many open uploads, or as much of what all accounts ' +
      'share as it leaves to the others (`details.held`).',
    do:
      'Wait as long as `Retry-After` says. For open jobs (`details.open_jobs_limit`), wait until ' +
      'one has ended or cancel one; for open chat calls (`details.open_chats_limit`) or uploads ' +
      '(`details.open_uploads_limit`), until one has ended.',
  },
  internal_error: {
    when: 'A fault of the service.',
    do:
      'Send it again with the same `Idempotency-Key`; if it stays, tell the operator the ' +
      '`request_id` of the error.',
  },
  submit_failed: {
    when:
      'The chat model gave no answer, or an unusable one. In the middle of a stream the same ' +
      'code is the last chunk, and what was delivered before it is charged.',
    do:
      'Send it again. Nothing was charged, unless the reply was too large to be taken, as the message says, or part of a stream was delivered; then the same ' +
      '`Idempotency-Key` gets that part and this error again, with no second charge. For a new ' +
      'reply use a new key.',
  },
  capacity_unavailable: {
    when:
      'The models behind this id rest or have too long a queue, the server is overloaded or ' +
      'about to stop, or something it needs is not there. Nothing was charged; where the database ' +
      'went away in the middle of the call for longer than the service waits for it, the message ' +
      'says that this is not known.',
    do:
      'Wait as long as `Retry-After` says, then longer each time, and send it again with the ' +
      'same `Idempotency-Key`.',
  },
};

export const failureAdvice: Record<FailureCode, Advice> = {
  upstream_rejected: {
    when: 'The model refused the input: it breaks a rule of the model, or its content policy.',
    do: 'Change the input. The same one will be refused again.',
  },
  upstream_failed: {
    when: 'The model took the input and failed to generate.',
    do: 'Submit again with a new `Idempotency-Key`.',
  },
  timeout: {
    when: 'The generation took longer than its model is given.',
    do: 'Submit again, perhaps for less: a shorter duration, a lower resolution.',
  },
  output_too_large: {
    when: 'The output is larger than the service keeps.',
    do: 'Ask for less.',
  },
  outcome_unknown: {
    when:
      'The connection to the model broke and its outcome could not be learnt. It is never sent ' +
      'twice on your account.',
    do: 'Submit again with a new `Idempotency-Key`.',
  },
  output_unusable: {
    when: 'The model returned no output, a damaged one, or one of another kind than it sells.',
    do: 'Submit again with a new `Idempotency-Key`.',
  },
};
