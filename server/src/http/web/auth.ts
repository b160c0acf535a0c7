import type { Logger } from 'pino';
import { newId } from '../../lib/id.ts';
import type { Letter } from '../../lib/mail.ts';
import { hashPassword, verifyPassword } from '../../lib/password.ts';
import type { Database } from '../../lib/sql.ts';

/** Signing in: passwords, passkeys, authenticator apps, an identity provider; and sessions. */

export const authPath = '/api/auth';
/** The address of a call as we have seen it; what a client sends under this name is dropped. */
export const addressHeader = 'x-farebox-address';
export const passwordMin = 10;
export const passwordMax = 128;

/** Who is signed in, and with which browser. */
export interface Session {
  session_id: string;
  person_id: string;
  email: string;
  name: string;
  email_verified: boolean;
  two_factor_enabled: boolean;
}

export interface Auth {
  handle(request: Request): Promise<Response>;
  /** Null: nobody is signed in. */
  session(headers: Headers): Promise<Session | null>;
  /** Sends the link that proves an address, where there is mail. */
  sendVerification(email: string): Promise<void>;
}

export interface Oidc {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

export interface AuthOptions {
  db: Database;
  log: Logger;
  /** Where the pages are, without a path: https://farebox.example. */
  origin: () => string;
  secret: Buffer;
  oidc: Oidc | null;
  /** Null: no mail is sent, and addresses are not proven. */
  mail: ((letter: Letter) => Promise<void>) | null;
  /** May a stranger who comes from the identity provider get an account? */
  admits: (email: string) => Promise<boolean>;
  /** Gives somebody who came from the identity provider an account. */
  settle: (person: { id: string; name: string; email: string }) => Promise<void>;
}

/** The library is loaded with the first call: a process that serves no pages does without it. */
export function createAuth(options: AuthOptions): Auth {
  let opened: ReturnType<typeof open> | undefined;
  const get = () => (opened ??= open(options));
  return {
    handle: async (request) => (await get()).handler(request),
    async session(headers) {
      if (!headers.get('cookie')?.includes(cookiePrefix(options.origin()))) return null;
      const found = await (await get()).api.getSession({ headers });
      if (!found) return null;
      const { id: person_id, email, name, emailVerified } = found.user;
      const { twoFactorEnabled } = found.user as { twoFactorEnabled?: boolean };
      return {
        session_id: found.session.id,
        person_id,
        email,
        name,
        email_verified: emailVerified,
        two_factor_enabled: twoFactorEnabled === true,
      };
    },
    async sendVerification(email) {
      if (options.mail === null) return;
      const body = { email, callbackURL: '/cabinet' };
      await (await get()).api.sendVerificationEmail({ body });
    },
  };
}

/** A cookie of this name is taken from no other host and no plain connection. */
export function cookiePrefix(origin: string): string {
  return isSecure(origin) ? '__Host-farebox' : 'farebox';
}

/** Browsers treat this machine as a safe connection. */
function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
}

const daySeconds = 24 * 3600;

async function open(options: AuthOptions) {
  const [{ betterAuth }, database, plugins] = await Promise.all([
    import('better-auth/minimal'),
    openAdapter(options.db),
    openPlugins(options),
  ]);
  const { log } = options;
  const origin = options.origin();
  return betterAuth({
    appName: 'Farebox',
    baseURL: origin,
    basePath: authPath,
    secret: options.secret.toString('base64url'),
    database,
    telemetry: { enabled: false },
    logger: { log: (level, message) => log[level]({}, message) },
    trustedOrigins: [origin],
    // People sign up at our own route, which makes their account in the same transaction.
    disabledPaths: ['/sign-up/email', '/change-email', '/delete-user', '/update-session'],
    ...passwords(options.mail),
    ...tables,
    account: { ...tables.account, accountLinking: { enabled: true, trustedProviders: ['oidc'] } },
    session: { ...tables.session, expiresIn: 14 * daySeconds, updateAge: daySeconds, freshAge: 0 },
    rateLimit: {
      ...tables.rateLimit,
      enabled: true,
      storage: 'database',
      window: 60,
      max: 120,
      customRules: throttles,
    },
    databaseHooks: {
      user: {
        create: {
          before: (user) => options.admits(user.email),
          after: ({ id, name, email }) => options.settle({ id, name, email }),
        },
      },
    },
    advanced: {
      cookiePrefix: cookiePrefix(origin),
      useSecureCookies: false,
      defaultCookieAttributes: {
        httpOnly: true,
        secure: isSecure(origin),
        sameSite: 'lax',
        path: '/',
      },
      ipAddress: { ipAddressHeaders: [addressHeader] },
      database: { generateId: () => newId() },
    },
    plugins,
  });
}

