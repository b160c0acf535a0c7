import { cookiePrefix, openLibrary, type AuthOptions, type Library } from './auth-library.ts';
import { nameOfEmail } from './auth-tables.ts';
import { oidcProvider } from './oidc.ts';

/** Signing in: passwords, passkeys, authenticator apps, an identity provider; and sessions. */

/** A signed-in person and the browser's session. */
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
  /** Null: nobody is signed in. `cookies` must be set in the browser: they extend the session. */
  session(headers: Headers): Promise<{ session: Session; cookies: string[] } | null>;
  /** Sends the link that verifies an address, if mail is set up. */
  sendVerification(email: string): Promise<void>;
}

/** Loads the library at the first call, since a process that serves no pages does not need it. */
export function createAuth(options: AuthOptions): Auth {
  let opened: Promise<Library> | undefined;
  const get = () => (opened ??= openLibrary(options, null));
  const atProvider = openProvider(options);
  return {
    async handle(request) {
      const { pathname } = new URL(request.url);
      const isOidc = /\/(sign-in\/social|callback\/oidc)$/.test(pathname);
      return (await (isOidc ? atProvider() : get())).handler(request);
    },
    async session(headers) {
      if (!headers.get('cookie')?.includes(cookiePrefix(options.origin()))) return null;
      const { api } = await get();
      const { response: found, headers: sent } = await api.getSession({
        headers,
        returnHeaders: true,
      });
      return found && { session: sessionOf(found), cookies: sent.getSetCookie() };
    },
    async sendVerification(email) {
      if (options.mail === null) return;
      await (await get()).api.sendVerificationEmail({ body: { email: nameOfEmail(email) } });
    },
  };
}

/**
 * The library reads the provider's addresses once, when it is opened. If the provider does not
 * answer, the next sign-in through the provider asks again, and no other call waits for it.
 */
function openProvider(options: AuthOptions): () => Promise<Library> {
  let opened: Promise<Library> | undefined;
  return async () => {
    opened ??= openLibrary(options, options.oidc);
    const auth = await opened;
    const { socialProviders } = await auth.$context;
    if (!socialProviders.some(({ id }) => id === oidcProvider)) opened = undefined;
    return auth;
  };
}

interface LibraryUser {
  id: string;
  email: string;
  name: string;
  emailVerified: boolean;
  twoFactorEnabled?: boolean | null;
}

function sessionOf(found: { session: { id: string }; user: LibraryUser }): Session {
  const { id, email, name, emailVerified, twoFactorEnabled } = found.user;
  return {
    session_id: found.session.id,
    person_id: id,
    email,
    name,
    email_verified: emailVerified === true,
    two_factor_enabled: twoFactorEnabled === true,
  };
}
