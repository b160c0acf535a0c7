import type { Config } from '../config.ts';
import { roles } from '../core/account/role.ts';
import * as people from '../db/accounts/people.ts';
import { choice, optional, text } from '../http/schemas/schema.ts';
import { changeEmail } from '../operations/accounts/email.ts';
import { dropTwoFactor, invite, resetLink } from '../operations/accounts/person.ts';
import { CommandFailed } from '../operations/refused.ts';
import { limitOf, operand, row } from './command.ts';
import { accountId, withDatabase } from './database.ts';
import { listOf, type Columns } from './output.ts';

/** The people who sign in to the web pages. */

const email = operand(text());

export const verbs = {
  list: row(
    'list people with their accounts and roles, newest first',
    { limit: limitOf(100) },
    async (given, context) => {
      const { rows, total } = await withDatabase(context, async (db) => {
        const [rows, total] = await Promise.all([people.list(db, given), people.count(db)]);
        const ids = rows.map(({ id }) => id);
        const accounts = await people.readAccounts(db, ids);
        return {
          rows: rows.map((row) => ({ ...row, accounts: accounts.get(row.id) ?? [] })),
          total,
        };
      });
      const { json, text } = listOf('person_id', rows, columns);
      const part = `\n${rows.length} of ${total} people. --limit N shows more.`;
      return { json: { ...json, total }, text: rows.length < total ? text + part : text };
    },
  ),
  invite: row(
    'print a link that invites an address to a new account, or to an existing one',
    {
      email,
      account: optional(text('join this existing account; default: a new one', { word: 'email' })),
      role: optional(choice(roles, 'default: owner')),
    },
    async ({ email, account, role }, context) => {
      if (role !== undefined && account === undefined)
        throw new CommandFailed(
          '--role needs --account: in a new account of their own, people are always the owner.',
        );
      const wanted = { email, role: role ?? 'owner', invited_by: null };
      const made = await withDatabase(context, async (db) =>
        invite(db, { ...wanted, account_id: await accountId(db, account) }),
      );
      const url = `${pagesOf(context.config)}/invitation?token=${made.token}`;
      const json = { invitation_id: made.id, email: made.email, role: wanted.role, url };
      const note = `The link works once, within seven days, and only for ${made.email}.`;
      return { json, text: url, note };
    },
  ),
  'reset-link': row(
    'print a link that sets a new password, good for an hour',
    { email },
    async ({ email }, context) => {
      const token = await withDatabase(context, (db) => resetLink(db, email));
      const url = `${pagesOf(context.config)}/reset?token=${token}`;
      const note = `The person who opens it within an hour sets the password of ${email} and signs in.`;
      return { json: { email: email.trim().toLowerCase(), url }, text: url, note };
    },
  ),
  email: row(
    'change the address that somebody signs in with, and sign their browsers out',
    { email, new_email: operand(text()) },
    async ({ email, new_email }, context) => {
      const json = await withDatabase(context, (db) => changeEmail(db, email, new_email));
      const text = `This person now signs in with ${json.email}, no longer with ${json.before}.`;
      return { json, text };
    },
  ),
  'disable-2fa': row(
    'remove the authenticator app of somebody who has lost it',
    { email },
    async (given, context) => {
      await withDatabase(context, (db) => dropTwoFactor(db, given.email));
      const json = { email: given.email.trim().toLowerCase(), two_factor_enabled: false };
      return { json, text: `${json.email} now signs in without an authenticator app.` };
    },
  ),
};

interface ListedPerson extends Pick<people.PersonRow, 'email' | 'name' | 'created_at'> {
  email_verified: boolean;
  two_factor_enabled: boolean;
  accounts: { email: string; role: string }[];
}

const columns: TableColumns<ListedPerson> = {
  EMAIL: 'email',
  NAME: 'name',
  PROVEN: ({ email_verified }) => (email_verified ? 'yes' : 'no'),
  '2FA': ({ two_factor_enabled }) => (two_factor_enabled ? 'yes' : 'no'),
  ACCOUNTS: ({ accounts }) => accounts.map(({ email, role }) => `${email} (${role})`).join(', '),
  CREATED: 'created_at',
};

function pagesOf(config: Config): string {
  const { FAREBOX_WEB_URL: web, FAREBOX_BASE_URL: base, PORT: port } = config;
  return web ?? (base === null ? `http://localhost:${port}` : new URL(base).origin);
}
