import { search, type FoundRow } from '../../db/accounts/account-search.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { createAccount } from '../../operations/accounts/account.ts';
import { referenceMax } from '../../core/account/booking.ts';
import { deposit } from '../../operations/accounts/book-by-hand.ts';
import { inviteAs } from '../../operations/accounts/person.ts';
import type { ActionResult, Author } from '../../operations/operator-action.ts';
import type { HttpDeps, MailDeps } from '../deps.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { demandScope } from '../auth.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { badField } from '../schemas/validate.ts';

/** Finds accounts and makes them. */

/** An account as the operator sees it. */
export const accountFields = {
  account_id: s.id(),
  email: s.text(),
  name: s.nullable(s.text()),
  status: s.choice(['active', 'suspended']),
  is_operator: s.boolean('Its owners run the service.'),
  price_ppm: s.integer(
    'The factor, in millionths, by which every list price is multiplied for it.',
  ),
  keys_by_api: s.boolean(
    'True: keys of the scope `keys` work in this account, and its people may make them.',
  ),
  available_usd_micro: s.microUsd(),
  reserved_usd_micro: s.microUsd(),
  debt_usd_micro: s.microUsd('The next deposit pays it first.'),
  month_usd_micro: s.microUsd('Charged and reserved this month (UTC).'),
  created_at: s.time(),
};

const FoundAccount = s.namedObject('FoundAccount', {
  ...accountFields,
  matched: s.list(
    s.object({
      by: s.choice(['account', 'person', 'key', 'request', 'payment', 'voucher']),
      said: s.nullable(
        s.text('The person, key, request or voucher that matched. Null: an account or a payment.'),
      ),
    }),
    'Where the searched text was found; empty if no text was searched.',
  ),
});

const AccountQuery = {
  q: s.optional(
    s.text(
      "The start of a word in a name or e-mail address; an id of an account, person, key, request or payment; the number of a call, ours or the caller's own; a payment reference; a key as shown; or a voucher's code, last characters or note.",
      { maxLength: 300 },
    ),
  ),
  only: s.optional(s.choice(['active', 'suspended', 'operators'], 'Only accounts of this kind.')),
  ...s.pageQuery(25),
};

/** GET /operator/accounts */
export const list = operatorEndpoint(
  { query: s.form(AccountQuery), reply: s.pageOf(FoundAccount) },
  async ({ query }, { db }) => {
    const { q: words = null, only = null, cursor: below_id = null, limit } = query;
    const rows = await search(db, { words, only, below_id, limit: limit + 1 });
    return pageFrom(rows, query, view);
  },
);

export function view({ id: account_id, ...row }: FoundRow) {
  return { account_id, ...row };
}

const MadeAccount = s.namedObject('MadeAccount', {
  account_id: s.id(),
  email: s.text(),
  invitation_link: s.nullable(s.text('Works once, for 7 days. Null: no invitation was asked for.')),
});

/** POST /operator/accounts */
export const create = operatorAction(
  'account.create',
  {
    body: s.form({
      email: s.email(),
      invite: s.optional(
        s.boolean(
          'True: the reply has a link with which the person at this address becomes the owner.',
        ),
      ),
      credit_usd_micro: s.optional(
        s.nullable(s.amount('A first deposit. It needs the scope money.')),
      ),
      reference: s.optional(
        s.nullable(s.line(referenceMax, 'The name of that payment outside Farebox.')),
      ),
    }),
    reply: MadeAccount,
  },
  async ({ body, by, req, reply }, deps: MailDeps) => {
    const { email: address, invite: invites = false, credit_usd_micro: credit, reference } = body;
    if (credit) demandScope(req.operator, 'money');
    if (credit && !reference)
      throw badField('reference', `a string of 1 to ${referenceMax} characters`, {
        reason: 'reference_invalid',
        max_length: referenceMax,
      });
    reply.code(201);
    return async (db) => {
      const made = await openAccount(db, { email: address, invite: invites }, by, deps);
      const { account_id } = made.answer;
      if (!credit) return made;
      await deposit(db, by, { account_id, amount: BigInt(credit), reference: reference! });
      return { ...made, details: { credit_usd_micro: credit, reference, ...made.details } };
    };
  },
);

/** Creates an account; with `invite`, its owner is invited. */
async function openAccount(
  db: Database,
  wanted: { email: string; invite: boolean },
  by: Author,
  { origin }: Pick<HttpDeps, 'origin'>,
): Promise<ActionResult<s.Static<typeof MadeAccount>>> {
  const { id: account_id, email } = await createAccount(db, {
    email: wanted.email,
    is_operator: false,
  });
  const answer = { account_id, email, invitation_link: null };
  if (!wanted.invite) return { answer, account_id, target: email };
  const made = await inviteAs(by, db, { account_id, email, role: 'owner' });
  const invitation_link = `${origin()}/invitation?token=${made.answer.token}`;
  const details = { invited: email };
  return { answer: { ...answer, invitation_link }, account_id, target: email, details };
}
