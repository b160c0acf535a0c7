import type { LostHow } from '../core/request/routing.ts';
import { objectOf } from '../lib/json.ts';
import { FetchError, type FetchErrorKind, type Reply } from '../lib/outbound/fetch.ts';
import { fieldOf } from '../lib/unknown.ts';
import { PollRefused, type NotAccepted, type StartOutcome } from './upstream.ts';
import type { Refusal } from '../core/catalog/upstream-key.ts';

/** The meaning of an upstream's reply, or of a missing one, for a start. */

const messageMax = 500;
const reasonMax = 300;

/**
 * The outcome of a call that ended without a reply. Faults that are not the network's are thrown
 * on.
 */
export function outcomeOfFault(
  error: unknown,
): StartOutcome & { outcome: 'not_accepted' | 'unknown' } {
  if (!(error instanceof FetchError)) throw error;
  const { message, sent, kind } = error;
  const answer = lostHow[kind];
  if (sent) return { outcome: 'unknown', message, ...(answer && { answer }) };
  return { outcome: 'not_accepted', why: whyOfFault(error), message };
}

const lostHow: Partial<Record<FetchErrorKind, LostHow>> = {
  timeout: 'slow',
  too_large: 'oversized',
};

const noConnection: ReadonlySet<FetchErrorKind> = new Set([
  'dns',
  'refused',
  'tls',
  'connect_timeout',
]);

/** Why a call had no reply. Faults other than of connecting may come from what was to be sent. */
export function whyOfFault({ kind, sent }: FetchError): 'lost' | 'unreachable' | 'busy' {
  if (sent) return 'lost';
  return noConnection.has(kind) ? 'unreachable' : 'busy';
}

/**
 * The outcome of an unsuccessful reply. Only certain statuses prove that the job was not taken; a
 * gateway's 500, 502 and 504 may come after it was made.
 */
export function outcomeOfReply(
  reply: Pick<Reply, 'status' | 'headers' | 'body'>,
  nowMs: number,
): Exclude<StartOutcome, { outcome: 'accepted' | 'done' }> {
  const { status } = reply;
  const said = messageIn(jsonOf(reply.body)) ?? `answered ${status}`;
  if (isOutOfCredit(reply)) return { outcome: 'not_accepted', why: 'account', message: said };
  if (isOfInput(status, said)) return { outcome: 'rejected', message: said };
  const why = refusals[status];
  if (why !== undefined) {
    const retry_after_ms = retryAfterMs(reply.headers, nowMs);
    const limited = status === 429 && { limited: true };
    const refused: NotAccepted = { outcome: 'not_accepted', why, message: said, ...limited };
    return retry_after_ms === null ? refused : { ...refused, retry_after_ms };
  }
  if (status >= 300 && status < 400) {
    const message = 'its address leads elsewhere: it answered with a redirect';
    return { outcome: 'not_accepted', why: 'redirect', message };
  }
  if (status >= 400 && status < 500) return { outcome: 'rejected', message: said };
  return { outcome: 'unknown', message: said };
}

/**
 * The error of a poll whose reply said nothing about its job. `outcome`: what it would mean for a
 * start.
 */
export function pollFault(
  outcome: Exclude<StartOutcome, { outcome: 'accepted' | 'done' }>,
  message = outcome.message,
): Error {
  if (outcome.outcome !== 'not_accepted') return new Error(message);
  const { why = 'busy', retry_after_ms } = outcome;
  if (why !== 'busy' && why !== 'account' && why !== 'credential') return new Error(message);
  return new PollRefused(message, why, retry_after_ms);
}

const refusals: Readonly<Record<number, Refusal>> = {
  401: 'credential',
  402: 'account',
  403: 'credential',
  404: 'model',
  405: 'model',
  408: 'busy',
  425: 'busy',
  429: 'busy',
  503: 'busy',
  529: 'busy',
};

/**
 * Whether a refusal with the status of a bad key or a rate limit is about the input: its sender
 * meets it with every key, so it must pause none.
 */
