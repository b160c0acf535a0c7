import { signWebhook } from '../../core/request/webhook.ts';
import { isSuccess, type Fetch } from '../../lib/outbound/fetch.ts';
import { messageOf } from '../../lib/unknown.ts';

export interface SentNotification {
  /** Null: there was no answer. */
  status: number | null;
  /** Why the delivery counts as failed. */
  error: string | null;
  duration_ms: number;
  delivered: boolean;
}

/** Sends one signed POST. `id` is the same in every delivery of the same message. Never throws. */
export async function sendNotification(
  notification: {
    id: string;
    url: string;
    body: string;
    secrets: readonly string[];
    headers?: Readonly<Record<string, string>>;
  },
  { fetch, timeoutMs }: { fetch: Fetch; timeoutMs: number },
  signal?: AbortSignal,
): Promise<SentNotification> {
  const { id, url, body, secrets } = notification;
  const headers = {
    ...notification.headers,
    'content-type': 'application/json',
    'user-agent': 'Farebox-Webhook/1',
    ...signWebhook(secrets, id, Math.floor(Date.now() / 1000), body),
  };
  const limits = { timeoutMs, idleTimeoutMs: timeoutMs, maxBytes: Infinity };
  const call = { url, method: 'POST', headers, body, ...limits, ...(signal && { signal }) };
  const started = performance.now();
  const told = await fetch.stream(call).then(
    ({ status, close }) => {
      // The status line decides, so the rest of the reply is neither awaited nor judged.
      close();
      return { status, error: isSuccess(status) ? null : `answered ${status}` };
    },
    (error: unknown) => ({ status: null, error: messageOf(error) }),
  );
  const duration_ms = Math.round(performance.now() - started);
  return { ...told, duration_ms, delivered: told.error === null };
}
