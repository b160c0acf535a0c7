import { errors, type ErrorCode } from '../../core/errors.ts';
import { entriesOf } from '../../lib/records.ts';

/** Examples of errors. */

const details: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  unpriceable: { field: 'duration_seconds', type: 'number', exclusive_minimum: 0, maximum: 10 },
  invalid_input: { errors: [{ path: '/prompt', message: 'is required' }] },
  insufficient_balance: {
    required_usd_micro: '250000',
    available_usd_micro: '120000',
    reserved_usd_micro: '39000',
    top_up: [],
  },
  key_limit_reached: {
    required_usd_micro: '250000',
    limit_usd_micro: '5000000',
    spent_usd_micro: '4900000',
    resets_at: '2026-04-01T00:00:00.000Z',
  },
  forbidden: { models: ['sandbox/canvas/text-to-image'] },
  request_not_ready: { status: 'IN_PROGRESS' },
  not_cancellable: { status: 'IN_PROGRESS' },
  payload_too_large: { max_bytes: 1_048_576 },
  rate_limited: { limit: 600, window_seconds: 60, resets_in_seconds: 12 },
};

const params: Partial<Record<ErrorCode, string>> = {
  bad_request: 'wait',
  unknown_model: 'model_id',
  unpriceable: 'duration_seconds',
  invalid_input: 'prompt',
  bad_webhook_url: 'webhook_url',
  bad_messages: 'messages[0].content',
  use_chat_completions: 'model_id',
  unsupported_media_type: 'content-type',
};

/** An example reply for each code. */
export const errorExamples = Object.fromEntries(
  entriesOf(errors).map(([code, { message, type, status }]) => {
    const known = details[code];
    const param = params[code] ?? null;
    const request_id = 'req_k3v9XzQ21f';
    const error = { code, message, type, param, request_id, ...(known && { details: known }) };
    return [code, { summary: `${status} ${code}`, value: { error } }];
  }),
);
