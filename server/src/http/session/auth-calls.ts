import { unseen, unseenWords } from '../../core/account/name.ts';
import {
  anything,
  boolean,
  choice,
  email,
  form,
  id,
  object,
  optional,
  text,
  type TObject,
} from '../schemas/schema.ts';
import { oidcProvider } from './oidc.ts';

/** A call of the sign-in library, with the fields that it may get: its body, or a GET's query. */
export type AuthCall = readonly ['GET' | 'POST', string, TObject];

const password = text();
/** A code of an authenticator app, or a backup code. */
const code = text(undefined, { maxLength: 64 });
const passkeyName = text(undefined, {
  maxLength: 100,
  pattern: `^(?![^]*${unseen.source})[^]*\\S`,
  rule: `a text of 1 to 100 characters ${unseenWords}`,
});
/** `libraryCall` checks the address. */
const to = optional(text());
const nothing = object({});

/**
 * The library's calls that are open to the pages. Its other calls and fields would reveal tokens,
 * sign in by other rules than ours, or change things that we change by our own rules.
 */
export const authCalls: readonly AuthCall[] = [
  ['POST', '/sign-in/email', form({ email: email(), password, rememberMe: optional(boolean()) })],
  [
    'POST',
    '/sign-in/social',
    form({ provider: choice([oidcProvider]), callbackURL: to, errorCallbackURL: to }),
  ],
  [
    'GET',
    '/callback/oidc',
    object({
      code: optional(text()),
      state: optional(text()),
      iss: optional(text()),
      error: optional(text()),
      error_description: optional(text()),
    }),
  ],
  ['POST', '/sign-out', form({})],
  ['POST', '/request-password-reset', form({ email: email(), redirectTo: to })],
  ['GET', '/reset-password/:token', object({ callbackURL: to })],
  ['POST', '/send-verification-email', form({ email: email(), callbackURL: to })],
  [
    'POST',
    '/change-password',
    form({
      currentPassword: password,
      newPassword: password,
      revokeOtherSessions: optional(boolean()),
    }),
  ],
  ['POST', '/two-factor/enable', form({ password })],
  ['POST', '/two-factor/verify-totp', form({ code, trustDevice: optional(boolean()) })],
  ['POST', '/two-factor/verify-backup-code', form({ code, trustDevice: optional(boolean()) })],
  ['POST', '/two-factor/generate-backup-codes', form({ password })],
  ['POST', '/two-factor/disable', form({ password })],
  ['GET', '/passkey/generate-authenticate-options', nothing],
  ['POST', '/passkey/verify-authentication', form({ response: anything() })],
  ['GET', '/passkey/generate-register-options', nothing],
  [
    'POST',
    '/passkey/verify-registration',
    form({ response: anything(), name: optional(passkeyName) }),
  ],
  ['GET', '/passkey/list-user-passkeys', nothing],
  ['POST', '/passkey/update-passkey', form({ id: id(), name: passkeyName })],
  ['POST', '/passkey/delete-passkey', form({ id: id() })],
];
