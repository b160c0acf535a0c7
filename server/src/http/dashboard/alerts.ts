import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import * as alerts from '../../db/alerts.ts';
import * as people from '../../db/people.ts';
import { urlLengthMax } from '../../lib/address.ts';
import { judgePublic } from '../../operations/check-media.ts';
import { text } from '../session/entry.ts';
import { amount, flag, optional } from '../form.ts';
import { readForm, type Visit, type WebDeps } from '../session/visit.ts';

const none = { low_balance_usd_micro: null, emails: true, webhook_url: null, told_at: null };

/** GET /alerts: when and how the account wants to hear that its balance runs low. */
export async function read(
  visit: Visit,
  _reply: FastifyReply,
  { db, web }: WebDeps,
): Promise<unknown> {
  const [found, recipients] = await Promise.all([
    alerts.find(db, visit.account_id),
    people.payersOf(db, visit.account_id),
  ]);
  const { low_balance_usd_micro, emails, webhook_url, told_at } = found ?? none;
  return {
    low_balance_usd_micro: low_balance_usd_micro?.toString() ?? null,
    emails,
    webhook_url,
    told_at: told_at?.toISOString() ?? null,
    has_mail: web.hasMail,
    recipients,
  };
}

/** PUT /alerts {low_balance_usd_micro, emails, webhook_url}; null: never, and nowhere. */
export async function write(visit: Visit, reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const form = await readForm(visit, deps);
  const wanted = {
    low_balance_usd_micro: optional(form, 'low_balance_usd_micro', amount),
    emails: flag(form, 'emails'),
    webhook_url: optional(form, 'webhook_url', (each, name) => text(each, name, urlLengthMax)),
  };
  const bad = (reason: string) =>
    new ApiError('bad_webhook_url', { message: `webhook_url ${reason}.`, param: 'webhook_url' });
  if (wanted.webhook_url !== null)
    await judgePublic(wanted.webhook_url, deps, deps.settings.webhookHttpsOnly, bad);
  await alerts.put(deps.db, visit.account_id, wanted);
  return read(visit, reply, deps);
}
