import { search, type FoundRow } from '../../db/accounts/account-search.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { createAccount } from '../../operations/accounts/account.ts';
import { deposit, referenceMax } from '../../operations/accounts/deposit.ts';
import { invite } from '../../operations/accounts/person.ts';
import { pageFrom } from '../form.ts';
import {
  amount,
  boolean,
  choice,
  email,
  form,
  id,
  integer,
  list as listOf,
  microUsd,
  named,
  nullable,
  object,
  optional,
  pageOf,
  pageQuery,
  text,
  time,
} from '../schema.ts';
import { endpoint } from '../session/endpoint.ts';
import type { WebDeps } from '../session/visit.ts';
import { badField } from '../validate.ts';
import { action } from './action.ts';

/** Finds accounts and makes them. */

/** An account as the operator sees it. */
export const accountFields = {
  account_id: id(),
  email: text(),
  name: nullable(text()),
  status: choice(['active', 'suspended']),
  is_operator: boolean('Its owners run the service.'),
  price_ppm: integer('The factor, in millionths, by which every list price is multiplied for it.'),
  available_usd_micro: microUsd(),
  reserved_usd_micro: microUsd(),
  month_usd_micro: microUsd('Charged and reserved this month (UTC).'),
  created_at: time(),
};

const FoundAccount = named(
  'FoundAccount',
  object({
    ...accountFields,
    // The fields in which the search text was found.
    matched: listOf(
      object({
        by: choice(['account', 'person', 'key', 'request', 'payment', 'voucher']),
        said: nullable(text()),
      }),
    ),
  }),
);

/** GET /accounts */
export const list = endpoint(
  {
    query: object({
      q: optional(text(undefined, { maxLength: 300 })),
      only: optional(choice(['active', 'suspended', 'operators'])),
      ...pageQuery(25),
    }),
    reply: pageOf(FoundAccount),
  },
  async ({ query }, { db }) => {
    const { q: words = null, only = null, cursor: below_id = null, limit } = query;
    const rows = await search(db, { words, only, below_id, limit: limit + 1 });
    return pageFrom(rows, query, view);
  },
);

export function view({ id: account_id, ...row }: FoundRow) {
  return { account_id, ...row };
}

/** POST /accounts */
export const create = action(
  {
    body: form({
      email: email(),
      credit_usd_micro: optional(nullable(amount())),
      reference: optional(nullable(text(undefined, { maxLength: referenceMax }))),
      invite: boolean(),
    }),
    reply: object({ account_id: id(), email: text(), invitation_link: nullable(text()) }),
  },
  async ({ body, visit: { session } }, { web }) => {
    const { credit_usd_micro: credit, reference } = body;
    if (credit && !reference)
      throw badField('reference', `a text of 1 to ${referenceMax} characters`, {
        reason: 'reference_invalid',
        max_length: referenceMax,
      });
    return async (db) => {
      const account = await createAccount(db, { email: body.email, is_operator: false });
      const { id: account_id, email } = account;
      if (credit)
        await deposit(db, { account_id, amount: BigInt(credit), reference: reference! }, session);
      const link = body.invite
        ? await ownerLink(db, { account_id, email, invited_by: session.person_id }, web)
        : null;
      const details = {
        ...(credit && { credit_usd_micro: credit, reference }),
        ...(body.invite && { invited: email }),
      };
      const answer = { account_id, email, invitation_link: link };
      return { answer, account_id, target: email, details };
    };
  },
);

async function ownerLink(
  db: Database,
  wanted: { account_id: string; email: string; invited_by: string },
  web: WebDeps['web'],
): Promise<string> {
  const { token } = await invite(db, { ...wanted, role: 'owner' });
  return `${web.origin()}/invitation?token=${token}`;
}
