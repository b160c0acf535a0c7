import type { GenericEndpointContext } from 'better-auth';
import type { Logger } from 'pino';
import { canonicalEmail } from '../../core/account/email.ts';
import { newId } from '../../lib/id.ts';
import type { Letter } from '../../lib/mail.ts';
import { hashPassword, verifyPassword } from '../../lib/password.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { nameOfLink } from '../../operations/accounts/link.ts';
import { findByOurRules, openAdapter, snake, tables } from './auth-tables.ts';
import { codesOnce } from './codes.ts';
import { resetLetter } from './letters.ts';
import { oidcPlugin, oidcProvider, type Oidc } from './oidc.ts';
import { reseal, sealKeys } from './seal.ts';

/** Sets up the sign-in library with our rules and our tables. */

export const authPath = '/api/auth';
/** The caller's address as we have seen it. A client's own header of this name is dropped. */
export const addressHeader = 'x-farebox-address';
export const passwordMin = 10;
export const passwordMax = 128;

export interface AuthOptions {
  db: Database;
  log: Logger;
  /** Origin of the pages, such as https://farebox.example. */
  origin: () => string;
  /** Signing secrets, newest first. */
  secrets: readonly Buffer[];
  oidc: Oidc | null;
  /**
   * Sends a letter without waiting for it: the time it takes would reveal whether an address is
   * known. Null: no mail is sent, and addresses are not verified.
   */
  mail: ((letter: Letter) => void) | null;
  /** Whether a new person from the identity provider may sign up. */
  admits: (person: { email: string; emailVerified: boolean }) => Promise<boolean>;
  /** Gives a new person from the identity provider an account. */
  settle: (person: { id: string; email: string }) => Promise<void>;
  /** Sends the link that confirms a person's address, without waiting for it as `mail` does. */
  askToConfirm: (person: { id: string; email: string }) => void;
  /**
   * Called before the provider's proven address is linked to a person who exists, with the cookies
   * of the browser and the id of the person who is signed in there.
   */
  meets: (
    personId: string,
    browser: { cookies: string; signed_in_id: string | null },
  ) => Promise<void>;
  /**
   * Called after somebody has signed in: their expired rows can be deleted, and the session that
   * the browser had before.
   */
  signedIn: (personId: string, tokens: { token: string; before: string | null }) => Promise<void>;
}

export type Library = Awaited<ReturnType<typeof openLibrary>>;

/**
 * The prefix of cookie names. With `__Host-`, browsers accept a cookie only from this host and
 * https.
 */
export function cookiePrefix(origin: string): string {
  return isSecure(origin) ? '__Host-farebox' : 'farebox';
}

/** Safari keeps no secure cookie of this machine without https, though other browsers do. */
function isSecure(origin: string): boolean {
  return new URL(origin).protocol === 'https:';
}

/** The library's prefix for the stored token of a password reset link. */
const resetPrefix = 'reset-password:';
const hashedResets = {
  default: 'plain',
  overrides: {
    [resetPrefix]: {
      hash: async (identifier: string) => nameOfLink('reset', identifier.slice(resetPrefix.length)),
    },
  },
} as const;

/**
 * Cuts a message at a colon or line break: the rest may repeat callers' input, such as addresses.
 */
function ownWords(said: string): string {
  return said.split(/[:\n]/, 1)[0]!.slice(0, 200);
}

const daySeconds = 24 * 3600;
/**
 * Seconds after a sign-in in which the session may add a passkey, or change the e-mail address
 * without a password. Later, a stranger who finds an open browser can do neither.
 */
export const freshAge = 3600;

