import { scopes, type Scope } from '../core/account/scope.ts';
import * as operatorKeys from '../db/operator-keys.ts';
import { isUuid } from '../lib/id.ts';
import { createOperatorKey, revokeOperatorKey } from '../operations/accounts/operator-key.ts';
import { commandLine, runAction } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refused.ts';
import { print, table, withDatabase, type Context } from './output.ts';

export async function create(
  context: Context,
  options: { name: string; scope: string[] },
): Promise<void> {
  const wanted = { name: options.name, scopes: options.scope.map(scopeOf) };
  const made = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'operator_key.create', (inside) =>
      createOperatorKey(inside, wanted, commandLine),
    ),
  );
  print(
    context,
    made,
    `${made.key}\n\nThis is the operator key "${made.name}" for ${made.scopes.join(', ')}, shown once. Its id is ${made.operator_key_id}.`,
  );
}

const head = ['OPERATOR KEY ID', 'NAME', 'KEY', 'SCOPES', 'MADE BY', 'LAST USED', 'REVOKED'];

export async function list(context: Context, { limit }: { limit: number }): Promise<void> {
  const rows = await withDatabase(context, (db) =>
    operatorKeys.list(db, { below_id: null, limit }),
  );
  const data = rows.map(({ id: operator_key_id, ...row }) => ({ operator_key_id, ...row }));
  const cells = rows.map((row) => [
    row.id,
    row.name,
    `${row.prefix}…${row.last4}`,
    row.scopes.join(' '),
    row.maker_left ? `${row.created_by} (not an operator now)` : row.created_by,
    row.last_used_at?.toISOString() ?? '-',
    row.revoked_at?.toISOString() ?? '-',
  ]);
  print(context, { data }, table(head, cells));
}

export async function revoke(context: Context, id: string): Promise<void> {
  if (!isUuid(id))
    throw new CommandFailed(
      `There is no operator key with the id ${id}. "farebox operator-key list" shows them.`,
    );
  await withDatabase(context, (db) =>
    runAction(db, commandLine, 'operator_key.revoke', (inside) => revokeOperatorKey(inside, id)),
  );
  print(context, { operator_key_id: id, revoked: true }, `${id} is revoked from the next call on.`);
}

function scopeOf(text: string): Scope {
  const found = scopes.find((scope) => scope === text);
  if (found) return found;
  throw new CommandFailed(`"${text}" is not a scope. The scopes are ${scopes.join(', ')}.`);
}
