import type { Config } from '../config.ts';
import { operatorRoles } from '../core/account/operator-role.ts';
import { roles } from '../core/account/role.ts';
import { formatUsd } from '../core/price/money.ts';
import * as erasures from '../db/accounts/erasures.ts';
import * as people from '../db/accounts/people.ts';
import { AccountFate } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import type { Database } from '../lib/sql/sql.ts';
import { erasePerson, type ErasedPerson } from '../operations/accounts/erase-person.ts';
import {
  changePerson,
  linkForReset,
  removePerson,
  resetTwoFactors,
  signOut,
} from '../operations/accounts/manage-person.ts';
import { inviteAs, requirePerson, type WantedInvitation } from '../operations/accounts/person.ts';
import {
  commandLine,
  type ActionResult,
  type OperatorAction,
} from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { flag, limitOf, operand, row } from './command.ts';
import { accountId, act, withDatabase } from './database.ts';
import { listOf, type TableColumns, type Context, type CommandOutput } from './output.ts';

/** The people who sign in to the web pages. */

const email = operand(s.text());

/** Acts on the person with this address, with a row of the operator's log. */
function acts<Answer>(
  context: Context,
  action: OperatorAction,
  named: string,
  work: (db: Database, person: people.PersonRow) => Promise<ActionResult<Answer>>,
): Promise<Answer> {
  return act(context, action, async (db) => work(db, await requirePerson(db, named)));
}

/** Invites an address, with a row of the operator's log. */
export async function printInvitation(
  context: Context,
  action: OperatorAction,
  email: string,
  placeIn: (
    db: Database,
  ) => Promise<Pick<WantedInvitation, 'account_id' | 'role' | 'operator_role'>>,
): Promise<CommandOutput> {
  const { roles, ...made } = await act(context, action, async (db) =>
    inviteAs(commandLine, db, { email, ...(await placeIn(db)) }),
  );
  const url = `${pagesOf(context.config)}/invitation?token=${made.token}`;
  const json = { invitation_id: made.id, email: made.email, ...roles, url };
  const note = `The link works once, within seven days, and only for ${made.email}.`;
  return { json, text: url, note };
}

const withoutApp = row(
  'remove the authenticator app of somebody who has lost it',
  { email },
  async ({ email }, context) => {
    await acts(context, 'person.reset_two_factors', email, resetTwoFactors);
    const json = { email: email.trim().toLowerCase(), two_factor_enabled: false };
    return { json, text: `${json.email} now signs in without an authenticator app.` };
  },
);

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
      account: s.optional(
        s.text('join this existing account; default: a new one', { word: 'email' }),
      ),
      role: s.optional(s.choice(roles, 'default: owner')),
    },
    async ({ email, account, role }, context) => {
      if (role !== undefined && account === undefined)
        throw new CommandFailed(
          '--role needs --account: in a new account of their own, people are always the owner.',
        );
      const action = account === undefined ? 'invitation.create' : 'account.invite';
      return printInvitation(context, action, email, async (db) => ({
        account_id: await accountId(db, account),
        role: role ?? 'owner',
      }));
    },
  ),
  'reset-link': row(
    'print a link that sets a new password, good for an hour',
    { email },
    async ({ email }, context) => {
      const { token } = await acts(context, 'person.reset', email, linkForReset);
      const url = `${pagesOf(context.config)}/reset?token=${token}`;
      const note = `The person who opens it within an hour sets the password of ${email} and signs in.`;
      return { json: { email: email.trim().toLowerCase(), url }, text: url, note };
    },
  ),
  email: row(
    'change the address that somebody signs in with, and sign their browsers out',
    { email, new_email: operand(s.text()) },
    async ({ email, new_email }, context) => {
      let before = email;
      const { email: now } = await acts(context, 'person.change', email, (db, person) => {
        before = person.email;
        return changePerson(db, person, { email: new_email });
      });
      const words = `This person now signs in with ${now}, no longer with ${before}.`;
      return { json: { email: now, before }, text: words };
    },
  ),
  change: row(
    'change the name of a person, or their role in an account',
    {
      email,
      name: s.optional(s.text('the new name', { word: 'name' })),
      account: s.optional(s.text('where the role changes', { word: 'email' })),
      role: s.optional(s.choice(roles, 'their role in the account')),
      operator_role: s.optional(s.choice(operatorRoles, 'their role on the console')),
    },
    async ({ email, account, role, operator_role, name }, context) => {
      if ((account === undefined) !== (role === undefined && operator_role === undefined))
        throw new CommandFailed('--account needs --role or --operator-role, and they need it.');
      if (role !== undefined && operator_role !== undefined)
        throw new CommandFailed('Give --role or --operator-role, not both.');
      const json = await acts(context, 'person.change', email, async (db, person) => {
        const account_id = await accountId(db, account);
        const member = account_id === null ? undefined : { account_id, role, operator_role };
        return changePerson(db, person, { name, member });
      });
      return { json, text: `${json.email} is changed.` };
    },
  ),
  remove: row(
    'delete a person; their accounts stay with money, keys and log',
    { email, leaves_accounts: flag('also if accounts then have no people at all') },
    async ({ email, leaves_accounts = false }, context) => {
      const json = await acts(context, 'person.remove', email, (db, person) =>
        removePerson(db, person, { leaves_accounts }),
      );
      return { json: { ...json, removed: true }, text: `${email} is removed.` };
    },
  ),
  erase: row(
    'delete a person and all that says who they are; the books stay',
    { email, accounts: s.optional(AccountFate) },
    async ({ email, accounts }, context) => {
      const done = await acts(context, 'person.erase', email, (db, person) =>
        erasePerson(db, person, accounts),
      );
      const closed = done.closed.map((each) => ({
        ...each,
        available_usd_micro: String(each.available_usd_micro),
      }));
      return { json: { ...done, closed }, text: erasedText(done) };
    },
  ),
  erasures: row(
    'list erased people, newest first, and whether the content of their requests is deleted',
    { limit: limitOf(100) },
    async ({ limit }, context) => {
      const rows = await withDatabase(context, (db) => erasures.list(db, limit));
      return listOf('erasure_id', rows, {
        PERSON: 'person_id',
        ACCOUNT: 'account_id',
        CLOSED: ({ is_closed }) => (is_closed ? 'yes' : 'no'),
        ERASED: 'created_at',
        ENDED: ({ ended_at }) => ended_at?.toISOString() ?? 'not yet',
      });
    },
  ),
  'sign-out': row('sign all browsers of a person out', { email }, async ({ email }, context) => {
    const json = await acts(context, 'person.sign_out', email, signOut);
    return { json, text: `${json.ended} browsers of ${email} are signed out.` };
  }),
  'reset-two-factors': withoutApp,
  /** The former name. */
  'disable-2fa': withoutApp,
};

function erasedText({ person_id, closed }: ErasedPerson): string {
  const left = closed.map(
    ({ account_id, available_usd_micro }) =>
      `\nThe account ${account_id} is closed, with ${formatUsd(available_usd_micro)} USD left.`,
  );
  return `The person ${person_id} is erased. A worker deletes the content of their requests.${left.join('')}`;
}

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
