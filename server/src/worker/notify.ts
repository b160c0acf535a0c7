import { card } from '../core/views.ts';
import type { Transition } from '../core/request.ts';
import { signWebhook } from '../core/webhook.ts';
import * as accounts from '../db/accounts.ts';
import { findCards, findOutputs, type Claimed } from '../db/requests.ts';
import type { StepDeps } from './step.ts';

/** Of the receiver's reply; nobody reads it. */
const replyMaxBytes = 64 * 1024;

/** Sends the one notification of a request's end. */
export async function notify(
  row: Claimed,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition | null> {
  const [[request], outputs, account] = await Promise.all([
    findCards(deps.db, [row.id]),
    findOutputs(deps.db, [row.id]),
    accounts.find(deps.db, row.account_id),
  ]);
  const url = row.webhook_url;
  if (!request || !account || url === null) return null;
  const { input: _input, ...shown } = card(request, outputs, deps.settings.links);
  const body = JSON.stringify(shown);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Farebox-Webhook/1',
    ...signWebhook(account.webhook_secrets, row.id, Math.floor(Date.now() / 1000), body),
  };
  const started = performance.now();
  const sent = await post(deps, url, headers, body, signal);
  const duration_ms = Math.round(performance.now() - started);
  const delivered = sent.status !== null && sent.status >= 200 && sent.status < 300;
  const { id, attempt, account_id } = row;
  return { id, attempt, to: 'notified', account_id, url, ...sent, duration_ms, delivered };
}

async function post(
  deps: StepDeps,
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<{ status: number | null; error: string | null }> {
  try {
    const reply = await deps.webhooks.request({
      url,
      method: 'POST',
      headers,
      body,
      timeoutMs: deps.settings.webhookMs,
      maxBytes: replyMaxBytes,
      signal,
    });
    const refused = reply.status < 200 || reply.status >= 300;
    return { status: reply.status, error: refused ? `answered ${reply.status}` : null };
  } catch (error) {
    return { status: null, error: error instanceof Error ? error.message : String(error) };
  }
}
