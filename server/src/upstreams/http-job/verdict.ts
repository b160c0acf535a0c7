import { jsonOf, messageIn, outcomeOfReply, retryAfterMs } from '../replies.ts';
import { isSuccess, type Reply } from '../../lib/outbound/fetch.ts';
import type { StartOutcome } from '../upstream.ts';
import { codeText, type CodeMeaning, type HttpJobOptions } from './options.ts';
import { textAt, valueAt } from './path.ts';

/** Whether a call succeeded. The contents of its reply are used only if it did. */
export type ReplyVerdict =
  | { ok: true; json: unknown }
  | { ok: false; outcome: Exclude<StartOutcome, { outcome: 'accepted' | 'done' }> };

const whys = {
  busy: 'busy',
  account: 'account',
  credential: 'credential',
  missing: 'model',
} as const satisfies Partial<Record<CodeMeaning, string>>;

/**
 * Decides in this order: an error code that the options name, whatever the status; then the status;
 * then whether the code means success. A success with an unreadable reply counts as a lost answer.
 */
export function verdictOf(
  reply: Reply,
  { ok_when, error }: Pick<HttpJobOptions, 'ok_when' | 'error'>,
  nowMs: number,
): ReplyVerdict {
  const json = jsonOf(reply.body);
  const code = ok_when === null ? null : codeText(valueAt(json, ok_when.path));
  const message =
    textAt(json, error) ?? messageIn(json) ?? `answered ${code ?? 'nothing'} (${reply.status})`;
  const meaning = code === null ? undefined : ok_when!.meanings.get(code);
  if (meaning === 'rejected') return { ok: false, outcome: { outcome: 'rejected', message } };
  if (meaning !== undefined) {
    const why = whys[meaning];
    const retry_after_ms = retryAfterMs(reply.headers, nowMs);
    const wait = retry_after_ms === null ? {} : { retry_after_ms };
    const limited = why === 'busy' && code === '429' && { limited: true };
    return { ok: false, outcome: { outcome: 'not_accepted', why, message, ...limited, ...wait } };
  }
  if (!isSuccess(reply.status)) return { ok: false, outcome: outcomeOfReply(reply, nowMs) };
  if (json === undefined || reply.truncated) {
    const unreadable = `answered ${reply.status} with no readable JSON`;
    const outcome = { outcome: 'unknown', message: unreadable, answer: 'unreadable' } as const;
    return { ok: false, outcome };
  }
  if (ok_when !== null && !ok_when.is.includes(code!))
    return { ok: false, outcome: { outcome: 'unknown', message } };
  return { ok: true, json };
}
