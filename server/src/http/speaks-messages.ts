/**
 * Whether this is one of the addresses of Anthropic's Messages, also below a mistaken base address.
 * Anthropic's clients expect errors in their own form.
 */
export function speaksMessages(path: string): boolean {
  return /^(\/+v1)*\/+messages(?=[/?]|$)/.test(path);
}

/** The id of the call at this path. Anthropic's clients read it under a name of their own. */
export function idHeaders(id: string, path: string): Record<string, string> {
  return speaksMessages(path) ? { 'x-request-id': id, 'request-id': id } : { 'x-request-id': id };
}
