import { usualLowBalance } from '../../core/account/alert.ts';
import { formatUsd } from '../../core/price/money.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as alerts from '../../db/accounts/alerts.ts';
import * as deliveries from '../../db/requests/deliveries.ts';
import { newId } from '../../lib/id.ts';
import { repeat } from '../../lib/repeat.ts';
import { claimLowBalances } from '../../operations/accounts/alerts.ts';
import { sendNotification } from '../../operations/requests/notification.ts';
import { webhookFetch, type WebhookFetches } from '../../operations/requests/webhook-fetch.ts';
import { mailPayers, mailAlerts, type AlertMailDeps } from './alert-mail.ts';

/**
 * Notifies accounts whose balance is low: once, and again only after the balance has been above the
 * limit.
 */

const checkMs = 60_000;
/** Maximum accounts per check; the next check takes the others. */
const limit = 100;
/** Maximum accounts without settings that begin to be watched in one check. */
const armedMax = 1000;
/** After this time the process that claimed an alert has sent it or has died. */
const leaseSeconds = 120;
const triesMax = 5;

export interface BalanceDeps extends WebhookFetches, AlertMailDeps {
  webhookMs: number;
}

/** While `mayTell` returns false, for example on a restored copy, nobody is notified. */
export function watchBalances(deps: BalanceDeps & { mayTell: () => boolean }): {
  stop(): Promise<void>;
} {
  const look = async () => {
    if (!deps.mayTell()) return checkMs;
    try {
      await notifyLowBalances(deps);
    } catch (err) {
      deps.log.warn({ err }, 'could not check for low balances');
    }
    try {
      await mailAlerts(deps, { leaseSeconds, triesMax });
    } catch (err) {
      deps.log.warn({ err }, 'could not check for other alerts');
    }
    return checkMs;
  };
  return repeat(look, checkMs);
}

/** One check. Returns how many accounts were notified. */
export async function notifyLowBalances(deps: BalanceDeps): Promise<number> {
  await alerts.watchUnchosen(deps.db, usualLowBalance, armedMax);
  const low = await claimLowBalances(deps.db, { limit, leaseSeconds, triesMax });
  const told = await Promise.all(low.map((account) => tell(account, deps)));
  return told.filter(Boolean).length;
}

/** Returns false if the alert has to be tried again. */
async function tell(low: alerts.LowBalance, deps: BalanceDeps): Promise<boolean> {
  const { account_id } = low;
  try {
    await post(low, deps);
    await write(low, deps);
    await alerts.markSent(deps.db, low);
    return true;
  } catch (err) {
    deps.log.warn({ err, account_id }, 'could not announce a low balance');
    return false;
  }
}

/** Sent once, like every notification: if the receiver does not accept it, it is not repeated. */
async function post(low: alerts.LowBalance, deps: BalanceDeps): Promise<void> {
  const { db, webhookMs: timeoutMs } = deps;
  const { account_id, webhook_url: url, notified_at } = low;
  if (url === null) return;
  const again = low.tries > 1 && (await deliveries.hasAlertedSince(db, account_id, notified_at));
  const account = await accounts.find(db, account_id);
  if (again || !account) return;
  const id = `low_balance_${account_id}_${notified_at.getTime()}`;
  const body = JSON.stringify({
    type: 'low_balance',
    account_id,
    available_usd_micro: String(low.available_usd_micro),
    low_balance_usd_micro: String(low.low_balance_usd_micro),
    created_at: notified_at.toISOString(),
  });
  const notification = { id, url, body, secrets: account.webhook_secrets };
  const sent = await sendNotification(notification, {
    fetch: webhookFetch(account, deps),
    timeoutMs,
  });
  const { status, error, duration_ms } = sent;
  const about = { id: newId(), account_id, request_id: null, cause: 'low_balance', url } as const;
  await deliveries.insert(db, { ...about, status, error, duration_ms });
}

async function write(low: alerts.LowBalance, deps: BalanceDeps): Promise<void> {
  if (deps.mail === null || !low.emails) return;
  const account = await accounts.find(deps.db, low.account_id);
  const text = letterText(low, account!.email, deps.origin());
  await mailPayers(low.account_id, { subject: 'Your Farebox balance is low', text }, deps);
}

function letterText(low: alerts.LowBalance, name: string, origin: string): string {
  const available = formatUsd(low.available_usd_micro);
  const wanted = formatUsd(low.low_balance_usd_micro);
  return [
    `The account ${name} has ${available} USD available, less than your alert of ${wanted} USD. Requests that cost more than the available balance are refused.`,
    `Top up here:\n${origin}/dashboard/money/top-up`,
    `The next alert comes after the balance has been above ${wanted} USD again. Change or turn off alerts here:\n${origin}/dashboard/money/alerts`,
    '',
  ].join('\n\n');
}
