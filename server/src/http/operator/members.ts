import * as people from '../../db/accounts/people.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { Role } from '../schemas/account.ts';
import { OperatorRole } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';

/** The people of an account, as operators see them. */

export const AccountPerson = s.namedObject('AccountPerson', {
  person_id: s.id(),
  name: s.text(),
  email: s.text(),
  email_verified: s.boolean(),
  two_factor_enabled: s.boolean(),
  role: Role,
  operator_role: s.nullable(OperatorRole),
  seen_at: s.nullable(s.time()),
});

/** The people of an account, owners first. */
export async function peopleOf(
  db: Database,
  { id, is_operator }: { id: string; is_operator: boolean },
) {
  const rows = await people.listOf(db, id);
  return rows.map(({ id: person_id, operator_role: lower, ...row }) => {
    const operator_role = is_operator && row.role === 'owner' ? ('owner' as const) : lower;
    return { person_id, operator_role, ...row };
  });
}
