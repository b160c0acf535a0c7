import { call } from '../api.ts';

/** How somebody can sign in, and where they are signed in. */
export interface Security {
  has_password: boolean;
  has_oidc: boolean;
  sessions: SignedIn[];
}

export interface SignedIn {
  session_id: string;
  is_this: boolean;
  ip_address: string | null;
  user_agent: string | null;
  created_at: string;
  expires_at: string;
}

export const securityQuery = {
  queryKey: ['me', 'security'],
  queryFn: () => call<Security>('/api/me/security'),
};
