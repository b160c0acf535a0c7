import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readSample } from './catalog/samples.ts';
import { catalogDir, type Config } from './config.ts';
import type { HttpDeps } from './http/deps.ts';
import { openAuth, openPost } from './http/session/auth-policy.ts';
import type { Oidc } from './http/session/oidc.ts';
import { pagesDir } from './http/session/pages.ts';
import type { Row } from './http/row.ts';
import { webRoutes } from './http/session/routes.ts';
import type { WebDeps, WebSettings } from './http/session/session-request.ts';
import type { Services } from './services.ts';

/** The calls that the web pages make to this process, and the dependencies of these calls. */
export function openWeb(
  services: Services,
  config: Config,
  deps: HttpDeps,
): { table: Row[]; deps: WebDeps } {
  const { db, log, secrets } = services;
  if (!existsSync(join(pagesDir, 'index.html')))
    log.warn({}, 'the web pages are not built: npm run build');
  const { origin, post } = deps;
  const oidc = oidcOf(config);
  const web: WebSettings = {
    origin,
    signUp: deps.settings.signUp,
    site: {
      name: config.FAREBOX_SITE_NAME,
      line: config.FAREBOX_SITE_LINE,
      links: config.FAREBOX_SITE_LINKS ?? [],
      robots: config.FAREBOX_SITE_ROBOTS,
    },
    hasMail: services.mail !== null,
    oidcName: oidc && config.FAREBOX_OIDC_NAME,
    topUpText: config.FAREBOX_TOP_UP_TEXT,
    readSample: (name) => readSample(catalogDir(config), name),
    ...openPost(services.mail, { db, log }),
  };
  const own = {
    auth: openAuth(web, { db, log, post, secrets, oidc }),
    web,
  };
  return { table: webRoutes, deps: { ...deps, ...own } };
}

/** The origin of the pages, without a path. */
export function webOrigin(config: Config, { baseUrl }: { baseUrl: string }): string {
  return config.FAREBOX_WEB_URL ?? new URL(baseUrl).origin;
}

function oidcOf(config: Config): Oidc | null {
  const { FAREBOX_OIDC_ISSUER: issuer, FAREBOX_OIDC_CLIENT_ID: clientId } = config;
  if (issuer === null || clientId === null) return null;
  return { issuer, clientId, clientSecret: config.FAREBOX_OIDC_CLIENT_SECRET ?? '' };
}
