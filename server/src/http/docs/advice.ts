import type { ErrorCode, FailureCode } from '../../core/errors.ts';

/**
 * When an error code is sent, and what the caller does about it. The compiler demands every code.
 */
export interface Advice {
  when: string;
  do: string;
}

export const advice: Record<ErrorCode, Advice> = {
  bad_request: {
    when:
      'The call is malformed: invalid JSON, a wrong parameter or header, a body that ended early ' +
      'or came too slowly. With status 416: the `Range` lies outside the file.',
    do: 'Correct what the message and `param` name.',
  },
  unknown_model: {
    when: 'The catalog has no such model, or a media model was sent to the chat call.',
    do: 'Use an id exactly as `GET /models` lists it. Media models go to `POST /queue/{model_id}`.',
  },
  unpriceable: {
    when:
      "A field that decides the price has a wrong type, is outside the model's limits, or " +
      'names a resolution that the model does not offer; or an estimate for a text model has ' +
      'no token counts.',
    do: 'Correct the field in `param`; `details` says what is allowed.',
  },
  invalid_input: {
    when:
      "The input does not fit the model's `input_schema`, or names a missing file or an address " +
      'that is not public; or a chat model refused its input.',
    do: 'Correct every entry of `details.errors` (`path` is a JSON pointer into the input).',
  },
  bad_webhook_url: {
    when: '`webhook_url` is not a public http or https address (port 80, 443 or above 1023), or differs between query and body.',
    do:
      'Give one address that the internet reaches, in the query or in the body. ' +
      'The demo account of a trial may also give an address on the machine of the service.',
  },
  bad_messages: {
    when:
      '`messages` of a chat call is not a list of messages with a known role and content, or a ' +
      'part names a missing file or an address that is not public.',
    do: 'Correct the message in `param`, such as `messages[0].content`.',
  },
  context_length_exceeded: {
    when: 'The messages have more tokens than the model takes.',
    do: 'Send fewer or shorter messages, or use a model with a larger context window.',
  },
  use_chat_completions: {
    when: 'A text model was called through the queue.',
    do: 'Send it to `POST /chat/completions`.',
  },
  unauthorized: {
    when:
      'The key is missing, misspelt, revoked, expired or replaced, or its account is suspended; ' +
      "an operator key was used outside `/operator`, or an account's key within it; or the " +
      'signature of an output link is wrong.',
    do: 'Send a valid `Authorization: Key <API_KEY>`. For an output, fetch `response_url` again.',
  },
  insufficient_balance: {
    when: 'The balance does not cover the reservation.',
    do: 'Top up, then send the call again. `details` has the amounts.',
  },
  key_limit_reached: {
    when: "This reservation would exceed the key's monthly spend limit.",
    do: 'Raise the limit in the dashboard, use another key, or wait until `details.resets_at`.',
  },
  forbidden: {
    when:
      'The key is limited to other models; a key, or an operator key, does not have the scope of the ' +
      'call; a key of scope `keys` was to be changed; the operator does not let the account manage keys ' +
      'by API; or metrics were asked for from another machine without their token.',
    do:
      'Use one of `details.models`, or a key that has `details.scope`. Keys of scope `keys` are changed ' +
      'in the dashboard. For metrics and for key management by API, ask the operator.',
  },
  not_found: {
    when: 'The address, model, request or output does not exist or belongs to another account.',
    do: 'Check the id, and use a key of the account that it belongs to.',
  },
  method_not_allowed: {
    when: 'The address exists, but does not take this method.',
    do: 'Use one of the methods in the `Allow` header.',
  },
  idempotency_conflict: {
    when:
      'The `Idempotency-Key` was used before with another body, model or webhook; or, with ' +
      '`Retry-After`, its first chat call is still running; or the `reference` of a credit or ' +
      'adjustment was used for another booking.',
    do:
      'Use a new key, or reference, for a new call. With `Retry-After`: send the same call again ' +
      'after that time.',
  },
  request_not_ready: {
    when: 'The response was asked for, but the request is not `COMPLETED`.',
    do:
      'Poll `status_url` while `details.status` is `IN_QUEUE` or `IN_PROGRESS`. A `FAILED` request ' +
      'cost nothing; `details.error` says why. A `CANCELLED` one cost something only if it ran.',
  },
  not_cancellable: {
    when: 'The request has ended, or it runs and its model cannot stop it.',
    do:
      'Let it end, or send `?running=true` if its model has `on_cancel`. `details.status` has its ' +
      'status.',
  },
  expired: {
    when: 'The output is older than 24 hours, or its link has expired.',
    do: 'Run the request again, and download within 24 hours.',
  },
  payload_too_large: {
    when: "The body is larger than this call allows, or than the space left for the account's files.",
    do:
      'Send at most `details.max_bytes`; upload large media with `POST /files`. If `details` has ' +
      '`max_bytes_in_all` or `max_files`, wait until `first_expires_at`.',
  },
  unsupported_media_type: {
    when:
      'The `Content-Type` is missing, unknown, not `application/json` for a JSON call, or not ' +
      'what the bytes of a file are; or a form was sent, or a `Content-Encoding`.',
    do:
      'Send the right `Content-Type` and an uncompressed body; for a file, its raw bytes ' +
      '(`curl --data-binary @file`), plain text in UTF-8.',
  },
  rate_limited: {
    when:
      'The key or its account has reached a limit: calls a minute, open jobs, open chat calls, ' +
      'open uploads, or its share of what all accounts use together (`details.held`, or ' +
      '`details.reason: "account_share"`).',
    do:
      'Wait as long as `Retry-After` says. At `details.open_jobs_limit`, `open_chats_limit`, ' +
      '`open_uploads_limit` or `account_share`, wait until another call has ended.',
  },
  internal_error: {
    when: 'The service failed.',
    do:
      'Send it again with the same `Idempotency-Key`; if it fails again, give the operator the ' +
      '`request_id`.',
  },
  submit_failed: {
    when:
      "The model gave no usable answer to a chat call or a call of OpenAI's Images. In the " +
      'middle of a stream the same code is the last chunk, and what was delivered before it is ' +
      'charged.',
    do:
      "Send the call again. After a failed request of OpenAI's Images, use a new `Idempotency-Key`. " +
      'Nothing was charged, except if the message says that the reply was too large, or if part ' +
      'of a stream was delivered. The same `Idempotency-Key` gets the delivered part and this ' +
      'error again, without a second charge; a new key gets a new reply.',
  },
  capacity_unavailable: {
    when:
      'The models behind this id are paused or have too long a queue, the operator has stopped its ' +
      'sale (`details.reason: "stopped"`), the server is overloaded or ' +
      'stopping, or a part of the service is unavailable. Nothing was charged, unless the message says that ' +
      'this is unknown.',
    do:
      'Wait as long as `Retry-After` says, then longer each time, and send it again with the ' +
      'same `Idempotency-Key`. A `stopped` model has no `Retry-After`: use another one until ' +
      '`GET /models` shows it as `live`.',
  },
};

export const failureAdvice: Record<FailureCode, Advice> = {
  upstream_rejected: {
    when: 'The model refused the input: it breaks a rule of the model, or its content policy.',
    do: 'Change the input. The same one will be refused again.',
  },
  upstream_failed: {
    when: 'The model accepted the input, but failed to generate.',
    do: 'Submit again with a new `Idempotency-Key`.',
  },
  timeout: {
    when: 'The generation took longer than its model allows.',
    do: 'Submit again, perhaps for less: a shorter duration, a lower resolution.',
  },
  output_too_large: {
    when: 'The output is larger than the service keeps.',
    do: 'Ask for less, such as a shorter duration or a lower resolution.',
  },
  outcome_unknown: {
    when: 'The answer of the model did not come, or could not be read, so the outcome is unknown.',
    do: 'Submit again with a new `Idempotency-Key`.',
  },
  output_unusable: {
    when:
      'The model returned no output, or one of another kind than the model is listed for. With ' +
      '`details.reason`: an output that could not be fetched (`not_fetched`), is not an image, ' +
      'video or audio (`not_media`), or is damaged (`damaged`).',
    do: 'Submit again with a new `Idempotency-Key`.',
  },
};
