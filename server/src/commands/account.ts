import { formatUsd, parseUsd } from '../core/money.ts';
import * as accounts from '../db/accounts.ts';
import { statement } from '../ledger/statement.ts';
import { createAccount, needAccount, Refused } from '../operations/account.ts';
import { deposit } from '../operations/deposit.ts';
import { print, table, withDatabase, type Context } from './output.ts';

/** An amount in USD as it was typed. */
export function usd(text: string): bigint {
  try {
    return parseUsd(text);
  } catch {
    throw new Refused(`"${text}" is no amount in USD, such as 25 or 0.50 (at most 6 decimals).`);
  }
}

export async function create(
  context: Context,
  email: string,
  options: { creditUsd?: string; operator?: boolean },
): Promise<void> {
  const amount = options.creditUsd === undefined ? null : usd(options.creditUsd);
  const shown = await withDatabase(context, async (db) => {
    const made = await createAccount(db, { email, is_operator: options.operator ?? false });
    if (amount !== null && amount > 0n) {
      await deposit(db, { account_id: made.id, amount, reference: `first deposit of ${made.id}` });
    }
    return view(await needAccount(db, made.id));
  });
  print(
    context,
    shown,
    `Account ${shown.email} made. Available: ${formatUsd(BigInt(shown.available_usd_micro))} USD.`,
  );
}

export async function list(context: Context, options: { limit: number }): Promise<void> {
  const rows = await withDatabase(context, (db) => accounts.list(db, { limit: options.limit }));
  const shown = rows.map(view);
  const cells = rows.map((row) => [
    row.email,
    row.status,
    formatUsd(row.available_usd_micro),
    formatUsd(row.reserved_usd_micro),
    row.created_at.toISOString(),
  ]);
  print(
    context,
    { data: shown },
    table(['EMAIL', 'STATUS', 'AVAILABLE USD', 'RESERVED USD', 'CREATED'], cells),
  );
}

export async function show(context: Context, email: string): Promise<void> {
  const row = await withDatabase(context, (db) => needAccount(db, email));
  const lines = [
    `${row.email}  ${row.status}${row.is_operator ? '  operator' : ''}`,
    `available  ${formatUsd(row.available_usd_micro)} USD`,
    `reserved   ${formatUsd(row.reserved_usd_micro)} USD`,
    `account    ${row.id}`,
  ];
  print(context, view(row), lines.join('\n'));
}

export function suspend(context: Context, email: string): Promise<void> {
  return setStatus(context, email, 'suspended');
}

export function resume(context: Context, email: string): Promise<void> {
  return setStatus(context, email, 'active');
}

async function setStatus(
  context: Context,
  email: string,
  status: 'active' | 'suspended',
): Promise<void> {
  const row = await withDatabase(context, async (db) => {
    const { id } = await needAccount(db, email);
    await accounts.setStatus(db, id, status);
    return needAccount(db, id);
  });
  print(context, view(row), `${row.email} is ${row.status}.`);
}

export async function statementOf(
  context: Context,
  email: string,
  options: { limit: number },
): Promise<void> {
  const rows = await withDatabase(context, async (db) => {
    const { id } = await needAccount(db, email);
    return statement(db, id, { limit: options.limit });
  });
  const cells = rows.map((row) => [
    row.created_at.toISOString(),
    row.kind,
    formatUsd(row.amount_usd_micro),
    formatUsd(row.available_after_usd_micro),
    row.request_id ?? row.reference ?? '',
  ]);
  print(
    context,
    { data: rows },
    table(['TIME', 'KIND', 'AMOUNT USD', 'AVAILABLE AFTER', 'REQUEST OR REFERENCE'], cells),
  );
}

function view(row: accounts.AccountRow) {
  return {
    account_id: row.id,
    email: row.email,
    available_usd_micro: String(row.available_usd_micro),
    reserved_usd_micro: String(row.reserved_usd_micro),
    status: row.status,
    operator: row.is_operator,
    created_at: row.created_at.toISOString(),
  };
}
