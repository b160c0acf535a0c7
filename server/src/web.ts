import type { Config } from './config.ts';
import type { HttpDeps } from './http/deps.ts';
import { createAuth, type Oidc } from './http/web/auth.ts';
import { webRoutes, type WebRoute } from './http/web/routes.ts';
import type { WebDeps } from './http/web/visit.ts';
import { settlePerson } from './operations/person.ts';
import type { Parts } from './parts.ts';

/** The web pages of a process: their calls, and what these are given. */
export function openWeb(
  { db, links, log, secrets, fetches, mail }: Parts,
  config: Config,
  deps: HttpDeps,
): { table: WebRoute[]; deps: WebDeps } {
  const origin = () => webOrigin(config, links);
  const { FAREBOX_SIGN_UP: signUp } = config;
  const oidc = oidcOf(config);
  const auth = createAuth({
    db,
    log,
    origin,
    secret: secrets[0]!,
    oidc,
    mail,
    admits: async () => signUp === 'open',
    settle: (person) => settlePerson(db, person),
  });
  const oidcName = oidc && config.FAREBOX_OIDC_NAME;
  const topUpText = config.FAREBOX_TOP_UP_TEXT;
  const web = { origin, signUp, hasMail: mail !== null, oidcName, topUpText, sendMail: mail };
  return { table: webRoutes(), deps: { ...deps, auth, web, webhooks: fetches.webhooks } };
}

/** Where the pages are, without a path. */
export function webOrigin(config: Config, { baseUrl }: { baseUrl: string }): string {
  return config.FAREBOX_WEB_URL ?? new URL(baseUrl).origin;
}

function oidcOf(config: Config): Oidc | null {
  const { FAREBOX_OIDC_ISSUER: issuer, FAREBOX_OIDC_CLIENT_ID: clientId } = config;
  if (issuer === null || clientId === null) return null;
  return { issuer, clientId, clientSecret: config.FAREBOX_OIDC_CLIENT_SECRET ?? '' };
}
