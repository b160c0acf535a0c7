import type { Logger } from 'pino';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import type { Letter } from '../../lib/mail.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { messageOf } from '../../lib/unknown.ts';
import { handOver } from '../../operations/accounts/hand-over.ts';
import { makeConfirmLink, isInvited, ensureOwnAccount } from '../../operations/accounts/person.ts';
import type { HttpDeps } from '../deps.ts';
import { createAuth, type Auth } from './auth.ts';
import { knownDevice } from './devices.ts';
import { handOverLetter, verificationLetter } from './letters.ts';
import type { Oidc } from './oidc.ts';
import { countLetter, type LetterKind } from './throttle.ts';
import type { WebSettings } from './session-request.ts';

/** The rules of signing in and up, and the letters that they send. */

interface PolicyDeps {
  db: Database;
  log: Logger;
}

type Post = Pick<WebSettings, 'sendMail' | 'postToStranger'> & Pick<HttpDeps, 'post'>;

/** The ways to send a letter; each is null if no mail server is set up. */
export function openPost(
  send: ((letter: Letter) => Promise<void>) | null,
  { db, log }: PolicyDeps,
): Post {
  if (!send) return { sendMail: null, post: null, postToStranger: null };
  const sendMail = logged(send, log);
  const post = (letter: Letter) => void sendMail(letter).catch(() => {});
  const postToStranger = (letter: Letter, kind: LetterKind) =>
    void countLetter(db, letter.to, kind).then(
      (may) => (may ? post(letter) : undefined),
      notSent(log),
    );
  return { sendMail, post, postToStranger };
}

/** Logs e-mails that could not be sent, because not every caller waits for the result. */
function logged(send: (letter: Letter) => Promise<void>, log: Logger) {
  return async (letter: Letter): Promise<void> => {
    try {
      await send(letter);
    } catch (error) {
      notSent(log)(error);
      throw error;
    }
  };
}

function notSent(log: Logger): (error: unknown) => void {
  return (error) => log.error({ cause: messageOf(error) }, 'e-mail not sent');
}

/** Sets up signing in. `oidc`: the identity provider; null: there is none. */
export function openAuth(
  { origin, signUp, postToStranger }: WebSettings,
  {
    db,
    log,
    post,
    secrets,
    oidc,
  }: PolicyDeps & Pick<HttpDeps, 'post' | 'secrets'> & { oidc: Oidc | null },
): Auth {
  return createAuth({
    db,
    log,
    origin,
    secrets,
    oidc,
    mail: postToStranger && ((letter) => postToStranger(letter, 'way in')),
    admits: async ({ email, emailVerified }) =>
      signUp === 'open' || (signUp === 'invite' && emailVerified && (await isInvited(db, email))),
    settle: (person) => ensureOwnAccount(db, person),
    askToConfirm: ({ id, email }) =>
      void makeConfirmLink(db, id).then((token) => {
        const link = `${origin()}/confirm?token=${token}`;
        postToStranger?.(verificationLetter(email, link), 'notice');
      }, notSent(log)),
    async meets(id, { cookies, signed_in_id }) {
      const person = await people.findEmail(db, id);
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
}
