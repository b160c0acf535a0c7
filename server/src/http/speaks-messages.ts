/**
 * Whether this is an address of Anthropic's Messages API, or the same below a wrong base address.
 * Anthropic's clients expect errors in a form of their own.
 */
export function speaksMessages(path: string): boolean {
  return /^(\/+v1)*\/+messages(?=[/?]|$)/.test(path);
}

/**
 * Headers of every reply at this path: the id of the call, which Anthropic's clients read under a
 * name of their own, and that browsers must not guess the type of the body.
 */
export function usualHeaders(id: string, path: string): Record<string, string> {
  const usual = { 'x-request-id': id, 'x-content-type-options': 'nosniff' };
  return speaksMessages(path) ? { ...usual, 'request-id': id } : usual;
}

/** No cache keeps an error, or what a key may see. */
export const noStore = { 'cache-control': 'no-store' } as const;
