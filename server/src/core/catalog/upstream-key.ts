import { hash } from 'node:crypto';

/** Keys of upstreams are named by their digests, never shown. Pure. */

/**
 * Why a start was not accepted. busy: for a while. unreachable: no connection, which no input can
 * bring about. redirect: its address leads elsewhere. lost: no clear answer came, here to a call
 * before the start, which makes no job; an unknown outcome is told by this word too. account: the
 * operator's account there is out of credit. credential: it does not take our key. model: it has no
 * such model.
 */
export type Refusal =
  | 'busy'
  | 'unreachable'
  | 'redirect'
  | 'lost'
  | 'account'
  | 'credential'
  | 'model';

const nameLength = 8;

/** The name of a key in rows, logs and pages: the first hex digits of its SHA-256. */
export function keyName(key: string): string {
  return hash('sha256', key).slice(0, nameLength);
}

/** The name under which pauses of the upstream, or of this key of it, are stored. */
export function pausedName(upstream: string, key: string | null | undefined): string {
  return typeof key === 'string' ? `${upstream}#${key}` : upstream;
}

/** Whether a refusal concerns the key that was used: another key of the upstream may work. */
export function isOfKey({ why = 'busy', limited }: { why?: Refusal; limited?: boolean }): boolean {
  return why === 'credential' || why === 'account' || (why === 'busy' && limited === true);
}
