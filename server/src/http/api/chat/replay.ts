import type { ReadCall } from '../../../core/apis/api.ts';
import { completionsReader } from '../../../core/apis/completions/read-reply.ts';
import { replyContextOf } from '../../../core/apis/writing.ts';
import type { ReplyEvent } from '../../../core/chat/reply.ts';
import { ApiError } from '../../../core/errors.ts';
import { isFinal } from '../../../core/request/request.ts';
import { itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import type { PreparedChat } from '../../../operations/requests/submit-chat.ts';
import type { RequestDeps, StreamDeps } from '../../deps.ts';
import type { Sender, ShownCall } from './sender.ts';

/** Repeats of a chat call: the kept reply is told again. */

/** A kept reply does not say what broke it off. */
function firstBrokeOff(): ApiError {
  return new ApiError('submit_failed', {
    message:
      'The reply of the first call with this Idempotency-Key broke off here. The request shows what was charged. For a new reply, call again with a new Idempotency-Key.',
    details: { reason: 'first_call_broke_off' },
  });
}

interface KeptReply {
  completion: Json;
  ended: Date;
}

/** The first call's kept reply; waits a while for its end. Null if it failed and left none. */
export async function keptCompletion(
  requestId: string,
  deps: StreamDeps & RequestDeps,
): Promise<KeptReply | null> {
  const row = await deps.operations.status(requestId);
  if (row && !isFinal(row.status)) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = deps.requestEvents.watch(row, (newer) => isFinal(newer.status) && resolve());
    const timer = setTimeout(resolve, deps.settings.times.repeatWaitMs);
    await promise;
    clearTimeout(timer);
    stop();
  }
  const now = await deps.operations.card(requestId);
  if (!now || now.status === 'FAILED') return null;
  if (now.status !== 'COMPLETED' || now.output === null) {
    throw new ApiError('idempotency_conflict', {
      message:
        'The first call with this Idempotency-Key is still running. Send this one again in a moment.',
      reason: 'first_call_open',
      headers: { 'retry-after': '1' },
    });
  }
  return { completion: now.output, ended: now.completed_at! };
}

/** Tells a kept reply again, and an error if that reply broke off. */
export async function replay(
  { reply, call: { read } }: ShownCall,
  sender: Sender,
  { completion: kept, ended }: KeptReply,
  { files, model }: PreparedChat,
): Promise<unknown> {
  const request_id = String(kept.id).replace(/^chatcmpl-/, '');
  const identity = { request_id, created: Number(kept.created), model: String(kept.model) };
  sender.identify(identity, { call: read, files, model });
  const begun = { ended: () => ended, ignored: [], reportedUsage: null, signal: never };
  const reader = await sender.begin(begun);
  const { pieces, isWhole } = keptEvents(kept, request_id, read);
  for (const piece of pieces) if (!(await reader.take(piece))) return reply;
  return reader.end({
    charge: 0n,
    usage: objectOf(kept.usage),
    failed: false,
    released: false,
    ended,
    refusal: isWhole ? null : firstBrokeOff(),
    broken: isWhole ? null : { why: 'model_broke_off', error: null },
  });
}

const never = AbortSignal.any([]);

/** The events of a stored reply. One that broke off has no finish reason. */
function keptEvents(
  { usage: _usage, ...kept }: Json,
  request_id: string,
  { conversation }: ReadCall,
): { pieces: ReplyEvent[]; isWhole: boolean } {
  const pieces: ReplyEvent[] = [];
  const asked = { ...replyContextOf(request_id, conversation), custom: new Set<string>() };
  const reader = completionsReader(asked, (event) => pieces.push(event));
  reader.read(kept);
  reader.end('mark');
  const { finish_reason } = objectOf(itemsOf(kept.choices)[0]);
  if (typeof finish_reason === 'string') return { pieces, isWhole: true };
  return { pieces: pieces.filter(({ type }) => type !== 'end'), isWhole: false };
}
