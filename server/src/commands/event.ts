import { eventTypes } from '../core/operator-event.ts';
import * as operatorEvents from '../db/operator-events.ts';
import * as s from '../http/schemas/schema.ts';
import { isUuid } from '../lib/id.ts';
import { resendEvent } from '../operations/operator-events.ts';
import { limitOf, operand, row } from './command.ts';
import { act, withDatabase } from './database.ts';
import { listOf, type TableColumns } from './output.ts';

export const verbs = {
  list: row(
    'list events, newest first, and whether the webhook got them',
    { type: s.optional(s.choice(eventTypes, 'only of this type')), limit: limitOf(50) },
    async ({ type = null, limit }, context) => {
      const rows = await withDatabase(context, (db) =>
        operatorEvents.list(db, { type, below_id: null, limit }),
      );
      return listOf('event_id', rows, columns);
    },
  ),
  resend: row(
    'send an event to the webhook again',
    { event_id: operand(s.text()) },
    async ({ event_id }, context) => {
      const id = event_id.trim().toLowerCase();
      const json = await act(context, 'event.resend', (db) =>
        resendEvent(db, isUuid(id) ? id : null),
      );
      const text = `${id} is due again. The next process that runs with FAREBOX_OPERATOR_WEBHOOK_URL sends it.`;
      return { json, text };
    },
  ),
};

const columns: TableColumns<operatorEvents.EventRow> = {
  EVENT: 'id',
  WRITTEN: 'created_at',
  TYPE: 'type',
  STATE: 'state',
  FAILURES: 'failures',
  'LAST ERROR': 'last_error',
};
