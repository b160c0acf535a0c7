import { errors, type ErrorType } from '../../core/errors.ts';
import { keysOf } from '../../lib/records.ts';
import { Failure, StatusName } from '../requests/schema.ts';
import { TopUp } from '../api/top-up.ts';
import {
  choice,
  integer,
  list,
  microUsd,
  named,
  nullable,
  object,
  openObject,
  optional,
  text,
  time,
} from './schema.ts';

const codes = keysOf(errors);
const types: ErrorType[] = [...new Set(Object.values(errors).map(({ type }) => type))];

const details = openObject(
  {
    required_usd_micro: optional(microUsd('Required by the call.')),
    available_usd_micro: optional(microUsd('Available to the account.')),
    reserved_usd_micro: optional(microUsd('Reserved for its open requests.')),
    limit_usd_micro: optional(microUsd("The key's monthly limit.")),
    spent_usd_micro: optional(microUsd('Charged and reserved by the key this month.')),
    resets_at: optional(time('When the month (UTC) ends.')),
    top_up: optional(TopUp),
    models: optional(list(text('A model id.'), 'All models that the key may use.')),
    status: optional(StatusName),
    error: optional(Failure),
    errors: optional(
      list(
        object({
          path: text('JSON pointer into the input; empty for the input itself.'),
          message: text('Why this place is invalid.'),
        }),
        'Everything to correct in the input.',
      ),
    ),
    max_bytes: optional(integer('The most that this call allows.')),
    open_jobs_limit: optional(integer('Jobs the key may have open.')),
    open_chats_limit: optional(
      integer('Chat calls that the key, or all keys of the account, may have open at once.'),
    ),
    open_uploads_limit: optional(integer('Uploads the account may have open at once.')),
    failing: optional(text('The part that is not ready.')),
  },
  { description: 'Numbers and allowed values; which ones depends on the code.' },
);

/** The body of an error reply; Anthropic's and fal's clients get it in their own form. */
export const ErrorBody = named(
  'Error',
  object(
    {
      error: object({
        code: named(
          'ErrorCode',
          choice(codes, 'The error code. Handle codes you do not know by their HTTP status.'),
        ),
        message: text('For people: what is wrong and what to do next. Its words may change.'),
        type: named('ErrorType', choice(types, 'The family of the code.')),
        param: nullable(text('The field, parameter or header at fault.')),
        request_id: text('The `x-request-id` of this call.'),
        details: optional(details),
      }),
    },
    { description: 'The body of an error reply.' },
  ),
);
