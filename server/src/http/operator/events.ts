import { eventTypes, eventView } from '../../core/operator-event.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { operatorEndpoint } from '../endpoint.ts';

const states = ['waiting', 'sent', 'given_up', 'not_sent'] as const;

const OperatorEvent = s.namedObject('OperatorEvent', {
  event_id: s.id('The `webhook-id` of every delivery.'),
  type: s.choice(eventTypes),
  account_id: s.nullable(s.id('Null: it concerns the installation.')),
  created_at: s.time(),
  data: s.anything('Facts, by type.'),
  state: s.choice(
    states,
    '`given_up`: no delivery was accepted for 3 days. `not_sent`: there was no webhook.',
  ),
  sent_at: s.nullable(s.time('When the receiver accepted it.')),
  wake_at: s.nullable(s.time('When it is sent next.')),
  failures: s.integer('Deliveries in succession that failed.'),
  last_status: s.nullable(s.integer('The status of the newest reply.')),
  last_error: s.nullable(s.text('Why the newest delivery failed.')),
});

/** GET /operator/events: newest first. */
export const list = operatorEndpoint(
  {
    query: s.form({
      type: s.optional(s.choice(eventTypes, 'Only of this type.')),
      ...s.pageQuery(50),
    }),
    reply: s.pageOf(OperatorEvent),
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
