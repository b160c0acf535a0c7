import type { Role, Team } from '../../api-types.ts';
import { useAccountKey, useOptimisticUpdate } from '../../queries.ts';

export const allRoles: Role[] = ['owner', 'developer', 'billing', 'read_only'];

/** Changes the team, and shows the change at once. */
export function useOptimisticTeam() {
  return useOptimisticUpdate<Team>(useAccountKey()('GET /team', {}));
}
