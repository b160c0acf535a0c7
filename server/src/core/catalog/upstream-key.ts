import { hash } from 'node:crypto';

/** An upstream's key is named by its digest; the key itself is never shown. Pure. */

/**
 * Why a start was not accepted. busy: the upstream is busy for a while. unreachable: there was no
 * connection, which no input can cause. redirect: the address redirects elsewhere. lost: a call
 * that precedes the start and makes no job, such as an upload, got no clear answer; also used for a
 * start whose outcome is unknown. account: the operator's account at the upstream is out of credit.
 * credential: the upstream does not accept our key. model: it does not have the model.
 */
export type UpstreamRefusal =
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

/** The name under which pauses of an upstream, or of one of its keys, are stored. */
export function pausedName(upstream: string, key: string | null | undefined): string {
  return typeof key === 'string' ? `${upstream}#${key}` : upstream;
}

/**
 * Whether a refusal concerns only the key that was used, so that another key of the upstream may
 * work.
 */
export function isOfKey({
  why = 'busy',
  limited,
}: {
  why?: UpstreamRefusal;
  limited?: boolean;
}): boolean {
  return why === 'credential' || why === 'account' || (why === 'busy' && limited === true);
}
