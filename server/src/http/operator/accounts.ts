import { search, type FoundRow } from '../../db/account-search.ts';
import type { Database } from '../../lib/sql.ts';
import { createAccount } from '../../operations/account.ts';
import { deposit } from '../../operations/deposit.ts';
import { invite } from '../../operations/person.ts';
import { text } from '../session/entry.ts';
import { amount, flag, optional, pageFrom, pageOf, parameter } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { WebDeps } from '../session/visit.ts';
import { ApiError } from '../../core/errors.ts';
import type { Deed } from './action.ts';

/** All accounts: finding one, making one. */

const filters = ['active', 'suspended', 'operators'] as const;

/** GET /accounts?q=&only=&limit=&cursor= */
export const list: VisitHandler = async (visit, _reply, { db }) => {
  const page = pageOf(visit);
  const only = parameter(visit, 'only');
  if (only !== null && !filters.includes(only as (typeof filters)[number])) {
    const message = `only must be one of ${filters.join(', ')}.`;
    throw new ApiError('bad_request', { message, param: 'only' });
  }
  const rows = await search(db, {
    words: parameter(visit, 'q'),
    only: only as (typeof filters)[number] | null,
    below_id: page.cursor,
    limit: page.limit + 1,
  });
  return pageFrom(rows, page, (row) => ({ ...shown(row), matched: row.matched }));
};

/** An account as the operator sees it. */
export function shown(row: FoundRow) {
  return {
    account_id: row.id,
    email: row.email,
    name: row.name,
    status: row.status,
    is_operator: row.is_operator,
    price_ppm: row.price_ppm,
    available_usd_micro: String(row.available_usd_micro),
    reserved_usd_micro: String(row.reserved_usd_micro),
    month_usd_micro: String(row.month_usd_micro),
    created_at: row.created_at.toISOString(),
  };
}

/** POST /accounts {email, credit_usd_micro?, reference?, invite} */
export const create: Deed = async (form, { session }, { web }) => {
  const email = text(form, 'email', 254);
  const credit = optional(form, 'credit_usd_micro', amount);
  const reference = credit === null ? null : text(form, 'reference', 255);
  const wanted = flag(form, 'invite');
  return async (db) => {
    const account = await createAccount(db, { email, is_operator: false });
    const { id: account_id } = account;
    if (credit !== null)
      await deposit(db, { account_id, amount: credit, reference: reference! }, session);
    const link = wanted
      ? await ownerLink(db, { account_id, email, invited_by: session.person_id }, web)
      : null;
    const details = {
      ...(credit !== null && { credit_usd_micro: String(credit), reference }),
      ...(wanted && { invited: account.email }),
    };
    const answer = { account_id, email: account.email, invitation_link: link };
    return { answer, account_id, target: account.email, details };
  };
};

async function ownerLink(
  db: Database,
  wanted: { account_id: string; email: string; invited_by: string },
  web: WebDeps['web'],
): Promise<string> {
  const { token } = await invite(db, { ...wanted, role: 'owner' });
  return `${web.origin()}/invitation?token=${token}`;
}
