import { hash } from 'node:crypto';
import type { Tool } from '../chat/conversation.ts';

/** Names of tools for an upstream that takes only short and plain ones. */
export interface ToolNames {
  /** The name that the upstream gets. */
  sent: (own: string) => string;
  /** The caller's names, by those that were changed. */
  shortened: ReadonlyMap<string, string>;
}

export function toolNames(tools: readonly Tool[], max: number): ToolNames {
  const sent = new Map<string, string>();
  const shortened = new Map<string, string>();
  for (const { name } of tools) {
    const own = shortName(name, max);
    if (own === name) continue;
    sent.set(name, own);
    shortened.set(own, name);
  }
  // A call of an earlier turn may name a tool that is no longer offered.
  return { sent: (own) => sent.get(own) ?? shortName(own, max), shortened };
}

/**
 * The beginning of a long name with a hash of all of it. So is a name with characters that OpenAI's
 * and Anthropic's models do not take.
 */
export function shortName(name: string, max: number): string {
  if (name.length <= max && !/[^\w-]/.test(name)) return name;
  const plain = name.replaceAll(/[^\w-]/g, '_').slice(0, max - 9);
  return `${plain}_${hash('sha256', name, 'hex').slice(0, 8)}`;
}
