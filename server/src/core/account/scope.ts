/**
 * The rights of an account's key. `spend`: run models, and read what the account has. `keys`:
 * manage the keys of scope `spend`, and nothing else.
 */
export const keyScopes = ['spend', 'keys'] as const;

export type KeyScope = (typeof keyScopes)[number];

/** The rights of an operator key. Each call of the operator's API needs exactly one of them. */
export const scopes = ['read', 'accounts', 'keys', 'money', 'catalog'] as const;

export type Scope = (typeof scopes)[number];

/** The scopes in their usual order, each once. */
export function inOrder(given: readonly Scope[]): Scope[] {
  return scopes.filter((scope) => given.includes(scope));
}
