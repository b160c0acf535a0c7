import type { Letter } from '../../lib/mail.ts';

/** E-mails about signing in. */

export function resetLetter(to: string, url: string): Letter {
  return {
    to,
    subject: 'Reset your Farebox password',
    text: `Somebody, hopefully you, asked to reset the password of ${to}.

Open this link within an hour to set a new one:
${url}

If it was not you, do nothing: the old password still works.
`,
  };
}

export function verificationLetter(to: string, url: string): Letter {
  return {
    to,
    subject: 'Confirm your e-mail address for Farebox',
    text: `Open this link within an hour to confirm that ${to} is yours:
${url}

If you did not sign up, do nothing.
`,
  };
}

/** Sent instead of `verificationLetter` if somebody already signs in with the address. */
export function knownLetter(to: string, origin: string, url: string): Letter {
  return {
    to,
    subject: 'You already have a Farebox account',
    text: `Somebody, hopefully you, tried to sign up with ${to}.
An account with this address already exists.

Sign in here:
${origin}/sign-in

If you have no password, or forgot it, open this link within an hour to set a new one:
${url}

If it was not you, do nothing: nothing has changed.
`,
  };
}

/**
 * Sent when somebody signs up with an address that was used to sign up before but never confirmed.
 */
export function againLetter(to: string, url: string): Letter {
  return {
    to,
    subject: 'Set your Farebox password',
    text: `Somebody, hopefully you, signed up more than once with ${to}.
To keep others out, the passwords chosen at sign-up do not work.

Open this link within an hour to confirm that the address is yours and to set your password:
${url}

If you did not sign up, do nothing.
`,
  };
}

/**
 * Contains no names of people and accounts, because their owners choose them freely. `by`: the
 * inviter's address; null if it is not confirmed.
 */
export function invitationLetter(to: string, url: string, by: string | null): Letter {
  return {
    to,
    subject: `An invitation to ${new URL(url).host}`,
    text: `${by ?? 'Somebody'} invites you to an account on Farebox.

Open this link within seven days to accept:
${url}

The link works for ${to} only. If you did not expect it, do nothing.
`,
  };
}

export function emailLetter(to: string, url: string): Letter {
  return {
    to,
    subject: 'Confirm your new e-mail address for Farebox',
    text: `Open this link within an hour to sign in with ${to} from now on:
${url}

If you did not ask for this, do nothing.
`,
  };
}

/** Sent instead of `emailLetter` if somebody already signs in with the new address. */
export function emailTakenLetter(to: string, origin: string): Letter {
  return {
    to,
    subject: 'You already have a Farebox account',
    text: `Somebody, hopefully you, asked to sign in with ${to} from now on.
This address already has an account, so yours cannot change to it.

Sign in here:
${origin}/sign-in

If it was not you, do nothing: nothing has changed.
`,
  };
}

/** Sent to the address that is about to be replaced. */
export function emailAskedLetter(to: string, wanted: string): Letter {
  return {
    to,
    subject: 'Somebody wants to change your Farebox e-mail address',
    text: `Somebody, hopefully you, asked to sign in with ${wanted} in place of ${to}.
Nothing has changed yet: the new address got a link that works for an hour.

If it was not you, sign in and change your password. That cancels the link.
`,
  };
}

/** Sent to the address that was replaced. */
export function emailChangedLetter(to: string, email: string): Letter {
  return {
    to,
    subject: 'Your Farebox e-mail address has changed',
    text: `You sign in with ${email} now; ${to} no longer signs you in.

If it was not you, tell the operator of the service at once.
`,
  };
}

/** Sent when the identity provider proves a person's address in a browser unknown until then. */
export function handOverLetter(
  origin: string,
  { email, keys, people }: { email: string; keys: number; people: number },
): Letter {
  const ended = `Also ended: API keys: ${keys}; access of other people: ${people}.
Webhooks have a new secret. Make new keys here:`;
  return {
    to: email,
    subject: 'Your earlier ways to sign in to Farebox have ended',
    text: `You signed in at your identity provider for the first time, in a new browser.
Somebody else may have signed up with ${email} before. To keep them out, the
password, passkeys and authenticator app no longer work, and all other browsers
are signed out.

Set a new password here if you want one:
${origin}/forgot

${keys + people > 0 ? ended : 'Look at the keys and people of your accounts:'}
${origin}/dashboard

If it was not you, tell the operator of the service at once.
`,
  };
}
