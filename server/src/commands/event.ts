import type { EventType } from '../core/operator-event.ts';
import * as operatorEvents from '../db/operator-events.ts';
import { isUuid } from '../lib/id.ts';
import { commandLine, runAction } from '../operations/operator-action.ts';
import { resendEvent } from '../operations/operator-events.ts';
import { print, table, withDatabase, type Context } from './output.ts';

const head = ['EVENT', 'WRITTEN', 'TYPE', 'STATE', 'FAILURES', 'LAST ERROR'];

export async function list(
  context: Context,
  { type = null, limit }: { type?: EventType | null; limit: number },
): Promise<void> {
  const page = { type, below_id: null, limit };
  const rows = await withDatabase(context, (db) => operatorEvents.list(db, page));
  const cells = rows.map((row) => [
    row.id,
    row.created_at.toISOString(),
    row.type,
    row.state,
    String(row.failures),
    row.last_error ?? '-',
  ]);
  const data = rows.map(({ id: event_id, ...row }) => ({ event_id, ...row }));
  print(context, { data }, table(head, cells));
}

export async function resend(context: Context, given: string): Promise<void> {
  const id = given.trim().toLowerCase();
  const done = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'event.resend', (inside) =>
      resendEvent(inside, isUuid(id) ? id : null),
    ),
  );
  print(
    context,
    done,
    `${id} is due again. The next process that runs with FAREBOX_OPERATOR_WEBHOOK_URL sends it.`,
  );
}
