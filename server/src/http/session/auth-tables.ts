import { randomBytes } from 'node:crypto';
import type { AuthContext } from 'better-auth';
import * as people from '../../db/accounts/people.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** How the sign-in library reaches our tables. */

/** Our names for the library's tables and columns. */
export const tables = {
  user: { modelName: 'people', fields: snake('emailVerified', 'createdAt', 'updatedAt') },
  session: {
    modelName: 'sessions',
    fields: {
      userId: 'person_id',
      ...snake('expiresAt', 'createdAt', 'updatedAt', 'ipAddress', 'userAgent'),
    },
  },
  account: {
    modelName: 'logins',
    fields: {
      userId: 'person_id',
      accountId: 'provider_account_id',
      ...snake('providerId', 'accessToken', 'refreshToken', 'idToken', 'createdAt', 'updatedAt'),
      ...snake('accessTokenExpiresAt', 'refreshTokenExpiresAt'),
    },
  },
  verification: {
    modelName: 'verifications',
    fields: snake('expiresAt', 'createdAt', 'updatedAt'),
  },
  rateLimit: { modelName: 'sign_in_windows', fields: snake('lastRequest') },
};

/** Nobody else can make such a name: an identity provider's address must not stand for another. */
const ending = `@${randomBytes(16).toString('hex')}.invalid`;

/**
 * The name under which the library gets an e-mail address: it takes only addresses of plain
 * letters, and reads them by other rules than ours.
 */
export function nameOfEmail(email: string): string {
  return `${Buffer.from(email).toString('hex')}${ending}`;
}

function emailOfName(name: string): string {
  if (!name.endsWith(ending)) return name;
  return Buffer.from(name.slice(0, -ending.length), 'hex').toString();
}

/** Lets the library find people by their address as all other doors do. */
export function findByOurRules(
  { internalAdapter }: Pick<AuthContext, 'internalAdapter'>,
  db: Database,
) {
  const find = internalAdapter.findUserByEmail;
  internalAdapter.findUserByEmail = async (name, options) => {
    const person = await people.find(db, emailOfName(name));
    return person && find(person.email, options);
  };
}

export async function openAdapter(db: Database) {
  const [{ kyselyAdapter }, { Kysely, PostgresDialect }] = await Promise.all([
    import('@better-auth/kysely-adapter'),
    import('kysely'),
  ]);
  const pool = { connect: () => db.checkout(), end: async () => {} };
  // Kysely only calls `connect` and `end`, although its type demands the driver's whole pool.
  const dialect = new PostgresDialect({ pool: pool as never });
  return kyselyAdapter(new Kysely({ dialect }), { type: 'postgres', transaction: true });
}

/** Field names, each with its column: `createdAt` is stored in created_at. */
export function snake<Name extends string>(...names: Name[]): Record<Name, string> {
  const column = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  // `fromEntries` has exactly these names, but its type does not say so.
  return Object.fromEntries(names.map((name) => [name, column(name)])) as Record<Name, string>;
}
