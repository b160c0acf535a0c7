import { snakeCase } from '../core/media/output-fields.ts';
import type { LostHow } from '../core/request/routing.ts';
import { isObject, objectOf, type Json } from '../lib/json.ts';
import { tolerantJson } from '../lib/tolerant-json.ts';
import { FetchError, isSuccess, type FetchErrorKind, type Reply } from '../lib/outbound/fetch.ts';
import { fieldOf } from '../lib/unknown.ts';
import { PollRefused, type NotAccepted, type StartOutcome } from './upstream.ts';
import type { UpstreamRefusal } from '../core/catalog/upstream-key.ts';

/** The outcome of a start, from the upstream's reply or its absence. */

const messageMax = 500;
const reasonMax = 300;

/** A file is unavailable for now. Nothing was started, so the whole start may be tried again. */
export class HandOverFailed extends Error {
  readonly outcome: NotAccepted;
  constructor(facts: Omit<NotAccepted, 'outcome'>) {
    super(facts.message);
    this.outcome = { ...facts, outcome: 'not_accepted' };
  }
}

/**
 * Why a file of a body could not be read, if that ended its call; otherwise null. The upstream got
 * less than the body's stated length, so it has begun nothing.
 */
export function unreadIn(error: unknown): HandOverFailed | null {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof HandOverFailed) return each;
  return null;
}

/**
 * The outcome of a call that ended without a reply. Rethrows errors that did not come from the
 * network.
 */
