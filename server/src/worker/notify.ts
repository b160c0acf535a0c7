import { webhookBody } from '../core/request/prediction.ts';
import type { Transition } from '../core/request/request.ts';
import * as accounts from '../db/accounts/accounts.ts';
import { findCards, findOutputs } from '../db/requests/requests.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { sendNotification } from '../operations/requests/notification.ts';
import { webhookFetch } from '../operations/requests/webhook-fetch.ts';
import type { StepDeps } from './step.ts';

/** Sends the one notification of a request's end. */
export async function notify(
  row: ClaimedRequest,
  { db, settings, ...fetches }: StepDeps,
  signal: AbortSignal,
): Promise<Transition | null> {
  const [[request], outputs, account] = await Promise.all([
    findCards(db, [row.id]),
    findOutputs(db, [row.id]),
    accounts.find(db, row.account_id),
  ]);
  const { id, attempt, account_id, webhook_url: url } = row;
  if (!request || !account || url === null) return null;
  const body = webhookBody(request, outputs, Date.now(), settings.links);
  const notification = { id, url, body, secrets: account.webhook_secrets };
  const how = { fetch: webhookFetch(account, fetches), timeoutMs: settings.webhookMs };
  const sent = await sendNotification(notification, how, signal);
  return { id, attempt, to: 'notified', account_id, url, ...sent };
}
