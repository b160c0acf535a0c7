import { hash } from 'node:crypto';
import type { Tool } from '../chat/conversation.ts';

/** Names of tools for an upstream that takes only short ones. */
export interface ToolNames {
  /** The name that the upstream gets. */
  sent: (own: string) => string;
  /** The caller's names, by those that were shortened. */
  shortened: ReadonlyMap<string, string>;
}

export function toolNames(tools: readonly Tool[], max: number): ToolNames {
  const sent = new Map<string, string>();
  const shortened = new Map<string, string>();
  for (const { name } of tools) {
    if (name.length <= max) continue;
    sent.set(name, shortName(name, max));
    shortened.set(shortName(name, max), name);
  }
  // A call of an earlier turn may name a tool that is no longer offered.
  return { sent: (own) => sent.get(own) ?? shortName(own, max), shortened };
}

/** The beginning of a long name with a hash of all of it. */
export function shortName(name: string, max: number): string {
  if (name.length <= max) return name;
  return `${name.slice(0, max - 9)}_${hash('sha256', name, 'hex').slice(0, 8)}`;
}
