import { errors, failures, type ErrorCode } from '../../core/errors.ts';
import { microUsd, nullable, object, openObject, ref, text, time, type Schema } from './schema.ts';

/** Errors as they look on the wire. */

const details: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  unpriceable: { field: 'duration_seconds', type: 'number', exclusive_minimum: 0, maximum: 10 },
  invalid_input: { errors: [{ path: '/prompt', message: 'is required' }] },
  insufficient_balance: {
    required_usd_micro: '250000',
    available_usd_micro: '120000',
    reserved_usd_micro: '39000',
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

/** One reply for each code, as it looks on the wire. */
export const errorExamples = Object.fromEntries(
  Object.entries(errors).map(([code, { message, type, status }]) => {
    const known = details[code as ErrorCode];
    const param = params[code as ErrorCode] ?? null;
    const request_id = 'req_k3v9XzQ21f';
    const error = { code, message, type, param, request_id, ...(known && { details: known }) };
    return [code, { summary: `${status} ${code}`, value: { error } }];
  }),
);

const errorTypes = [...new Set(Object.values(errors).map(({ type }) => type))];

const detailFields: Record<string, Schema> = {
  required_usd_micro: microUsd('What the call would reserve.'),
  available_usd_micro: microUsd('What the account can spend.'),
  reserved_usd_micro: microUsd('What its open requests hold.'),
  limit_usd_micro: microUsd("The key's limit of the month."),
  spent_usd_micro: microUsd('Charged and reserved by the key this month.'),
  resets_at: time('When the month (UTC) ends.'),
  models: { type: 'array', items: text('A model id.'), description: 'All that the key may use.' },
  status: ref('Status'),
  error: ref('Failure'),
  errors: {
    type: 'array',
    description: 'Everything to correct in the input.',
    items: object({
      path: text('JSON pointer into the input; empty for the input itself.'),
      message: text('What is wrong there.'),
    }),
  },
  max_bytes: { type: 'integer', description: 'The most this call takes.' },
  open_jobs_limit: { type: 'integer', description: 'Jobs the key may have open.' },
  open_chats_limit: { type: 'integer', description: 'Chat calls the key may have open at once.' },
  open_uploads_limit: {
    type: 'integer',
    description: 'Uploads the account may have open at once.',
  },
  failing: text('The part that is not ready.'),
};

export const schemas: Record<string, Schema> = {
  ErrorCode: {
    type: 'string',
    description: 'What went wrong. Handle codes you do not know by their HTTP status.',
    enum: Object.keys(errors),
  },
  ErrorType: { type: 'string', description: 'The family of the code.', enum: errorTypes },
  Error: object(
    {
      error: object(
        {
          code: ref('ErrorCode'),
          message: text('For people: what is wrong and what to do next. Its words may change.'),
          type: ref('ErrorType'),
          param: nullable(text('The field, parameter or header at fault.')),
          request_id: text('The `x-request-id` of this call.'),
          details: openObject(detailFields, Object.keys(detailFields), {
            description: 'Figures and allowed values; which ones depends on the code.',
          }),
        },
        ['details'],
      ),
    },
    [],
    { description: 'The body of every reply that is no success.' },
  ),
  FailureCode: {
    type: 'string',
    description: 'Why an accepted request ended `FAILED`. Nothing was charged.',
    enum: Object.keys(failures),
  },
  Failure: object({ code: ref('FailureCode'), message: text('For people.') }, [], {
    description: 'Why an accepted request ended `FAILED`.',
  }),
};
