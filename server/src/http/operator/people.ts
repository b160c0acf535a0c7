import { nameMax } from '../../core/account/name.ts';
import { roles } from '../../core/account/role.ts';
import { ApiError } from '../../core/errors.ts';
import * as people from '../../db/accounts/people.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { erasePerson } from '../../operations/accounts/erase-person.ts';
import {
  changePerson,
  linkForReset,
  removePerson,
  resetTwoFactors,
  signOut,
} from '../../operations/accounts/manage-person.ts';
import type { Author } from '../../operations/operator-action.ts';
import { Refusal } from '../../operations/refusal.ts';
import { operatorAccountRefusal } from '../auth.ts';
import type { CallDeps, MailDeps, OperatorAsker } from '../deps.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { AccountFate, OperatorRole } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { emailChangedLetter } from '../session/letters.ts';
import { requireAccountIn } from './account.ts';
import { AccountPerson, peopleOf } from './members.ts';

/** People: those of an account, and what an operator does to one of them. */

/** GET /operator/accounts/{account_id}/people */
export const list = operatorEndpoint(
  { params: ['account_id'], reply: s.object({ data: s.list(AccountPerson) }) },
  async ({ params }, { db }) => ({ data: await peopleOf(db, await requireAccountIn(params, db)) }),
);

const Person = s.object({ person_id: s.id(), name: s.text(), email: s.text() });

/** PATCH /operator/people/{person_id}: what is left out stays. */
export const change = operatorAction(
  'person.change',
  {
    params: ['person_id'],
    body: s.form({
      name: s.optional(s.line(nameMax)),
      email: s.optional(s.email()),
      account_id: s.optional(s.id('The account in which the role changes.')),
      role: s.optional(s.choice(roles, 'Their role in `account_id`.')),
      operator_role: s.optional(OperatorRole),
    }),
    reply: Person,
  },
  async ({ req, params, body }, deps: CallDeps & MailDeps) => {
    const person = await requirePersonIn(params, deps.db);
    const { account_id, role, operator_role, ...wanted } = body;
    if (account_id === undefined && (role ?? operator_role) !== undefined)
      throw badField('account_id', 'the account in which the role changes');
    if (account_id !== undefined && (role === undefined) === (operator_role === undefined))
      throw badField('role', 'either role or operator_role, if account_id is given');
    if (operator_role !== undefined) demandOwn(req.operator);
    if (wanted.email !== undefined && req.operator.by.person_id === null)
      throw new Refusal(
        'An operator key cannot change the address that somebody signs in with. Do it on the operator pages.',
        { reason: 'key_signs_in' },
      );
    const member = account_id === undefined ? undefined : { account_id, role, operator_role };
    if (member) await requireAccountIn(member, deps.db);
    return async (db) => {
      const done = await changePerson(db, person, { ...wanted, member });
      if (wanted.email === undefined) return done;
      const letter = emailChangedLetter(person.email, done.answer.email);
      return { ...done, after: () => deps.post?.(letter) };
    };
  },
);

/** DELETE /operator/people/{person_id} */
export const remove = operatorAction(
  'person.remove',
  {
    params: ['person_id'],
    query: s.form({
      leaves_accounts: s.optional(
        s.choice(['true'], 'Removes them also if accounts then have no people at all.'),
      ),
    }),
    reply: s.object({ person_id: s.id() }),
  },
  async ({ params, query, by }, { db }) => {
    const person = await requirePersonIn(params, db);
    demandOther(by, person);
    const leaves_accounts = query.leaves_accounts !== undefined;
    return (same) => removePerson(same, person, { leaves_accounts });
  },
);

/** POST /operator/people/{person_id}/erase */
export const erase = operatorAction(
  'person.erase',
  {
    params: ['person_id'],
    body: s.form({ accounts: s.optional(AccountFate) }),
    reply: s.object({
      person_id: s.id(),
      closed: s.list(
        s.object({ account_id: s.id(), available_usd_micro: s.microUsd() }),
        'Accounts that were closed, with the money that is left in them.',
      ),
    }),
  },
  async ({ params, body, by }, { db }) => {
    const person = await requirePersonIn(params, db);
    demandOther(by, person);
    return (same) => erasePerson(same, person, body.accounts);
  },
);

/** POST /operator/people/{person_id}/sign-out */
export const signPersonOut = operatorAction(
  'person.sign_out',
  { params: ['person_id'], reply: s.object({ ended: s.integer('Browsers that were signed in.') }) },
  async ({ params }, { db }) => {
    const person = await requirePersonIn(params, db);
    return (same) => signOut(same, person);
  },
);

/** POST /operator/people/{person_id}/reset-two-factors */
export const resetsTwoFactors = operatorAction(
  'person.reset_two_factors',
  { params: ['person_id'], reply: s.object({ two_factor_enabled: s.boolean() }) },
  async ({ params }, { db }) => {
    const person = await requirePersonIn(params, db);
    return (same) => resetTwoFactors(same, person);
  },
);

/** POST /people/{person_id}/reset-link: makes a link for setting a new password. */
export const reset = operatorAction(
  'person.reset',
  { params: ['person_id'], reply: s.object({ link: s.text('Shown only here.') }) },
  async ({ params }, deps: CallDeps & MailDeps) => {
    const person = await requirePersonIn(params, deps.db);
    return async (db) => {
      const { answer, ...done } = await linkForReset(db, person);
      return { ...done, answer: { link: `${deps.origin()}/reset?token=${answer.token}` } };
    };
  },
);

/** The person whom the path names. Throws `not_found`. */
async function requirePersonIn(
  params: { person_id: string },
  db: Database,
): Promise<people.PersonRow> {
  const person = await people.findById(db, requireId(params.person_id));
  if (person) return person;
  throw new ApiError('not_found');
}

function demandOther(by: Author, { id }: people.PersonRow): void {
  if (by.person_id === id)
    throw new Refusal('You cannot remove yourself. Another operator can do it.', {
      reason: 'own_console',
    });
}

/** Throws `Refusal` for a key, and for operators who are not owners of the service. */
function demandOwn({ scopes }: OperatorAsker): void {
  // guard: owners-choose-operators
  if (!scopes.includes('own')) throw operatorAccountRefusal(true);
}