export async function openLibrary(options: AuthOptions, oidc: Oidc | null) {
  const [{ betterAuth }, database, plugins] = await Promise.all([
    import('better-auth/minimal'),
    openAdapter(options.db),
    openPlugins(options.origin(), oidc),
  ]);
  const { log } = options;
  const origin = options.origin();
  const secrets = sealKeys(options.secrets);
  reseal(options.db, log, secrets).catch((error: Error) =>
    log.error(
      { cause: error.message },
      'the secrets of authenticator apps could not be encrypted again',
    ),
  );
  const library = betterAuth({
    appName: 'Farebox',
    baseURL: origin,
    basePath: authPath,
    secrets,
    database,
    telemetry: { enabled: false },
    // The library reports people's mistakes as errors, so its lines get a lower level.
    logger: {
      log: (level, said) => log[level === 'error' ? 'warn' : 'debug']({}, ownWords(said)),
    },
    trustedOrigins: [origin],
    // Thrown failures reach our log; the library would print them.
    onAPIError: { errorURL: `${origin}/sign-in`, throw: true },
    ...passwords(options),
    ...tables,
    verification: { ...tables.verification, storeIdentifier: hashedResets },
    // Accounts are linked only if the provider itself has verified the address.
    account: { ...tables.account, accountLinking: { enabled: true }, updateAccountOnSignIn: false },
    session: { ...tables.session, expiresIn: 14 * daySeconds, updateAge: daySeconds, freshAge },
    rateLimit: {
      ...tables.rateLimit,
      enabled: true,
      storage: 'database',
      window: 60,
      max: 120,
      customRules: throttles,
    },
    databaseHooks: hooks(options),
    hooks: { before: await codesOnce(options.db) },
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
  findByOurRules(await library.$context, options.db);
  return library;
}

/** Stores a person's identity at the provider, but no tokens. */
const noTokens = {
  accessToken: null,
  refreshToken: null,
  idToken: null,
  accessTokenExpiresAt: null,
  refreshTokenExpiresAt: null,
};

function hooks({ admits, settle, meets, signedIn }: AuthOptions) {
  return {
    user: {
      create: {
        async before(user: { email: string; emailVerified: boolean }) {
          const { APIError } = await import('better-auth/api');
          if (canonicalEmail(user.email) !== user.email)
            throw new APIError('BAD_REQUEST', {
              code: 'email_invalid',
              message: 'The identity provider gives no usable e-mail address.',
            });
          if (await admits(user)) return;
          throw new APIError('FORBIDDEN', {
            code: 'sign_up_closed',
            message: 'Sign-up is closed.',
          });
        },
        after: ({ id, email }: { id: string; email: string }) => settle({ id, email }),
      },
    },
    account: {
      create: {
        async before(account: { providerId: string; userId: string }, ctx: Context) {
          if (account.providerId === oidcProvider && ctx) {
            const { getSessionFromCtx } = await import('better-auth/api');
            const signed_in_id = (await getSessionFromCtx(ctx))?.user.id ?? null;
            await meets(account.userId, {
              cookies: ctx.headers?.get('cookie') ?? '',
              signed_in_id,
            });
          }
          return { data: noTokens };
        },
      },
    },
    session: {
      create: {
        async after({ userId, token }: { userId: string; token: string }, ctx: Context) {
          await signedIn(userId, { token, before: await tokenOf(ctx) });
        },
      },
    },
  };
}

type Context = GenericEndpointContext | null;

/** The token of the session that the browser had; this sign-in replaces its cookie. */
async function tokenOf(ctx: Context): Promise<string | null> {
  if (!ctx) return null;
  const { authCookies, secret } = ctx.context;
  return (await ctx.getSignedCookie(authCookies.sessionToken.name, secret)) || null;
}

function passwords({ mail, askToConfirm }: AuthOptions) {
  return {
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: passwordMin,
      maxPasswordLength: passwordMax,
      requireEmailVerification: mail !== null,
      password: {
        hash: hashPassword,
        verify: ({ password, hash }: { password: string; hash: string }) =>
          verifyPassword(password, hash),
      },
      ...(mail && {
        sendResetPassword: async ({ user, url }: Link) => mail(resetLetter(user.email, url)),
      }),
    },
    emailVerification: {
      // Our own link, because opening the library's confirms the address.
      ...(mail && { sendVerificationEmail: async ({ user }: Link) => askToConfirm(user) }),
    },
  };
}

async function openPlugins(origin: string, oidc: Oidc | null) {
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
    rpID: new URL(origin).hostname,
    rpName: 'Farebox',
    origin,
    // A passkey replaces the password and the second factor, so the device has to verify its
    // holder.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    registration: {
      afterVerification: async ({ verification }) =>
        demandHolder(verification.registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: async ({ verification }) =>
        demandHolder(verification.authenticationInfo.userVerified),
    },
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

async function demandHolder(verified: boolean | undefined): Promise<void> {
  if (verified) return;
  const { APIError } = await import('better-auth/api');
  throw new APIError('UNAUTHORIZED', {
    code: 'HOLDER_NOT_VERIFIED',
    message:
      'The passkey did not verify that it is you. Set up a PIN or a fingerprint on the device.',
  });
}

/**
 * Limits of tries from one network address in a window of seconds. The library deletes all counts
 * that are older than the longest window, including our own.
 */
const throttles = {
  '/sign-in/email': { window: 60, max: 10 },
  '/sign-in/social': { window: 60, max: 20 },
  '/request-password-reset': { window: 3600, max: 10 },
  '/send-verification-email': { window: 3600, max: 10 },
  '/change-password': { window: 60, max: 10 },
  '/two-factor/*': { window: 60, max: 10 },
  '/passkey/*': { window: 60, max: 60 },
};

interface Link {
  user: { id: string; email: string };
  url: string;
}
