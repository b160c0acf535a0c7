import * as causes from '../../db/accounts/alert-causes.ts';
import * as alerts from '../../db/accounts/alerts.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** Each switch, and a cause that it turns off. */
const switches = [
  ['key_limits', 'key_near'],
  ['key_limits', 'key_full'],
  ['failing_webhooks', 'webhooks'],
  ['failing_jobs', 'jobs'],
] as const;

/** Stores about what an account is alerted, and ends the due e-mails of alerts that are off. */
export function setAlerts(
  db: Database,
  account_id: string,
  settings: Omit<alerts.AlertRow, 'notified_at'>,
): Promise<void> {
  const off = switches.filter(([name]) => !settings[name]).map(([, cause]) => cause);
  return db.tx(async (tx) => {
    await alerts.put(tx, account_id, settings);
    await causes.drop(tx, account_id, off);
  });
}