function isOfInput(status: number, said: string): boolean {
  if (status === 429) return tooLargeWords.test(said);
  return status === 403 && inputWords.test(said) && !keyWords.test(said);
}

/** Larger than the limit of a whole minute: waiting does not help. */
const tooLargeWords = /request too large|reduce your message size|tokens must be reduced/i;

const inputWords = new RegExp(
  [
    'max_(new_)?tokens|context (length|window)|moderation|flagged',
    'safety[ _-](system|filter|check)|content[ _-]filter',
    '(usage|content)[ _-](guideline|polic)|violat.{0,40}(guideline|polic)',
  ].join('|'),
  'i',
);

/**
 * A key or account that was closed, maybe for what it sent. Only at the beginning of a text,
 * because refusals repeat inputs.
 */
const keyWords = new RegExp(
  [
    /^((forbidden|(access|permission) denied)\W+)?((your|this|the|api) )*/,
    /(key|access|account|organi[sz]ation|team|project)( \S+)? (is|was|has been) (\w+ )?/,
    /(disabled|suspended|revoked|banned|deactivated|terminated|blocked|restricted|locked|flagged)/,
  ]
    .map(({ source }) => source)
    .join(''),
  'i',
);

const accountCodes = /^(insufficient_quota|billing_hard_limit_reached|billing_not_active)$/;
const accountWords = /insufficient.{0,20}(credit|balance|funds)|exhausted balance/i;

/**
 * Some report it with 402, some with another status and a code or a word. A refusal may repeat the
 * refused input, so only the code counts there: a caller could write the words.
 */
function isOutOfCredit({ status, body }: Pick<Reply, 'status' | 'body'>): boolean {
  if (status === 402) return true;
  if (status !== 400 && status !== 403 && status !== 429) return false;
  const value = jsonOf(body);
  const { code, type } = objectOf(fieldOf(value, 'error') ?? value);
  if ([code, type].some((code) => accountCodes.test(String(code)))) return true;
  return status !== 400 && accountWords.test(Buffer.from(body.subarray(0, 4096)).toString('utf8'));
}

/** Milliseconds that the reply asks to wait, or null. */
export function retryAfterMs(headers: Record<string, string>, nowMs: number): number | null {
  const ms = Number(headers['retry-after-ms'] ?? NaN);
  if (ms >= 0) return ms;
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const seconds = Number(text);
  if (seconds >= 0) return seconds * 1000;
  const at = Date.parse(text);
  return Number.isFinite(at) ? Math.max(0, at - nowMs) : null;
}

/** The JSON value of a body, or undefined. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The message of an error body, in any of the usual shapes, or null. */
export function messageIn(value: unknown): string | null {
  const text = wordsIn(value, 0);
  return text === null || text.trim() === '' ? null : text.trim().slice(0, messageMax);
}

/**
 * The reason of a failed job in words for the caller: one line, without addresses, data or the
 * envelope it may have come in; null if there is none.
 */
export function reasonIn(value: unknown): string | null {
  const inner = typeof value === 'string' ? jsonOf(Buffer.from(value)) : value;
  const words = messageIn(typeof inner === 'object' ? (inner ?? value) : value);
  const line = words
    ?.replaceAll(/\b(?:https?|wss?):\/\/\S+/gi, '…')
    .replaceAll(/\bdata:[^\s,]{0,200},\S+/gi, '…')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line ? line.slice(0, reasonMax) : null;
}

function wordsIn(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth > 3) return null;
  if (Array.isArray(value)) {
    const words = value.slice(0, 5).map((each) => wordsIn(each, depth + 1));
    return words.filter((each) => each !== null).join('; ') || null;
  }
  for (const name of ['error', 'detail', 'message', 'msg', 'errors', 'title']) {
    const words = wordsIn(fieldOf(value, name), depth + 1);
    if (words !== null) return words;
  }
  return null;
}
