import { alertBounds } from '../../core/account/alert.ts';
import type { NewEvent } from '../../core/operator-event.ts';
import * as alertCauses from '../../db/accounts/alert-causes.ts';
import * as alerts from '../../db/accounts/alerts.ts';
import * as operatorEvents from '../../db/operator-events.ts';
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
    await alertCauses.drop(tx, account_id, off);
  });
}

/** How many alerts one process takes at once, and for how long they are its own. */
export interface AlertLease {
  limit: number;
  leaseSeconds: number;
  triesMax: number;
}

/** Takes accounts whose balance is low. The operator's event comes with the first try. */
export function claimLowBalances(db: Database, lease: AlertLease): Promise<alerts.LowBalance[]> {
  return db.tx(async (tx) => {
    const claimed = await alerts.claimLow(tx, lease);
    const isNew = ({ tries }: alerts.LowBalance) => tries === 1;
    await operatorEvents.addMany(tx, claimed.filter(isNew).map(eventOf));
    return claimed;
  });
}

function eventOf({ account_id, ...low }: alerts.LowBalance): NewEvent {
  const data = {
    available_usd_micro: String(low.available_usd_micro),
    low_balance_usd_micro: String(low.low_balance_usd_micro),
  };
  return { type: 'balance.low', account_id, data };
}

/** Takes what an account is alerted of beside its balance. */
export function claimCauses(db: Database, lease: AlertLease): Promise<alertCauses.DueCause[]> {
  return db.tx(async (tx) => {
    await alertCauses.storeNew(tx, alertBounds, lease.limit);
    return alertCauses.claim(tx, lease);
  });
}
