import { api } from '../../api.ts';

/** The user's ways to sign in, and their sessions. */
export const securityQuery = {
  queryKey: ['me', 'security'],
  queryFn: () => api('GET /api/me/security'),
};