function passwords(mail: AuthOptions['mail']) {
  return {
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: passwordMin,
      maxPasswordLength: passwordMax,
      requireEmailVerification: mail !== null,
      revokeSessionsOnPasswordReset: true,
      password: {
        hash: hashPassword,
        verify: ({ password, hash }: { password: string; hash: string }) =>
          verifyPassword(password, hash),
      },
      ...(mail && { sendResetPassword: (link: Link) => mail(resetLetter(link)) }),
    },
    emailVerification: {
      autoSignInAfterVerification: true,
      ...(mail && { sendVerificationEmail: (link: Link) => mail(verificationLetter(link)) }),
    },
  };
}

/** Our names for the library's tables and columns. */
const tables = {
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

async function openPlugins({ origin, oidc }: AuthOptions) {
  const [{ twoFactor }, { passkey }] = await Promise.all([
    import('better-auth/plugins/two-factor'),
    import('@better-auth/passkey'),
  ]);
  const apps = twoFactor({
    issuer: 'Farebox',
    schema: {
      user: { fields: snake('twoFactorEnabled') },
      twoFactor: {
        modelName: 'two_factors',
        fields: {
          userId: 'person_id',
          ...snake('backupCodes', 'failedVerificationCount', 'lockedUntil'),
        },
      },
    },
  });
  const keys = passkey({
    rpID: new URL(origin()).hostname,
    rpName: 'Farebox',
    origin: origin(),
    schema: {
      passkey: {
        modelName: 'passkeys',
        fields: {
          userId: 'person_id',
          credentialID: 'credential_id',
          ...snake('publicKey', 'deviceType', 'backedUp', 'createdAt'),
        },
      },
    },
  });
  return [apps, keys, ...(oidc ? [await oidcPlugin(oidc)] : [])];
}

/** Tries in a window of seconds, of one address. */
const throttles = {
  '/sign-in/email': { window: 60, max: 10 },
  '/request-password-reset': { window: 300, max: 5 },
  '/reset-password': { window: 60, max: 10 },
  '/send-verification-email': { window: 300, max: 5 },
  '/change-password': { window: 60, max: 10 },
  '/two-factor/*': { window: 60, max: 10 },
  '/passkey/*': { window: 60, max: 60 },
  '/get-session': false as const,
};

async function openAdapter(db: Database) {
  const [{ kyselyAdapter }, { Kysely, PostgresDialect }] = await Promise.all([
    import('@better-auth/kysely-adapter'),
    import('kysely'),
  ]);
  const pool = { connect: () => db.checkout(), end: async () => {} };
  const dialect = new PostgresDialect({ pool: pool as never });
  return kyselyAdapter(new Kysely({ dialect }), { type: 'postgres', transaction: true });
}

async function oidcPlugin({ issuer, clientId, clientSecret }: Oidc) {
  const { genericOAuth } = await import('better-auth/plugins/generic-oauth');
  const discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const scopes = ['openid', 'email', 'profile'];
  return genericOAuth({
    config: [{ providerId: 'oidc', discoveryUrl, clientId, clientSecret, scopes, pkce: true }],
  });
}

/** Names of fields, each with its column: `createdAt` is created_at. */
function snake<Name extends string>(...names: Name[]): Record<Name, string> {
  const column = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(names.map((name) => [name, column(name)])) as Record<Name, string>;
}

interface Link {
  user: { email: string };
  url: string;
}

function resetLetter({ user: { email: to }, url }: Link): Letter {
  return {
    to,
    subject: 'Reset your Farebox password',
    text: `Somebody, hopefully you, asked to reset the password of ${to}.\n\nOpen this link within an hour to set a new one:\n${url}\n\nIf it was not you, do nothing: the old password stays.\n`,
  };
}

function verificationLetter({ user: { email: to }, url }: Link): Letter {
  return {
    to,
    subject: 'Confirm your e-mail address for Farebox',
    text: `Open this link to confirm that ${to} is yours:\n${url}\n\nIf you did not sign up, do nothing.\n`,
  };
}
