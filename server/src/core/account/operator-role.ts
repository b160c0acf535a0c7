import { scopes } from './scope.ts';

/** Roles of the people who run the service; each grants scopes, as an operator key has them. */
export const operatorRoles = ['owner', 'support', 'read_only'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** Roles below the owner's, which a member of an operator's account has beside the account's. */
export type LowerOperatorRole = Exclude<OperatorRole, 'owner'>;

/** `own`: decide who runs the service. No key has it. */
export const operatorRights = [...scopes, 'own'] as const;
export type OperatorRight = (typeof operatorRights)[number];

const rights: Record<OperatorRole, readonly OperatorRight[]> = {
  owner: operatorRights,
  support: ['read', 'accounts', 'keys'],
  read_only: ['read'],
};

export function rightsOf(role: OperatorRole): readonly OperatorRight[] {
  return rights[role];
}

/** The role that counts if a person has several, through several accounts; null: none. */
export function highest(given: readonly OperatorRole[]): OperatorRole | null {
  return operatorRoles.find((role) => given.includes(role)) ?? null;
}

/**
 * The roles of a member of an operator's account: an owner of the account is an owner of the
 * service, and others can only look at the account itself.
 */
export function memberRolesOf(role: OperatorRole) {
  if (role === 'owner') return { role, operator_role: null } as const;
  return { role: 'read_only', operator_role: role } as const;
}