export function outcomeOfFault(
  error: unknown,
): StartOutcome & { outcome: 'not_accepted' | 'unknown' } {
  if (!(error instanceof FetchError)) throw error;
  const unread = unreadIn(error);
  if (unread !== null) return unread.outcome;
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

/**
 * Why a call had no reply. `busy` if nothing was sent although the connection was not at fault, for
 * example because the content could not be read.
 */
export function whyOfFault({ kind, sent }: FetchError): 'lost' | 'unreachable' | 'busy' {
  if (sent) return 'lost';
  return noConnection.has(kind) ? 'unreachable' : 'busy';
}

/**
 * The outcome of an unsuccessful reply. Only certain statuses prove that no job was created: a
 * gateway may answer 500, 502 or 504 although the upstream has created one.
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
  // 424: the model behind the server failed. 499: the server believes that we left.
  const isOwn = status === 424 || status === 499;
  if (status >= 400 && status < 500 && !isOwn) return { outcome: 'rejected', message: said };
  return { outcome: 'unknown', message: said };
}

/**
 * The error of a poll whose reply said nothing about the job. `outcome`: what the reply would mean
 * for a start.
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

/**
 * Checks the reply to a call that asks to stop a job. A final refusal means that it is too late:
 * the next poll shows how the job ended. `outcome`: null for a success.
 *
 * @throws Error if another call may succeed
 */
export function demandStop(
  reply: Reply,
  nowMs: number,
  outcome = isSuccess(reply.status) ? null : outcomeOfReply(reply, nowMs),
): void {
  if (outcome === null || outcome.outcome === 'rejected') return;
  // A 404 is an answer about the job, a 405 about the call.
  const isOfJob = outcome.outcome === 'not_accepted' && outcome.why === 'model';
  if (isOfJob && reply.status !== 405) return;
  throw new Error(`the call to stop the job was answered with ${reply.status}`);
}

const refusals: Readonly<Record<number, UpstreamRefusal>> = {
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
 * Whether a refusal is about the input, although its status means a bad key or a rate limit. Every
 * key would get this refusal, so it must not pause the key.
 */
function isOfInput(status: number, said: string): boolean {
  if (status === 429) return tooLargeWords.test(said);
  return status === 403 && inputWords.test(said) && !keyWords.test(said);
}

/** The input is larger than a whole minute's limit, so waiting does not help. */
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
 * Matches a message that a key or account was closed, even if its inputs were the reason. Only the
 * beginning of a message counts, because refusals may repeat inputs.
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
 * Whether our account at the upstream is out of credit: some upstreams answer 402, others another
 * status with a code or certain words. For a 400 only the code counts: the message may repeat the
 * input, so a caller could have written the words.
 */
function isOutOfCredit({ status, body }: Pick<Reply, 'status' | 'body'>): boolean {
  if (status === 402) return true;
  if (status !== 400 && status !== 403 && status !== 429) return false;
  const value = jsonOf(body);
  const { code, type } = objectOf(fieldOf(value, 'error') ?? value);
  if ([code, type].some((code) => accountCodes.test(String(code)))) return true;
  return status !== 400 && accountWords.test(Buffer.from(body.subarray(0, 4096)).toString('utf8'));
}

/** Words of an error that blames the caller's input. */
const inputToBlame =
  /moderation|policy|policies|safety|content_filter|flagged|prohibited|invalid_(request|input|prompt)|sensitive|nsfw/i;

/** Words of an error about the operator's account, which is not the caller's affair. */
export const accountToBlame =
  /\b(?:accounts?|billing|quota|credits?|balance|api key|organi[sz]ation)\b/i;

/** Whether an error, of which `message` is the readable part, blames the caller's input. */
export function blamesInput(error: Json | null, message: string): boolean {
  const text = `${String(error?.code)} ${String(error?.type)} ${message}`;
  return inputToBlame.test(text) && !accountToBlame.test(text);
}

/** Milliseconds that the reply asks to wait, or null. */
export function retryAfterMs(headers: Record<string, string>, nowMs: number): number | null {
  const ms = Number(headers['retry-after-ms'] ?? headers['x-ms-retry-after-ms'] ?? NaN);
  if (ms >= 0) return ms;
  const text = headers['retry-after']?.trim().slice(0, 64) ?? '';
  if (text === '') return null;
  const [, number, unit = 's'] =
    /^\+?([\d.]+) *(ms|s|m)?(?:ec(?:ond)?s?|in(?:ute)?s?)? *(?:,|$)/i.exec(text) ?? [];
  const unitMs = { ms: 1, s: 1000, m: 60_000 }[unit.toLowerCase()] ?? NaN;
  if (Number(number) >= 0) return Number(number) * unitMs;
  const at = Date.parse(text);
  return Number.isFinite(at) ? Math.max(0, at - nowMs) : null;
}

/** The outcome without our key, in case a reply repeated it. */
export function redacted<T extends StartOutcome>(
  outcome: T,
  { redact }: { redact(text: string): string },
): T {
  return 'message' in outcome ? { ...outcome, message: redact(outcome.message) } : outcome;
}

export function saidBy(reply: Reply): string {
  const said = messageIn(jsonOf(reply.body));
  return `it answered ${reply.status}${said === null ? '' : `: ${said}`}`;
}

/** The JSON value of a body; undefined if it is not JSON. */
export function jsonOf(body: Uint8Array): unknown {
  return tolerantJson(Buffer.from(body).toString('utf8'));
}

/** The JSON object in a reply; null if the reply contains anything else or was too long. */
export function objectIn({ body, truncated }: Reply): Json | null {
  const value = truncated ? undefined : jsonOf(body);
  return isObject(value) ? value : null;
}

/** Whether a poll has an empty answer, because there is nothing to tell yet. */
export function saysLater({ status, body }: Pick<Reply, 'status' | 'body'>): boolean {
  return (status === 202 || status === 204) && body.length === 0;
}

/**
 * From 0 to 1. A number above 1, and one before a %, is per cent; `3/20` is a part. Some services
 * write words around it, or a comma in it. `most`: the number of a finished job, if known.
 */
export function progressOf(told: unknown, most: number | null = null): number | undefined {
  const isSaid = typeof told === 'string' || typeof told === 'number';
  const text = isSaid
    ? String(told)
        .slice(0, 200)
        .replaceAll(/(?<=\d),(?=\d)/g, '.')
        .trim()
    : '';
  const perCent = /(-?\d+(?:\.\d+)?)\s*%/.exec(text)?.[1];
  const [, part, all] =
    /(?:^|\s)(\d+(?:\.\d+)?)\s*(?:\/|of)\s*(\d+(?:\.\d+)?)(?![\d./])/.exec(text) ?? [];
  const said = Number(perCent ?? part ?? (text || NaN));
  const whole = perCent ? 100 : Number(all ?? most ?? (said > 1 ? 100 : 1));
  const share = said / whole;
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : undefined;
}

/** The message in an error body of any of the usual shapes, or null. */
export function messageIn(value: unknown): string | null {
  const text = wordsIn(value, 0);
  return text === null || text.trim() === '' ? null : text.trim().slice(0, messageMax);
}

/**
 * Why a job failed, as one line for the caller, without addresses. `value` may also be a JSON text.
 * Null if it gives no reason.
 */
export function reasonIn(value: unknown): string | null {
  let words = wordsIn(value, 0);
  // Some services pass on a whole error as the text of their own.
  while (words !== null && /^\s*[[{]/.test(words)) {
    const inner = jsonOf(Buffer.from(words));
    if (inner === undefined) break;
    words = wordsIn(inner, 0);
  }
  const line = words && publicWords(words.replaceAll(/\bdata:[^\s,]{0,200},\S+/gi, '…'));
  return line ? line.slice(0, reasonMax) : null;
}

/** Addresses, files and accounts of the operator, and what would act on a terminal. */
const ofOperator = new RegExp(
  [
    /\b[a-z][a-z\d+.-]*:\/\/\S+/,
    /\barn:\S+/,
    /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/,
    /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/,
    /\b(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}\b/,
    /(?<![\w/])\/(?:home|root|var|usr|opt|mnt|data|srv|etc|tmp|app|models|workspace)\/[^\s()[\]'",;]+/,
    /\b(?:org|proj|acct)[-_]\w{2,}/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gi',
);

/** An upstream's words in one line, as callers may read them. */
export function publicWords(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .replaceAll(ofOperator, '…')
    .trim();
}

/** Names of the words of an error, the best first. */
const wordsFields = [
  /^(?:error|detail)$/,
  /^(?:message|msg)$/,
  /^(?:errors?|err)_?(?:message|msg|description)$|^errors$/,
  /^title$/,
  /^fail(?:ure|ed)?_?(?:message|msg)$|^fail(?:ure)?$|(?:^|[_ ])reasons?$/,
  /^(?:task_)?status_(?:message|msg)$|^(?:details|description|fault|faultstring|base_resp|response)$/,
];

function wordsIn(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value.trim() === '' && depth > 0 ? null : value;
  if (typeof value !== 'object' || value === null || depth > 3) return null;
  if (Array.isArray(value)) {
    const words = value.slice(0, 5).map((each) => wordsIn(each, depth + 1));
    return words.filter((each) => each !== null).join('; ') || null;
  }
  const fields = Object.entries(value).map(([name, each]) => [snakeCase(name), each] as const);
  for (const form of wordsFields)
    for (const [name, each] of fields) {
      if (!form.test(name)) continue;
      const byField = name === 'errors' && isObject(each) ? Object.values(each) : null;
      const words = wordsIn(each, depth + 1) ?? wordsIn(byField, depth + 1);
      if (words !== null) return words;
    }
  return null;
}
