import * as alerts from '../../db/accounts/alerts.ts';
import * as people from '../../db/accounts/people.ts';
import { urlLengthMax } from '../../lib/outbound/address.ts';
import { judgeWebhook } from '../../operations/requests/check-media.ts';
import * as s from '../schemas/schema.ts';
import { visitEndpoint } from '../endpoint.ts';
import type { WebDeps } from '../session/visit.ts';

const AlertSettings = named(
  'AlertSettings',
  object({
    low_balance_usd_micro: nullable(microUsd('Null if no alert is set.')),
    emails: boolean(),
    webhook_url: nullable(text()),
    notified_at: nullable(time()),
    has_mail: boolean(),
    recipients: list(text()),
  }),
);

const none = { low_balance_usd_micro: null, emails: true, webhook_url: null, notified_at: null };

/** GET /alerts: when and how the account is notified that its balance runs low. */
export const read = visitEndpoint({ reply: AlertSettings }, ({ req }, deps) =>
  settingsOf(req.account_id, deps),
);

/** PUT /alerts: a null amount turns alerts off, and a null URL sends no webhook. */
export const write = visitEndpoint(
  {
    body: form({
      low_balance_usd_micro: optional(nullable(amount())),
      emails: boolean(),
      webhook_url: optional(nullable(text(undefined, { maxLength: urlLengthMax }))),
    }),
    reply: AlertSettings,
  },
  async ({ req, body }, deps) => {
    const { low_balance_usd_micro: threshold = null, emails } = body;
    const webhook_url = body.webhook_url || null;
    if (webhook_url !== null) await judgeWebhook(webhook_url, 'webhook_url', req.account_id, deps);
    const low_balance_usd_micro = threshold === null ? null : BigInt(threshold);
    await alerts.put(deps.db, req.account_id, { low_balance_usd_micro, emails, webhook_url });
    return settingsOf(req.account_id, deps);
  },
);

async function settingsOf(account_id: string, { db, web }: WebDeps) {
  const [found, recipients] = await Promise.all([
    alerts.find(db, account_id),
    people.listPayers(db, account_id),
  ]);
  return { ...(found ?? none), has_mail: web.hasMail, recipients };
}
