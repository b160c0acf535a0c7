import { open, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { formatUsd } from '../core/price/money.ts';
import { accountLines } from '../db/account-export.ts';
import * as accounts from '../db/accounts/accounts.ts';
import * as s from '../http/schemas/schema.ts';
import { statement, type StatementRow } from '../ledger/statement.ts';
import type { Database } from '../lib/sql/sql.ts';
import {
  changeKeysByApi,
  changePrice,
  changeStatus,
  createAccount,
  logExport,
  requireEmail,
  requireAccount,
  requirePpm,
  retireWebhookSecret,
  rotateWebhookSecret,
} from '../operations/accounts/account.ts';
import {
  commandLine,
  runAction,
  type ActionResult,
  type OperatorAction,
} from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { allOrNone, type Line } from './bulk.ts';
import { flag, limitOf, operand, row } from './command.ts';
import { act, withDatabase } from './database.ts';
import { countText, table, type TableColumns, type Context, type CommandOutput } from './output.ts';

const email = operand(s.text());

const newAccount = {
  email,
  credit_usd: s.optional(s.amount('book a first deposit')),
  operator: flag('may use the operator pages'),
};
type NewAccount = s.Static<s.TObject<typeof newAccount>>;

export const verbs = {
  create: row(
    'create an account',
    newAccount,
    async (given, context) => {
      const json = await withDatabase(context, (db) => create(db, given));
      const kind = json.operator ? 'Operator account' : 'Account';
      const available = formatUsd(BigInt(json.available_usd_micro));
      return { json, text: `${kind} ${json.email} made. Available: ${available} USD.` };
    },
    { many: createMany },
  ),
  list: row('list accounts, newest first', { limit: limitOf(100) }, async (given, context) => {
    const [rows, total] = await withDatabase(context, (db) =>
      Promise.all([accounts.list(db, given), accounts.count(db)]),
    );
    const part = `\n${rows.length} of ${total} accounts. --limit N shows more.`;
    const text = table(rows, columns) + (rows.length < total ? part : '');
    return { json: { data: rows.map(view), total }, text };
  }),
  show: row('show one account', { email }, async ({ email }, context) => {
    const found = await withDatabase(context, (db) => requireAccount(db, email));
    return { json: view(found), text: inWords(found) };
  }),
  suspend: row("refuse the account's keys from the next call on", { email }, ({ email }, context) =>
    setStatus(context, email, 'suspended'),
  ),
  resume: row('undo a suspension', { email }, ({ email }, context) =>
    setStatus(context, email, 'active'),
  ),
  price: row(
    'multiply every price for one account, from the next call on',
    { email, factor: operand(s.text('1 is the list price, 0.8 a fifth less, 0 free')) },
    ({ email, factor }, context) => {
      const price_ppm = requirePpm(factor);
      return change(context, email, {
        action: 'account.price',
        work: (db, account) => changePrice(db, account, price_ppm),
        text: (row) => `${row.email} pays every list price times ${row.price_ppm / 1e6}.`,
      });
    },
  ),
  'keys-by-api': row(
    'set whether the account may manage its keys by API, from the next call on',
    { email, on_off: operand(s.choice(['on', 'off'], 'new accounts have on')) },
    ({ email, on_off }, context) =>
      change(context, email, {
        action: 'account.keys_by_api',
        work: (db, account) => changeKeysByApi(db, account, on_off === 'on'),
        text: (row) => `${row.email} ${row.keys_by_api ? 'may' : 'may not'} manage keys by API.`,
      }),
  ),
  statement: row(
    "list the movements of an account's money, newest first",
    { email, limit: limitOf(100) },
    async ({ email, limit }, context) => {
      const data = await withDatabase(context, async (db) =>
        statement(db, (await requireAccount(db, email)).id, { limit }),
      );
      return { json: { data }, text: table(data, movements) };
    },
  ),
  export: row(
    'write what is kept about an account into a file, a JSON object a line, without secrets',
    { email, out: s.text('the new file', { word: 'file' }) },
    async ({ email, out }, context) => {
      const path = resolve(out);
      const json = await withDatabase(context, async (db) => {
        const { id: account_id } = await requireAccount(db, email);
        return { account_id, file: path, lines: await writeAll(db, account_id, path) };
      });
      return { json, text: `Written to ${path}: ${countText(json.lines, 'line')}.` };
    },
  ),
  'webhook-secret': row(
    "print the secret that signs the account's notifications",
    {
      email,
      rotate: flag('make a new secret; the former one also signs until it is retired'),
      retire: flag('drop the older of two secrets'),
    },
    webhookSecret,
  ),
};

/** Returns the number of lines. A file that was not finished is removed. */
async function writeAll(db: Database, account_id: string, path: string): Promise<number> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'it exists already' : error.message;
    throw new CommandFailed(`${path} cannot be written: ${why}. Give the name of a new file.`);
  });
  try {
    await logExport(db, commandLine, account_id);
    let lines = 0;
    for await (const line of accountLines(db, account_id)) {
      await file.appendFile(line);
      lines += 1;
    }
    await file.sync();
    return lines;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

function create(
  db: Database,
  { email, credit_usd = '0', operator: is_operator = false }: NewAccount,
): Promise<ReturnType<typeof view>> {
  const first_deposit = BigInt(credit_usd);
  return runAction(db, commandLine, 'account.create', async (inner) => {
    const made = await createAccount(inner, { email, is_operator, first_deposit });
    const { id: account_id, email: target } = made;
    const details = is_operator && { details: { is_operator } };
    return { answer: view(made), account_id, target, ...details };
  });
}

async function createMany(rows: Line<NewAccount>[], context: Context): Promise<CommandOutput> {
  const ofEmail = async (_db: Database, { email }: NewAccount) => ({ id: requireEmail(email) });
  const data = await allOrNone(context, rows, ofEmail, create);
  const text = table(data, {
    LINE: 'line',
    EMAIL: 'email',
    'AVAILABLE USD': ({ available_usd_micro }) => BigInt(available_usd_micro),
    'ACCOUNT ID': 'account_id',
  });
  return { json: { data }, text: `${text}\n${countText(data.length, 'account')} made.` };
}

const columns: TableColumns<accounts.AccountRow> = {
  EMAIL: 'email',
  STATUS: 'status',
  'AVAILABLE USD': 'available_usd_micro',
  'RESERVED USD': 'reserved_usd_micro',
  CREATED: 'created_at',
};

function inWords(row: accounts.AccountRow): string {
  return [
    `${row.email}  ${row.status}${row.is_operator ? '  operator' : ''}`,
    `available  ${formatUsd(row.available_usd_micro)} USD`,
    `reserved   ${formatUsd(row.reserved_usd_micro)} USD`,
    ...(row.debt_usd_micro === 0n ? [] : [`debt       ${formatUsd(row.debt_usd_micro)} USD`]),
    ...(row.price_ppm === 1e6 ? [] : [`prices     times ${row.price_ppm / 1e6}`]),
    ...(row.keys_by_api ? [] : ['keys by API  off']),
    `account    ${row.id}`,
  ].join('\n');
}

function setStatus(context: Context, email: string, status: 'active' | 'suspended') {
  return change(context, email, {
    action: status === 'active' ? 'account.resume' : 'account.suspend',
    work: (db, account) => changeStatus(db, commandLine, account, status),
    text: (row) => `${row.email} is ${row.status}.`,
  });
}

/** Changes an account and shows it. */
async function change(
  context: Context,
  email: string,
  how: {
    action: OperatorAction;
    work: (db: Database, account: accounts.AccountRow) => Promise<ActionResult>;
    text: (row: accounts.AccountRow) => string;
  },
): Promise<CommandOutput> {
  const changed = await act(context, how.action, async (db) => {
    const account = await requireAccount(db, email);
    const done = await how.work(db, account);
    return { ...done, answer: await requireAccount(db, account.id) };
  });
  return { json: view(changed), text: how.text(changed) };
}

const movements: TableColumns<StatementRow> = {
  TIME: 'created_at',
  KIND: 'kind',
  SOURCE: ({ source }) => source ?? '',
  'AMOUNT USD': amountOf,
  'AVAILABLE AFTER': 'available_after_usd_micro',
  'REQUEST OR REFERENCE': ({ request_id, reference }) => request_id ?? reference ?? '',
  REASON: ({ reason }) => reason ?? '',
};

/** Only kinds that can go either way get a sign; the others imply their direction. */
function amountOf({ kind, direction, amount_usd_micro }: StatementRow): string {
  const sign = kind !== 'adjustment' && kind !== 'debt' ? '' : direction === 'in' ? '+' : '-';
  return sign + formatUsd(amount_usd_micro);
}

/** Only the newest secret is on stdout, so that `$(…)` gets it alone. */
async function webhookSecret(
  { email, rotate, retire }: { email: string; rotate?: boolean; retire?: boolean },
  context: Context,
): Promise<CommandOutput> {
  if (rotate && retire) throw new CommandFailed('Give either --rotate or --retire, not both.');
  const change = rotate ? rotateWebhookSecret : retire ? retireWebhookSecret : null;
  const json = await act(context, 'account.webhook_secret', async (db) => {
    const { id: account_id, email: target, ...found } = await requireAccount(db, email);
    const webhook_secrets = change ? await change(db, account_id) : found.webhook_secrets;
    const answer = { account_id, email: target, webhook_secrets };
    if (change === null) return { answer, unlogged: true };
    return { answer, account_id, target, details: { secrets: webhook_secrets.length } };
  });
  const [newest, older] = json.webhook_secrets;
  const note = `The older secret also signs until you drop it with --retire: ${older}`;
  return { json, text: newest!, ...(older !== undefined && { note }) };
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
