import { isRole, roles } from '../core/account/role.ts';
import * as people from '../db/accounts/people.ts';
import type { Config } from '../config.ts';
import { needAccount } from '../operations/accounts/account.ts';
import { CommandFailed } from '../operations/refused.ts';
import { changeEmail } from '../operations/accounts/email.ts';
import {
  dropTwoFactor,
  invite as makeInvitation,
  resetLink as makeLink,
} from '../operations/accounts/person.ts';
import { print, table, withDatabase, type Context } from './output.ts';

/** The people who sign in to the web pages. */

export async function list(context: Context, options: { limit: number }): Promise<void> {
  const { rows, total } = await withDatabase(context, async (db) => {
    const [rows, total] = await Promise.all([people.list(db, options), people.count(db)]);
    const accounts = await people.accountsOf(
      db,
      rows.map(({ id }) => id),
    );
    return { rows: rows.map((row) => ({ ...row, accounts: accounts.get(row.id) ?? [] })), total };
  });
  const cells = rows.map((row) => [
    row.email,
    row.name,
    row.email_verified ? 'yes' : 'no',
    row.two_factor_enabled ? 'yes' : 'no',
    row.accounts.map(({ email, role }) => `${email} (${role})`).join(', '),
    row.created_at.toISOString(),
  ]);
  const lines = table(['EMAIL', 'NAME', 'PROVEN', '2FA', 'ACCOUNTS', 'CREATED'], cells);
  const part = `\n${rows.length} of ${total} people. --limit N shows more.`;
  const data = rows.map(({ id: person_id, ...row }) => ({ person_id, ...row }));
  print(context, { data, total }, rows.length < total ? lines + part : lines);
}

/** Only the link is on stdout, so that `$(…)` gets it alone. */
export async function resetLink(context: Context, email: string): Promise<void> {
  const token = await withDatabase(context, (db) => makeLink(db, email));
  const url = `${pagesOf(context.config)}/reset?token=${token}`;
  print(context, { email: email.trim().toLowerCase(), url }, url);
  tell(
    context,
    `The person who opens it within an hour sets the password of ${email} and signs in.`,
  );
}

export async function invite(
  context: Context,
  email: string,
  { account, role }: { account?: string; role?: string },
): Promise<void> {
  if (role !== undefined && account === undefined)
    throw new CommandFailed(
      '--role needs --account: in a new account of their own, people are always the owner.',
    );
  const wanted = role ?? 'owner';
  if (!isRole(wanted)) throw new CommandFailed(`--role must be one of ${roles.join(', ')}.`);
  const made = await withDatabase(context, async (db) => {
    const account_id = account === undefined ? null : (await needAccount(db, account)).id;
    return makeInvitation(db, { account_id, email, role: wanted, invited_by: null });
  });
  const url = `${pagesOf(context.config)}/invitation?token=${made.token}`;
  print(context, { invitation_id: made.id, email: made.email, role: wanted, url }, url);
  tell(context, `The link works once, within seven days, and only for ${made.email}.`);
}

export async function disable2fa(context: Context, email: string): Promise<void> {
  await withDatabase(context, (db) => dropTwoFactor(db, email));
  const shown = { email: email.trim().toLowerCase(), two_factor_enabled: false };
  print(context, shown, `${shown.email} now signs in without an authenticator app.`);
}

export async function setEmail(context: Context, before: string, email: string): Promise<void> {
  const changed = await withDatabase(context, (db) => changeEmail(db, before, email));
  print(
    context,
    changed,
    `This person now signs in with ${changed.email}, no longer with ${changed.before}.`,
  );
}

function tell(context: Context, note: string): void {
  if (!context.json) context.err(note);
}

function pagesOf(config: Config): string {
  const { FAREBOX_WEB_URL: web, FAREBOX_BASE_URL: base, PORT: port } = config;
  return web ?? (base === null ? `http://localhost:${port}` : new URL(base).origin);
}
