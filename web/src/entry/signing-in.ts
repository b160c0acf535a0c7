import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { call } from '../api.ts';
import { ownPath } from '../own-path.ts';
import { meQuery } from '../session.tsx';

/** What the service lets strangers do. */
export interface Settings {
  base_url: string;
  sign_up: 'open' | 'invite' | 'closed';
  has_mail: boolean;
  oidc_name: string | null;
  password_min: number;
}

export function useSettings(): Settings | undefined {
  return useQuery({
    queryKey: ['web'],
    queryFn: () => call<Settings>('/api/web'),
    staleTime: 60_000,
  }).data;
}

/** Where the pages go once somebody is signed in: only to an address of these pages. */
export function useGoOn(to: string | undefined): () => Promise<void> {
  const queries = useQueryClient();
  const router = useRouter();
  return async () => {
    await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    router.history.push(ownPath(to));
  };
}

/** True where a second factor is still wanted. */
export async function signInWithPassword(email: string, password: string): Promise<boolean> {
  const answer = await call<{ twoFactorRedirect?: boolean }>('/api/auth/sign-in/email', {
    body: { email, password, rememberMe: true },
  });
  return answer.twoFactorRedirect === true;
}

export async function signInWithPasskey(): Promise<void> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const path = '/api/auth/passkey/generate-authenticate-options';
  const options = await call<Parameters<typeof startAuthentication>[0]['optionsJSON']>(path);
  // It stands for the password and the second factor: the device has to ask who holds it.
  const optionsJSON = { ...options, userVerification: 'required' as const };
  const response = await startAuthentication({ optionsJSON });
  await call('/api/auth/passkey/verify-authentication', { body: { response } });
}

/** Leaves for the identity provider, which leads back to `to`. */
export async function signInElsewhere(to: string | undefined): Promise<void> {
  const path = ownPath(to);
  const { url } = await call<{ url: string }>('/api/auth/sign-in/social', {
    body: {
      provider: 'oidc',
      callbackURL: path,
      errorCallbackURL: `/sign-in?${new URLSearchParams({ to: path }).toString()}`,
    },
  });
  location.assign(url);
}

export async function sendVerification(email: string): Promise<void> {
  await call('/api/auth/send-verification-email', {
    body: { email, callbackURL: '/sign-in?confirmed=yes' },
  });
}
