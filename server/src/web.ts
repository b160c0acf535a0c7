import type { Config } from './config.ts';
import type { HttpDeps } from './http/deps.ts';
import { createAuth, type Oidc } from './http/web/auth.ts';
import { webRoutes, type WebRoute } from './http/web/routes.ts';
import type { WebDeps } from './http/web/visit.ts';
import { createMail } from './lib/mail.ts';
import { settlePerson } from './operations/person.ts';
import type { Parts } from './parts.ts';

/** The web pages of a process: their calls, and what these are given. */
export function openWeb(
  { db, links, log, secrets, fetches, catalog, connected, hints, happenings }: Parts,
  config: Config,
  deps: HttpDeps,
): { table: WebRoute[]; deps: WebDeps } {
  const origin = () => config.FAREBOX_WEB_URL ?? new URL(links.baseUrl).origin;
  const { FAREBOX_SMTP_URL: url, FAREBOX_MAIL_FROM: from, FAREBOX_SIGN_UP: signUp } = config;
  const mail = url === null ? null : createMail({ url, from }).send;
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
  const web = { origin, signUp, hasMail: mail !== null, oidcName, sendMail: mail };
  const { webhooks, trusted } = fetches;
  const own = { auth, web, webhooks, trusted, files: catalog, connected, hints, happenings };
  return { table: webRoutes(), deps: { ...deps, ...own } };
}

function oidcOf(config: Config): Oidc | null {
  const { FAREBOX_OIDC_ISSUER: issuer, FAREBOX_OIDC_CLIENT_ID: clientId } = config;
  if (issuer === null || clientId === null) return null;
  return { issuer, clientId, clientSecret: config.FAREBOX_OIDC_CLIENT_SECRET ?? '' };
}
