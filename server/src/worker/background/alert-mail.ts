import type { Logger } from 'pino';
import { alertLetter } from '../../core/account/alert.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as alertCauses from '../../db/accounts/alert-causes.ts';
import * as people from '../../db/accounts/people.ts';
import type { Letter } from '../../lib/mail.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { claimCauses } from '../../operations/accounts/alerts.ts';

/** E-mails to the people who pay for an account. */

export interface AlertMailDeps {
  db: Database;
  log: Logger;
  /** Null if no mail server is set up. */
  mail: ((letter: Letter) => Promise<void>) | null;
  /** Base address of the web pages. */
  origin: () => string;
}

/** Causes in one check; the next check takes the others. */
const limit = 1000;

/** One check of all causes but a low balance: an account gets one e-mail about all of them. */
export async function mailAlerts(
  deps: AlertMailDeps,
  lease: { leaseSeconds: number; triesMax: number },
): Promise<void> {
  const { db } = deps;
  await alertCauses.clear(db, limit);
  const due = await claimCauses(db, { limit, ...lease });
  const byAccount = Map.groupBy(due, ({ account_id }) => account_id);
  await Promise.all([...byAccount].map(([id, found]) => tell(id, found, deps)));
}

/** A failure is logged, and the e-mail is tried again when the lease ends. */
async function tell(account_id: string, found: alertCauses.DueCause[], deps: AlertMailDeps) {
  const { db, log, origin } = deps;
  try {
    const account = await accounts.find(db, account_id);
    await mailPayers(account_id, alertLetter(found, account!.email, origin()), deps);
    const ids = found.map(({ id }) => id);
    await alertCauses.markSent(db, ids);
  } catch (err) {
    log.warn({ err, account_id }, 'could not send an alert');
  }
}

/** One e-mail to each recipient. Throws if none was sent. */
export async function mailPayers(
  account_id: string,
  letter: Omit<Letter, 'to'>,
  { db, mail, log }: AlertMailDeps,
): Promise<void> {
  if (mail === null) return;
  const to = await people.listPayers(db, account_id);
  const sent = await Promise.allSettled(to.map((each) => mail({ to: each, ...letter })));
  const failed = sent.filter((each) => each.status === 'rejected');
  if (failed.length > 0 && failed.length === sent.length) throw failed[0]!.reason;
  for (const { reason: err } of failed)
    log.warn({ err, account_id }, 'an alert could not be sent to one person');
}
