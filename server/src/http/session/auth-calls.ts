import { lineRule, nameMax, unseen } from '../../core/account/name.ts';
import * as s from '../schemas/schema.ts';
import { oidcProvider } from './oidc.ts';

/** A call of the sign-in library, with the fields that it may get: its body, or a GET's query. */
export type AuthCall = readonly ['GET' | 'POST', string, s.TObject];

const password = s.text();
/** A code of an authenticator app, or a backup code. */
const code = s.text(undefined, { maxLength: 64 });
const passkeyName = s.text(undefined, {
  maxLength: nameMax,
  pattern: `^(?![^]*${unseen.source})[^]*\\S`,
  rule: lineRule(nameMax),
});
/** `libraryCall` checks the address. */
const to = s.optional(s.text());
const nothing = s.object({});

/**
 * The library's calls that are open to the pages. Its other calls and fields would reveal tokens,
 * sign in by other rules than ours, or change things that we change by our own rules.
 */
export const authCalls: readonly AuthCall[] = [
  [
    'POST',
    '/sign-in/email',
    s.form({ email: s.email(), password, rememberMe: s.optional(s.boolean()) }),
  ],
  [
    'POST',
    '/sign-in/social',
    s.form({ provider: s.choice([oidcProvider]), callbackURL: to, errorCallbackURL: to }),
  ],
  [
    'GET',
    '/callback/oidc',
    s.object({
      code: s.optional(s.text()),
      state: s.optional(s.text()),
      iss: s.optional(s.text()),
      error: s.optional(s.text()),
      error_description: s.optional(s.text()),
    }),
  ],
  ['POST', '/sign-out', s.form({})],
  ['POST', '/request-password-reset', s.form({ email: s.email(), redirectTo: to })],
  ['GET', '/reset-password/:token', s.object({ callbackURL: to })],
  ['POST', '/send-verification-email', s.form({ email: s.email(), callbackURL: to })],
  [
    'POST',
    '/change-password',
    s.form({
      currentPassword: password,
      newPassword: password,
      revokeOtherSessions: s.optional(s.boolean()),
    }),
  ],
  ['POST', '/two-factor/enable', s.form({ password })],
  ['POST', '/two-factor/verify-totp', s.form({ code, trustDevice: s.optional(s.boolean()) })],
  [
    'POST',
    '/two-factor/verify-backup-code',
    s.form({ code, trustDevice: s.optional(s.boolean()) }),
  ],
  ['POST', '/two-factor/generate-backup-codes', s.form({ password })],
  ['POST', '/two-factor/disable', s.form({ password })],
  ['GET', '/passkey/generate-authenticate-options', nothing],
  ['POST', '/passkey/verify-authentication', s.form({ response: s.anything() })],
  ['GET', '/passkey/generate-register-options', nothing],
  [
    'POST',
    '/passkey/verify-registration',
    s.form({ response: s.anything(), name: s.optional(passkeyName) }),
  ],
  ['GET', '/passkey/list-user-passkeys', nothing],
  ['POST', '/passkey/update-passkey', s.form({ id: s.id(), name: passkeyName })],
  ['POST', '/passkey/delete-passkey', s.form({ id: s.id() })],
];
