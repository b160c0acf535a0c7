import { ApiError } from '../../core/errors.ts';
import * as people from '../../db/accounts/people.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { changeEmail } from '../../operations/accounts/email.ts';
import { resetLink } from '../../operations/accounts/person.ts';
import { operatorAction } from '../endpoint.ts';
import { idOf } from '../form.ts';
import { OperatorRole } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { emailChangedLetter } from '../session/letters.ts';
import { need } from './account.ts';

/** The people of an account, below /accounts/:account_id/people/:person_id. */

const params = ['account_id', 'person_id'] as const;

/** POST /reset: makes a link for setting a new password. */
export const reset = operatorAction(
  'person.reset',
  { params, reply: object({ link: text('Shown only here.') }) },
  async ({ params }, deps) => {
    const { account_id, email: target } = await personOf(params, deps.db);
    return async (db) => {
      const link = `${deps.origin()}/reset?token=${await resetLink(db, target)}`;
      return { answer: { link }, account_id, target };
    };
  },
);

/**
 * POST /email: changes the address that a person signs in with. The operator vouches for the new
 * address.
 */
export const setEmail = operatorAction(
  'person.email',
  {
    params,
    body: form({ email: email() }),
    reply: object({ before: text(), email: text() }),
  },
  async ({ params, body }, deps) => {
    const { account_id, email: before } = await personOf(params, deps.db);
    return async (db) => {
      const changed = await changeEmail(db, before, body.email);
      const after = () => deps.post?.(emailChangedLetter(changed.before, changed.email));
      const details = { email: changed.email };
      return { answer: changed, account_id, target: changed.before, details, after };
    };
  },
);

async function personOf(params: { account_id: string; person_id: string }, db: Database) {
  const { id: account_id } = await need(db, params);
  const person_id = idOf(params.person_id);
  const person = (await people.listOf(db, account_id)).find(({ id }) => id === person_id);
  if (!person) throw new ApiError('not_found');
  return { account_id, ...person };
}
