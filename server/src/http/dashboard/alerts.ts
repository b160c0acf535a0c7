import { usualLowBalance } from '../../core/account/alert.ts';
import * as alerts from '../../db/accounts/alerts.ts';
import * as people from '../../db/accounts/people.ts';
import { urlLengthMax } from '../../lib/outbound/address.ts';
import { setAlerts } from '../../operations/accounts/alerts.ts';
import { demandWebhookUrl } from '../../operations/requests/check-media.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';
import type { WebDeps } from '../session/session-request.ts';

/** Alerts by e-mail that are on or off. */
const switches = {
  key_limits: 'A key has used 80 % of its monthly limit, or all of it.',
  failing_webhooks: 'The newest 5 webhooks all failed within an hour.',
  failing_jobs: 'At least 10 jobs ended within an hour, and more than half failed.',
};

const AlertSettings = s.namedObject('AlertSettings', {
  low_balance_usd_micro: s.nullable(s.microUsd('Null if this alert is off.')),
  emails: s.boolean(),
  webhook_url: s.nullable(s.text()),
  notified_at: s.nullable(s.time()),
  key_limits: s.boolean(switches.key_limits),
  failing_webhooks: s.boolean(switches.failing_webhooks),
  failing_jobs: s.boolean(switches.failing_jobs),
  has_mail: s.boolean(),
  recipients: s.list(s.text()),
});

/** Settings of an account that has chosen none. */
const usual = {
  low_balance_usd_micro: usualLowBalance,
  emails: true,
  webhook_url: null,
  notified_at: null,
  key_limits: true,
  failing_webhooks: true,
  failing_jobs: true,
};

/** GET /alerts: about what and how the account is notified. */
export const read = sessionEndpoint({ reply: AlertSettings }, ({ req }, deps) =>
  settingsOf(req.account_id, deps),
);

/**
 * PUT /alerts: a null amount turns the alert of a low balance off, and a null URL sends no webhook.
 * An absent switch stays as it is.
 */
export const write = sessionEndpoint(
  {
    body: s.form({
      low_balance_usd_micro: s.optional(s.nullable(s.amount())),
      emails: s.boolean(),
      webhook_url: s.optional(s.nullable(s.text(undefined, { maxLength: urlLengthMax }))),
      key_limits: s.optional(s.boolean(switches.key_limits)),
      failing_webhooks: s.optional(s.boolean(switches.failing_webhooks)),
      failing_jobs: s.optional(s.boolean(switches.failing_jobs)),
    }),
    reply: AlertSettings,
  },
  async ({ req, body }, deps) => {
    const { low_balance_usd_micro: threshold = null, ...rest } = body;
    const webhook_url = body.webhook_url || null;
    if (webhook_url !== null)
      await demandWebhookUrl(webhook_url, 'webhook_url', req.account_id, deps);
    const before = (await alerts.find(deps.db, req.account_id)) ?? usual;
    const low_balance_usd_micro = threshold === null ? null : BigInt(threshold);
    await setAlerts(deps.db, req.account_id, {
      ...before,
      ...rest,
      low_balance_usd_micro,
      webhook_url,
    });
    return settingsOf(req.account_id, deps);
  },
);

async function settingsOf(account_id: string, { db, web }: WebDeps) {
  const [found, recipients] = await Promise.all([
    alerts.find(db, account_id),
    people.listPayers(db, account_id),
  ]);
  return { ...(found ?? usual), has_mail: web.hasMail, recipients };
}
