import type { FastifyReply } from 'fastify';
import { readCompletionsCall } from '../../../core/apis/completions/read-call.ts';
import { ApiError } from '../../../core/errors.ts';
import { quoteToJson, shownQuote } from '../../../core/price/quote-json.ts';
import type { Budget } from '../../../lib/budget.ts';
import type { ChatRun } from '../../../operations/requests/call-routes.ts';
import { runChat, type ChatDeps } from '../../../operations/requests/run-chat.ts';
import * as submits from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, holdBytes, readObject } from '../../body.ts';
import { recordModelForLog, demandAwaited, traceCall, requestHeaders } from '../../call.ts';
import type { HttpDeps, KeyedRequest } from '../../deps.ts';
import { keyedEndpoint, type Shapes } from '../../endpoint.ts';
import { keptCompletion, replay } from './replay.ts';
import { Sender, type ChatApi, type ShownCall } from './sender.ts';

/** A chat call in this API, from its body to the last byte of its reply. */
export function chatEndpoint(api: ChatApi, shapes: Shapes) {
  return keyedEndpoint(shapes, ({ req, reply }, deps) => {
    const { openChats, accountChats, settings } = deps;
    const { key_id, account_id } = req.caller;
    const ofAccount = 'All keys of this account together';
    return withChatLimit(openChats, key_id, 'This key', settings.FAREBOX_OPEN_CHATS, () =>
      withChatLimit(accountChats, account_id, ofAccount, settings.account.open_chats, () =>
        complete(req, reply, api, deps),
      ),
    );
  });
}

async function withChatLimit<T>(
  slots: Budget,
  owner: string,
  who: string,
  limit: number,
  work: () => Promise<T>,
): Promise<T> {
  if (!slots.take(owner, 1))
    throw new ApiError('rate_limited', {
      message: `${who} may have ${limit} chat calls open at once. Wait until one has ended.`,
      details: { open_chats_limit: limit },
      headers: { 'retry-after': '5' },
    });
  return work().finally(() => slots.give(owner, 1));
}

async function complete(
  req: KeyedRequest,
  reply: FastifyReply,
  api: ChatApi,
  deps: HttpDeps,
): Promise<unknown> {
  const { idempotency_key, metadata } = requestHeaders(req.raw);
  const body = await readObject(req, reply, chatMaxBytes, deps);
  recordModelForLog(req, body.model, deps);
  const making = traceCall(req, reply);
  const call = { path: api.path, body, read: api.read(body), metadata, making };
  const shown = { req, reply, api, call };
  const sender = new Sender(shown, deps);
  const answered = answerCall(shown, sender, idempotency_key, deps)
    .catch((error: unknown) => sender.refuse(error))
    .finally(() => sender.close());
  // A stopping process waits for these calls, so that they are settled.
  deps.chats.add(answered);
  return answered.finally(() => deps.chats.delete(answered));
}

async function answerCall(
  shown: ShownCall,
  sender: Sender,
  key: string | null,
  deps: HttpDeps,
): Promise<unknown> {
  const { req, reply, call } = shown;
  const prepared = await submits.prepareChat(call, req.caller, deps);
  demandAwaited(reply);
  // As base64 each file is a third larger.
  if (prepared.file_bytes > 0) holdBytes(Math.ceil((prepared.file_bytes * 4) / 3), req, deps);
  // If the key or person loses access, the call is treated as if the caller had left: what was
  // delivered is charged.
  const leave = req.grant && deps.streamGrants.join(req.grant, () => reply.raw.destroy());
  try {
    for (;;) {
      const taken = await submits.reserveChat(prepared, key, deps);
      if (!taken.replayed) {
        const hasLeft = () => reply.raw.destroyed;
        const isAwaited = () => key !== null || !hasLeft();
        return await begin(shown, sender, { ...taken.reserved, isAwaited, hasLeft }, deps);
      }
      const kept = await keptCompletion(taken.request_id, deps);
      // The first call failed meanwhile and freed its Idempotency-Key, so this call takes over.
      if (kept === null) continue;
      reply.header('idempotent-replayed', 'true');
      return await replay(shown, sender, kept, prepared);
    }
  } finally {
    leave?.();
  }
}

/** The price that a chat call would reserve; does not make the call. */
export async function quoteCall(req: KeyedRequest, reply: FastifyReply, deps: HttpDeps) {
  const body = await readObject(req, reply, chatMaxBytes, deps);
  const { model, max_tokens, quote } = await submits.quoteChat(
    readCompletionsCall(body),
    req.caller,
    deps,
  );
  return { model_id: model.id, max_tokens, ...shownQuote(quoteToJson(quote)) };
}

function begin(shown: ShownCall, sender: Sender, run: ChatRun, deps: HttpDeps): Promise<unknown> {
  const { raw } = shown.reply;
  sender.identify({ ...run, model: run.model.id }, run);
  if (run.call.stream) sender.openLater();
  const onLeave = (callback: () => void) => {
    if (raw.destroyed) callback();
    else raw.once('close', callback);
    return () => raw.removeListener('close', callback);
  };
  return runChat(run, runDeps(deps), onLeave, (begun) => sender.begin(begun));
}

/**
 * A plain object. To inherit from the dependencies of a single call would give each object a form
 * of its own, and V8 would find each member the slow way.
 */
function runDeps(deps: HttpDeps): ChatDeps {
  const { upstreams, circuit, inputBytes, decoding, log, operations, drains, cutoff } = deps;
  // Upstreams are called without a place in the owner's share of the database.
  const db = deps.wholeDb;
  return { db, upstreams, circuit, inputBytes, decoding, log, operations, drains, cutoff };
}
