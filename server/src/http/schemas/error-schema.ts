import { errors, type ErrorType } from '../../core/errors.ts';
import { keysOf } from '../../lib/records.ts';
import { Failure, StatusName } from '../requests/schema.ts';
import { TopUp } from '../api/top-up.ts';
import * as s from './schema.ts';

const codes = keysOf(errors);
const types: ErrorType[] = [...new Set(Object.values(errors).map(({ type }) => type))];

const details = s.openObject(
  {
    required_usd_micro: s.optional(s.microUsd('Required by the call.')),
    available_usd_micro: s.optional(s.microUsd('Available to the account.')),
    reserved_usd_micro: s.optional(s.microUsd('Reserved for its open requests.')),
    limit_usd_micro: s.optional(s.microUsd("The key's monthly limit.")),
    spent_usd_micro: s.optional(s.microUsd('Charged and reserved by the key this month.')),
    resets_at: s.optional(s.time('When the month (UTC) ends.')),
    top_up: s.optional(TopUp),
    models: s.optional(s.list(s.text('A model id.'), 'All models that the key may use.')),
    status: s.optional(StatusName),
    error: s.optional(Failure),
    errors: s.optional(
      s.list(
        s.object({
          path: s.text('JSON pointer into the input; empty for the input itself.'),
          message: s.text('Why this place is invalid.'),
        }),
        'Everything to correct in the input.',
      ),
    ),
    max_bytes: s.optional(s.integer('The most that this call allows.')),
    open_jobs_limit: s.optional(s.integer('Jobs the key may have open.')),
    open_chats_limit: s.optional(
      s.integer('Chat calls that the key, or all keys of the account, may have open at once.'),
    ),
    open_uploads_limit: s.optional(s.integer('Uploads the account may have open at once.')),
    failing: s.optional(s.text('The part that is not ready.')),
  },
  { description: 'Numbers and allowed values; which ones depends on the code.' },
);

/** The body of an error reply; Anthropic's and fal's clients get it in their own form. */
export const ErrorBody = s.namedObject(
  'Error',

  {
    error: s.object({
      code: s.named(
        'ErrorCode',
        s.choice(codes, 'The error code. Handle codes you do not know by their HTTP status.'),
      ),
      message: s.text('For people: what is wrong and what to do next. Its words may change.'),
      type: s.named('ErrorType', s.choice(types, 'The family of the code.')),
      param: s.nullable(s.text('The field, parameter or header at fault.')),
      request_id: s.text('The `x-request-id` of this call.'),
      details: s.optional(details),
    }),
  },
  { description: 'The body of an error reply.' },
);
