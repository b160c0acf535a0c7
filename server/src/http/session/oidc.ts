import type { GenericOAuthConfig } from 'better-auth/plugins/generic-oauth';
import { canonicalEmail } from '../../core/account/email.ts';
import { nameMax, unseen } from '../../core/account/name.ts';
import { objectOf } from '../../lib/json.ts';

/** Signing in at an identity provider (OpenID Connect). */
export interface Oidc {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

export const oidcProvider = 'oidc';

export async function oidcPlugin({ issuer, clientId, clientSecret }: Oidc) {
  const { genericOAuth } = await import('better-auth/plugins/generic-oauth');
  const provider: GenericOAuthConfig = {
    providerId: oidcProvider,
    discoveryUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    clientId,
    ...(clientSecret !== '' && { clientSecret }),
    scopes: ['openid', 'email', 'profile'],
    pkce: true,
    // Claims about a person count only with the provider's signature.
    requireIdTokenVerification: true,
    accountSubject: ({ tokens, profile }) => subject(tokens.idToken, profile.sub, clientId),
    mapProfileToUser: person,
  };
  return genericOAuth({ config: [provider] });
}

/**
 * The provider's id of the person in the signed token. Throws if the profile has another id, or if
 * the token was made for another client: with several audiences, `azp` names the one.
 */
export function subject(idToken: string | undefined, told: unknown, clientId: string): string {
  const [, payload = ''] = idToken?.split('.') ?? [];
  const { sub, aud, azp } = objectOf(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  const isShared = Array.isArray(aud) && aud.some((each) => each !== clientId);
  if ((isShared || azp !== undefined) && azp !== clientId)
    throw new Error('the identity provider made the token for another client');
  if (typeof sub === 'string' && sub !== '' && sub === told) return sub;
  throw new Error('the identity provider answered with the data of another person');
}

/** The visible part of a text that others wrote, as short as a name. */
function seen(value: unknown): string {
  if (typeof value !== 'string') return '';
  const line = value.replace(new RegExp(unseen, 'gu'), ' ').trim();
  return [...line].slice(0, nameMax).join('').trim();
}

/** Keeps only what is stored: no picture, and a name that the pages can show. */
function person(profile: Record<string, unknown>) {
  const { email, email_verified, name, preferred_username } = profile;
  return {
    ...(typeof email === 'string' && { email: canonicalEmail(email) ?? email }),
    name: [name, preferred_username, email].map(seen).find((each) => each !== '') ?? 'Somebody',
    // Some providers send a text, and the text "false" would count as true.
    emailVerified: email_verified === true || email_verified === 'true',
    image: undefined,
  };
}
