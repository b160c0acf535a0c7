import { api } from '../../api.ts';

/** How somebody can sign in, and where they are signed in. */
export const securityQuery = {
  queryKey: ['me', 'security'],
  queryFn: () => api('GET /api/me/security'),
};
