import { dashless, isUuid, withDashes } from '../../lib/id.ts';

/**
 * The numbers of a call. Ours is in its reply, as `x-request-id`. The number of a call that makes a
 * request is the request's id in another form, so that it leads to the request without an index.
 */

/** `req_` and the UUID without its dashes. */
export function callNumber(uuid: string): string {
  return `req_${dashless(uuid)}`;
}

/** The number of a call that repeats the call of a request; `own`: a number of its own. */
export function repeatNumber(requestId: string, own: string): string {
  return `${callNumber(requestId)}_${own.slice(-8)}`;
}

/**
 * The id that this is, or that this number of ours leads to; null if it is neither. Further tries
 * at upstreams add their number to the id.
 */
export function requestOfNumber(number: string): string | null {
  const text = number.toLowerCase().replace(/(?<=-[\da-f]{12})-\d{1,3}$/, '');
  if (isUuid(text)) return text;
  const hex = /^req_([0-9a-f]{32})(?:_[0-9a-f]{8})?$/.exec(text)?.[1];
  return hex === undefined ? null : withDashes(hex);
}

/** The longest number of a caller that is kept. */
export const callerIdMax = 128;

/**
 * The number by which the caller knows the call: the first valid `x-request-id`, otherwise the
 * trace id of the first valid `traceparent`, otherwise null.
 */
export function callerId(
  requestIds: readonly string[],
  traceparents: readonly string[],
): string | null {
  return requestIds.find(isCallerId) ?? traceparents.map(traceId).find((id) => id !== null) ?? null;
}

/** Whether the text can be the number of a caller: visible ASCII. */
export function isCallerId(text: string): boolean {
  return text.length <= callerIdMax && /^[!-~]+$/.test(text);
}

/** As the W3C's Trace Context has it: lower case, no id of zeros only, version ff is invalid. */
function traceId(traceparent: string): string | null {
  const found = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent);
  const [, version, trace, parent, more] = found ?? [];
  if (trace === undefined || version === 'ff' || (version === '00' && more !== undefined))
    return null;
  return /^0+$/.test(trace) || /^0+$/.test(parent!) ? null : trace;
}
