import type { Role } from '../../api-types.ts';

export const allRoles: Role[] = ['owner', 'developer', 'billing', 'read_only'];

export function teamKey(account_id: string) {
  return ['account', account_id, 'team'];
}
