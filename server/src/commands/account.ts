import { formatUsd, parseUsd, USD } from '../core/price/money.ts';
import * as accounts from '../db/accounts/accounts.ts';
import { statement, type StatementRow } from '../ledger/statement.ts';
import {
  changeKeysByApi,
  changePrice,
  changeStatus,
  createAccount,
  needAccount,
  ppmOf,
  retireWebhookSecret,
  rotateWebhookSecret,
} from '../operations/accounts/account.ts';
import { CommandFailed } from '../operations/refused.ts';
import { runAction, commandLine } from '../operations/operator-action.ts';
import { print, table, withDatabase, type Context } from './output.ts';

/** Far above any real amount, and far below the maximum of the balance's column. */
const usdMax = 1_000_000_000n * USD;

/** The micro-USD of a typed amount in USD. Throws `CommandFailed` if it is not an amount. */
export function usd(text: string): bigint {
  let amount: bigint;
  try {
    amount = parseUsd(text);
  } catch {
    throw new CommandFailed(
      `"${text}" is not an amount in USD, such as 25 or 0.50 (at most 6 decimals, and ${formatUsd(usdMax)}).`,
    );
  }
  if (amount > usdMax) throw new CommandFailed(`"${text}" is more than ${formatUsd(usdMax)} USD.`);
  return amount;
}

export async function create(
  context: Context,
  email: string,
  options: { creditUsd?: string; operator?: boolean },
): Promise<void> {
  const first_deposit = options.creditUsd === undefined ? 0n : usd(options.creditUsd);
  const shown = await withDatabase(context, async (db) => {
    const is_operator = options.operator ?? false;
    const made = await runAction(db, commandLine, 'account.create', async (inside) => {
      const answer = await createAccount(inside, { email, is_operator, first_deposit });
      const { id: account_id, email: target } = answer;
      return { answer, account_id, target, ...(is_operator && { details: { is_operator } }) };
    });
    return view(made);
  });
  print(
    context,
    shown,
    `${shown.operator ? 'Operator account' : 'Account'} ${shown.email} made. Available: ${formatUsd(BigInt(shown.available_usd_micro))} USD.`,
  );
}

export async function list(context: Context, options: { limit: number }): Promise<void> {
  const { rows, total } = await withDatabase(context, async (db) => {
    const [rows, total] = await Promise.all([accounts.list(db, options), accounts.count(db)]);
    return { rows, total };
  });
  const shown = rows.map(view);
  const cells = rows.map((row) => [
    row.email,
    row.status,
    formatUsd(row.available_usd_micro),
    formatUsd(row.reserved_usd_micro),
    row.created_at.toISOString(),
  ]);
  const lines = table(['EMAIL', 'STATUS', 'AVAILABLE USD', 'RESERVED USD', 'CREATED'], cells);
  const part = `\n${rows.length} of ${total} accounts. --limit N shows more.`;
  print(context, { data: shown, total }, rows.length < total ? lines + part : lines);
}

export async function show(context: Context, email: string): Promise<void> {
  const row = await withDatabase(context, (db) => needAccount(db, email));
  const lines = [
    `${row.email}  ${row.status}${row.is_operator ? '  operator' : ''}`,
    `available  ${formatUsd(row.available_usd_micro)} USD`,
    `reserved   ${formatUsd(row.reserved_usd_micro)} USD`,
    ...(row.debt_usd_micro === 0n ? [] : [`debt       ${formatUsd(row.debt_usd_micro)} USD`]),
    ...(row.price_ppm === 1e6 ? [] : [`prices     times ${row.price_ppm / 1e6}`]),
    ...(row.keys_by_api ? [] : ['keys by API  off']),
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
    const account = await needAccount(db, email);
    const action = status === 'active' ? 'account.resume' : 'account.suspend';
    await runAction(db, commandLine, action, (inside) => changeStatus(inside, account, status));
    return needAccount(db, account.id);
  });
  print(context, view(row), `${row.email} is ${row.status}.`);
}

/** Sets the account's price as a factor of every list price, from the next call on. */
export async function price(context: Context, email: string, factor: string): Promise<void> {
  const price_ppm = ppmOf(factor);
  const row = await withDatabase(context, async (db) => {
    const account = await needAccount(db, email);
    await runAction(db, commandLine, 'account.price', (inside) =>
      changePrice(inside, account, price_ppm),
    );
    return needAccount(db, account.id);
  });
  print(context, view(row), `${row.email} pays every list price times ${row.price_ppm / 1e6}.`);
}

/** Sets whether keys of scope `keys` may manage the account's keys, from the next call on. */
export async function keysByApi(
  context: Context,
  email: string,
  given: 'on' | 'off',
): Promise<void> {
  const keys_by_api = given === 'on';
  const row = await withDatabase(context, async (db) => {
    const account = await needAccount(db, email);
    await runAction(db, commandLine, 'account.keys_by_api', (inside) =>
      changeKeysByApi(inside, account, keys_by_api),
    );
    return needAccount(db, account.id);
  });
  print(context, view(row), `${row.email} ${keys_by_api ? 'may' : 'may not'} manage keys by API.`);
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
    row.source ?? '',
    amountOf(row),
    formatUsd(row.available_after_usd_micro),
    row.request_id ?? row.reference ?? '',
    row.reason ?? '',
  ]);
  const head = [
    'TIME',
    'KIND',
    'SOURCE',
    'AMOUNT USD',
    'AVAILABLE AFTER',
    'REQUEST OR REFERENCE',
    'REASON',
  ];
  print(context, { data: rows }, table(head, cells));
}

/** Only kinds that can go either way get a sign; the others imply their direction. */
function amountOf({ kind, direction, amount_usd_micro }: StatementRow): string {
  const sign = kind !== 'adjustment' && kind !== 'debt' ? '' : direction === 'in' ? '+' : '-';
  return sign + formatUsd(amount_usd_micro);
}

/**
 * Prints the secrets that sign the account's notifications. Only the newest is on stdout, so that
 * `$(…)` gets it alone.
 */
export async function webhookSecret(
  context: Context,
  email: string,
  { rotate, retire }: { rotate?: boolean; retire?: boolean },
): Promise<void> {
  if (rotate && retire) throw new CommandFailed('Give either --rotate or --retire, not both.');
  const shown = await withDatabase(context, async (db) => {
    const found = await needAccount(db, email);
    const { id: account_id } = found;
    let { webhook_secrets } = found;
    if (rotate) webhook_secrets = await rotateWebhookSecret(db, account_id);
    if (retire) webhook_secrets = await retireWebhookSecret(db, account_id);
    return { account_id, email: found.email, webhook_secrets };
  });
  const [newest, older] = shown.webhook_secrets;
  print(context, shown, newest!);
  if (older !== undefined && !context.json)
    context.err(`The older secret also signs until you drop it with --retire: ${older}`);
}

function view(row: accounts.AccountRow) {
  return {
    account_id: row.id,
    email: row.email,
    available_usd_micro: String(row.available_usd_micro),
    reserved_usd_micro: String(row.reserved_usd_micro),
    debt_usd_micro: String(row.debt_usd_micro),
    status: row.status,
    operator: row.is_operator,
    price_multiplier: row.price_ppm / 1e6,
    keys_by_api: row.keys_by_api,
    created_at: row.created_at.toISOString(),
  };
}
