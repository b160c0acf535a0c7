import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { api, authCall } from '../api.ts';
import { ownPath } from '../own-path.ts';
import { meQuery } from '../session.tsx';

/** The service's settings for its pages, such as the ways to sign in; undefined while loading. */
export const webQuery = {
  queryKey: ['web'],
  queryFn: () => api('GET /api/web'),
  staleTime: 60_000,
};

export function useSettings() {
  return useQuery(webQuery).data;
}

/** Goes to `to` after sign-in, if that is a path of these pages. */
export function useContinue(to: string | undefined): () => Promise<void> {
  const queries = useQueryClient();
  const router = useRouter();
  return async () => {
    await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    router.history.push(ownPath(to));
  };
}

/** Returns true if a second factor is still needed. */
export async function signInWithPassword(email: string, password: string): Promise<boolean> {
  const answer = await authCall<{ twoFactorRedirect?: boolean }>('/sign-in/email', {
    email,
    password,
    rememberMe: true,
  });
  return answer.twoFactorRedirect === true;
}

export async function signInWithPasskey(): Promise<void> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const path = '/passkey/generate-authenticate-options';
  const options = await authCall<Parameters<typeof startAuthentication>[0]['optionsJSON']>(path);
  // A passkey replaces the password and the second factor, so the device must verify the user.
  const optionsJSON = { ...options, userVerification: 'required' as const };
  const response = await startAuthentication({ optionsJSON });
  await authCall('/passkey/verify-authentication', { response });
}

/** Redirects to the identity provider, which redirects back to `to`. */
export async function signInElsewhere(to: string | undefined): Promise<void> {
  const path = ownPath(to);
  const { url } = await authCall<{ url: string }>('/sign-in/social', {
    provider: 'oidc',
    callbackURL: path,
    errorCallbackURL: `/sign-in?${new URLSearchParams({ to: path }).toString()}`,
  });
  location.assign(url);
}

export async function sendVerification(email: string): Promise<void> {
  await authCall('/send-verification-email', { email });
}
