/** Roles of people in an account; each grants rights on the web pages. */

export const roles = ['owner', 'developer', 'billing', 'read_only'] as const;
export type Role = (typeof roles)[number];

/**
 * The right that a call of the pages needs: view; build (keys, webhooks, requests); pay (top-ups,
 * alerts); own (the account and its people).
 */
export type Right = 'view' | 'build' | 'pay' | 'own';

const rights: Record<Role, readonly Right[]> = {
  owner: ['view', 'build', 'pay', 'own'],
  developer: ['view', 'build'],
  billing: ['view', 'pay'],
  read_only: ['view'],
};

export function may(role: Role, right: Right): boolean {
  return rights[role].includes(right);
}
