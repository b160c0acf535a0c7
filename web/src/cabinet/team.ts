import type { Role } from '../session.tsx';

/** What the service tells of the people of an account. */
export interface TeamAnswer {
  /** Its owners run the service. */
  is_operator: boolean;
  members: Member[];
  invitations: Invited[];
}

export interface Member {
  person_id: string;
  name: string;
  email: string;
  role: Role;
  is_me: boolean;
  /** Told to owners. */
  two_factor_enabled?: boolean;
  joined_at: string;
}

export interface Invited {
  invitation_id: string;
  email: string;
  role: Role;
  expires_at: string;
}

export const allRoles: Role[] = ['owner', 'developer', 'billing', 'read_only'];

export function teamKey(account_id: string) {
  return ['account', account_id, 'team'];
}
