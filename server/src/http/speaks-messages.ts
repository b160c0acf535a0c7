/**
 * Whether this is an address of Anthropic's Messages API, or the same below a wrong base address.
 * Anthropic's clients expect errors in a form of their own.
 */
export function speaksMessages(path: string): boolean {
  return /^(\/+v1)*\/+messages(?=[/?]|$)/.test(path);
}

/** The id of the call at this path. Anthropic's clients read it under a name of their own. */
export function idHeaders(id: string, path: string): Record<string, string> {
  return speaksMessages(path) ? { 'x-request-id': id, 'request-id': id } : { 'x-request-id': id };
}
