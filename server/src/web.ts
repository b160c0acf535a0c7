import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { sellerText } from './core/account/receipt.ts';
import type { HttpDeps } from './http/deps.ts';
import { createAuth } from './http/session/auth.ts';
import { handOver } from './operations/accounts/hand-over.ts';
import { mayWrite, type LetterKind } from './http/session/throttle.ts';
import { knownDevice } from './http/session/devices.ts';
import { handOverLetter, verificationLetter } from './http/session/letters.ts';
import type { Oidc } from './http/session/oidc.ts';
import { pagesDir } from './http/session/pages.ts';
import { webRoutes, type WebRoute } from './http/session/routes.ts';
import type { WebDeps } from './http/session/visit.ts';
import * as people from './db/accounts/people.ts';
import * as sessions from './db/accounts/sessions.ts';
import type { Letter } from './lib/mail.ts';
import { messageOf } from './lib/unknown.ts';
import { askToConfirm, isInvited, settlePerson } from './operations/accounts/person.ts';
import { createThumbnails } from './storage/thumbnail.ts';
import type { Services } from './services.ts';

/** The calls that the web pages make to this process, and the dependencies of these calls. */
export function openWeb(
  services: Services,
  config: Config,
  deps: HttpDeps,
): { table: WebRoute[]; deps: WebDeps } {
  const { db, log, secrets, fetches, mail: send } = services;
  if (!existsSync(join(pagesDir, 'index.html')))
    log.warn({}, 'the web pages are not built: npm run build');
  const { origin } = deps;
  const signUp = config.FAREBOX_SIGN_UP ?? 'invite';
  const mail = send && logged(send, log);
  const post = mail && ((letter: Letter) => void mail(letter).catch(() => {}));
  const notSent = (error: Error) => log.error({ cause: error.message }, 'e-mail not sent');
  const postToStranger =
    post &&
    ((letter: Letter, kind: LetterKind) =>
      void mayWrite(db, letter.to, kind).then((may) => (may ? post(letter) : undefined), notSent));
  const oidc = oidcOf(config);
  const auth = createAuth({
    db,
    log,
    origin,
    secrets,
    oidc,
    mail: postToStranger && ((letter) => postToStranger(letter, 'way in')),
    admits: async ({ email, emailVerified }) =>
      signUp === 'open' || (signUp === 'invite' && emailVerified && (await isInvited(db, email))),
    settle: (person) => settlePerson(db, person),
    askToConfirm: ({ id, email }) =>
      void askToConfirm(db, id).then(
        (token) =>
          postToStranger?.(
            verificationLetter(email, `${origin()}/confirm?token=${token}`),
            'notice',
          ),
        notSent,
      ),
    async meets(id, { cookies, signed_in_id }) {
      const person = await people.emailOf(db, id);
      if (!person) return;
      const device = knownDevice(cookies, person.email, { web: { origin }, secrets });
      if (signed_in_id === id || device !== null) return people.verify(db, id);
      const ended = await handOver(db, id);
      if (ended) post?.(handOverLetter(origin(), ended));
    },
    async signedIn(id, { token, before }) {
      await sessions.sweep(db, id);
      if (before !== null && before !== token) await sessions.endByToken(db, before);
    },
  });
  const oidcName = oidc && config.FAREBOX_OIDC_NAME;
  const thumbnails = createThumbnails(deps.storage);
  const topUpText = config.FAREBOX_TOP_UP_TEXT;
  const hasMail = mail !== null;
  const { FAREBOX_LEGAL_NAME: name, FAREBOX_RECEIPT_TEXT: lines } = config;
  const seller = () => sellerText(name, lines, new URL(origin()).host);
  const web = {
    origin,
    signUp,
    hasMail,
    oidcName,
    topUpText,
    seller,
    sendMail: mail,
    post,
    postToStranger,
  };
  const { trusted } = fetches;
  const { catalog: files, connected, hints, events } = services;
  const calls = { trusted, thumbnails };
  const own = { auth, web, ...calls, files, connected, hints, events };
  return { table: webRoutes(), deps: { ...deps, ...own } };
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

/** Logs e-mails that could not be sent, because not every caller waits for the result. */
function logged(send: (letter: Letter) => Promise<void>, log: Logger) {
  return async (letter: Letter): Promise<void> => {
    try {
      await send(letter);
    } catch (error) {
      log.error({ cause: messageOf(error) }, 'e-mail not sent');
      throw error;
    }
  };
}
