import { hash } from 'node:crypto';

/** The keys that an upstream is called with: named by their digests, never by themselves. Pure. */

const nameLength = 8;

/** What rows, logs and pages call a key: the first hex digits of its SHA-256. */
export function keyName(key: string): string {
  return hash('sha256', key).slice(0, nameLength);
}

/** What pauses of the upstream are kept under; with a key, the pauses of this key. */
export function pausedName(upstream: string, key: string | null | undefined): string {
  return typeof key === 'string' ? `${upstream}#${key}` : upstream;
}

/** Whether a refusal is of the key that was shown: another key of the upstream may be taken. */
export function isOfKey({ why = 'busy', limited }: { why?: string; limited?: boolean }): boolean {
  return why === 'credential' || why === 'account' || (why === 'busy' && limited === true);
}
