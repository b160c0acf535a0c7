import { operatorRoles, type OperatorRole } from '../core/account/operator-role.ts';
import * as operators from '../db/accounts/operators.ts';
import * as s from '../http/schemas/schema.ts';
import { findOperatorPlace } from '../operations/accounts/manage-person.ts';
import { operand, row } from './command.ts';
import { withDatabase } from './database.ts';
import { listOf, type TableColumns } from './output.ts';
import { printInvitation } from './person.ts';

/** The people who run the service. */

export const verbs = {
  list: row('list the people who run the service, with their roles', {}, async (_given, context) =>
    listOf('person_id', await withDatabase(context, operators.list), columns),
  ),
  invite: row(
    'print a link that invites an address to run the service',
    {
      email: operand(s.text()),
      role: s.choice(operatorRoles, 'support: no money and no prices; read_only: looks'),
      account: s.optional(
        s.text("the operator's account; default: the only one", { word: 'email' }),
      ),
    },
    ({ email, role, account }, context) =>
      printInvitation(context, 'account.invite', email, (db) =>
        findOperatorPlace(db, { role, account }),
      ),
    {
      example: ['operator invite ana@example.com --role support', 'somebody who answers customers'],
    },
  ),
};

const columns: TableColumns<{ email: string; role: OperatorRole; account: string }> = {
  EMAIL: 'email',
  ROLE: 'role',
  ACCOUNT: 'account',
};
