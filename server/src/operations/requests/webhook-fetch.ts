import { trialAccounts } from '../../core/account/trial.ts';
import type { Fetch } from '../../lib/outbound/fetch.ts';

export interface WebhookFetches {
  /** For notifications: refuses addresses that are not public. */
  webhooks: Fetch;
  /** Also calls this machine: for the demo account of a trial. Null outside a trial. */
  localWebhooks: Fetch | null;
}

/** The client that calls an account's webhooks. */
export function webhookFetch(
  { email }: { email: string },
  { webhooks, localWebhooks }: WebhookFetches,
): Fetch {
  // guard: local-webhooks-of-the-demo-account
  if (email !== trialAccounts.demo) return webhooks;
  return localWebhooks ?? webhooks;
}
