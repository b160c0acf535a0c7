import { eventTypes, eventView } from '../../core/operator-event.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import { pageFrom } from '../form.ts';
import {
  anything,
  choice,
  id,
  integer,
  named,
  nullable,
  form,
  object,
  optional,
  pageOf,
  pageQuery,
  text,
  time,
} from '../schemas/schema.ts';
import { operatorEndpoint } from '../endpoint.ts';

const states = ['waiting', 'sent', 'given_up', 'not_sent'] as const;

const OperatorEvent = named(
  'OperatorEvent',
  object({
    event_id: id('The `webhook-id` of every delivery.'),
    type: choice(eventTypes),
    account_id: nullable(id('Null: it concerns the installation.')),
    created_at: time(),
    data: anything('Facts, by type.'),
    state: choice(
      states,
      '`given_up`: no delivery was accepted for 3 days. `not_sent`: there was no webhook.',
    ),
    sent_at: nullable(time('When the receiver accepted it.')),
    wake_at: nullable(time('When it is sent next.')),
    failures: integer('Deliveries in succession that failed.'),
    last_status: nullable(integer('The status of the newest reply.')),
    last_error: nullable(text('Why the newest delivery failed.')),
  }),
);

/** GET /operator/events: newest first. */
export const list = operatorEndpoint(
  {
    query: form({
      type: optional(choice(eventTypes, 'Only of this type.')),
      ...pageQuery(50),
    }),
    reply: pageOf(OperatorEvent),
  },
  async ({ query }, { db }) => {
    const { type = null, cursor: below_id = null, limit } = query;
    const rows = await operatorEvents.list(db, { type, below_id, limit: limit + 1 });
    return pageFrom(rows, query, view);
  },
);

function view(row: operatorEvents.EventRow) {
  const { state, sent_at, wake_at, failures, last_status, last_error } = row;
  return { ...eventView(row), state, sent_at, wake_at, failures, last_status, last_error };
}
