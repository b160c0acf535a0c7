import * as operatorKeys from '../db/operator-keys.ts';
import { NewOperatorKey } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import { isUuid } from '../lib/id.ts';
import { createOperatorKey, revokeOperatorKey } from '../operations/accounts/operator-key.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { limitOf, operand, row, says } from './command.ts';
import { act, withDatabase } from './database.ts';
import { listOf, type TableColumns } from './output.ts';

export const verbs = {
  create: row(
    'make an operator key and print it, once',
    {
      scope: says(NewOperatorKey.scopes, 'its rights'),
      name: {
        ...says(NewOperatorKey.name, 'a label, shown in the log', 'name'),
        default: 'default',
      },
    },
    async ({ name, scope: scopes }, context) => {
      const json = await act(context, 'operator_key.create', (db) =>
        createOperatorKey(db, commandLine, { name, scopes }),
      );
      const shown = `This is the operator key "${name}" for ${json.scopes.join(', ')}, shown once.`;
      return { json, text: `${json.key}\n\n${shown} Its id is ${json.operator_key_id}.` };
    },
    { example: ['operator-key create --name billing --scope read money', 'for a payment system'] },
  ),
  list: row(
    'list operator keys, newest first',
    { limit: limitOf(100) },
    async ({ limit }, context) => {
      const rows = await withDatabase(context, (db) =>
        operatorKeys.list(db, { below_id: null, limit }),
      );
      return listOf('operator_key_id', rows, columns);
    },
  ),
  revoke: row(
    'refuse an operator key from the next call on',
    { operator_key_id: operand(s.text()) },
    async ({ operator_key_id: id }, context) => {
      if (!isUuid(id))
        throw new CommandFailed(
          `There is no operator key with the id ${id}. "farebox operator-key list" shows them.`,
        );
      await act(context, 'operator_key.revoke', (db) => revokeOperatorKey(db, id));
      const text = `${id} is revoked from the next call on.`;
      return { json: { operator_key_id: id, revoked: true }, text };
    },
  ),
};

const columns: TableColumns<operatorKeys.OperatorKeyRow> = {
  'OPERATOR KEY ID': 'id',
  NAME: 'name',
  KEY: ({ prefix, last4 }) => `${prefix}…${last4}`,
  SCOPES: ({ scopes }) => scopes.join(' '),
  'MADE BY': (row) => (row.maker_left ? `${row.created_by} (not an operator now)` : row.created_by),
  'LAST USED': 'last_used_at',
  REVOKED: 'revoked_at',
};
