import type { FastifyReply } from 'fastify';
import type { Answering, ReadCall, ReplyWriter, SentEvent } from '../../../core/apis/api.ts';
import { completionsReader } from '../../../core/apis/completions/read-reply.ts';
import { readCompletionsCall } from '../../../core/apis/completions/read-call.ts';
import { askedOf } from '../../../core/apis/writing.ts';
import { countPromptTokens } from '../../../core/chat/tokens.ts';
import type { ReplyEvent } from '../../../core/chat/reply.ts';
import { promptUsageOf } from '../../../core/chat/usage.ts';
import { ApiError } from '../../../core/errors.ts';
import { quoteToJson, shownQuote } from '../../../core/price/quote-json.ts';
import { isFinal } from '../../../core/request/request.ts';
import type { Budget } from '../../../lib/budget.ts';
import { itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { openEventStream, type EventStream } from '../../../lib/sse.ts';
import type { ChatRun } from '../../../operations/requests/call-routes.ts';
import { runChat, unanswered, type Break } from '../../../operations/requests/run-chat.ts';
import type { BegunReply, Reader } from '../../../operations/requests/run-chat.ts';
import * as submits from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, holdBytes, readObject } from '../../body.ts';
import { demandAwaited, makingCall, requestHeaders } from '../../call.ts';
import { replaced } from '../../database-share.ts';
import type { HttpDeps, KeyedRequest } from '../../deps.ts';
import { keyedEndpoint, type Shapes } from '../../endpoint.ts';
import { asApiError, errorBody } from '../../errors.ts';
import { hijackHeaders } from '../../hijack.ts';

const bufferMaxBytes = 1024 * 1024;

/** An API in which callers write chat calls and read the replies. */
export interface ChatDoor {
  /** The path of its calls below /v1. A repeat of a call must have the same path. */
  path: string;
  /** Throws an `ApiError` that names the caller's field. */
  read(body: Json): ReadCall;
  open(answering: Answering): ReplyWriter;
  /** Whether a stream tells this refusal, because the API's clients look for it only there. */
  tellsInStream?(error: ApiError): boolean;
}

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
  const making = makingCall(req, reply);
  const call = { path: door.path, body, read: door.read(body), metadata, making };
  const shown = { req, reply, door, call };
  const line = openLine(shown, deps);
  const answered = answerCall(shown, line, idempotency_key, deps)
    .catch((error: unknown) => line.refuse(error))
    .finally(line.close);
  // A stopping process waits for these calls, so that they are settled.
  deps.chats.add(answered);
  return answered.finally(() => deps.chats.delete(answered));
}

/** A call with its reply and the form of that reply. */
interface Shown {
  req: KeyedRequest;
  reply: FastifyReply;
  door: ChatDoor;
  call: submits.ReceivedChat;
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
  sender.isOf({ ...run, model: run.model.id }, run);
  if (run.call.stream) sender.openLater();
  const onLeave = (callback: () => void) => {
    if (raw.destroyed) callback();
    else raw.once('close', callback);
    return () => raw.removeListener('close', callback);
  };
  // Upstreams are called without a place in the owner's share of the database.
  const chatDeps = replaced(deps, { db: deps.wholeDb });
  return runChat<unknown>(run, chatDeps, onLeave, (begun) => {
    line.begins(begun);
    return run.call.stream ? streaming(shown, line, begun, deps) : gathering(shown, line, deps);
  });
}

type Prompt = Pick<ChatRun, 'call' | 'files' | 'model'>;
type Line = ReturnType<typeof openLine>;

/**
 * The way of a reply to its caller. A stream opens with its reply. If the model is silent for long,
 * it opens earlier, with status 200, because proxies and clients close a silent connection. Then a
 * refusal is told in the stream; most come within seconds, and so with their own status.
 */
function openLine({ req, reply, door, call: { body, read } }: Shown, deps: HttpDeps) {
  let ended: () => Date | null = () => null;
  let events: Promise<EventStream> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let prompt: Prompt | null = null;
  let writer!: ReplyWriter;
  const now = () => Math.floor((ended()?.getTime() ?? Date.now()) / 1000);
  const isOf = ({ request_id, created, model }: Identity, of: Prompt | null) => {
    prompt = of;
    writer = door.open({ request_id, created, model, now, body, stream: read.stream });
  };
  const ignore = (names: readonly string[]) =>
    void (names.length > 0 && reply.header('x-ignored-fields', names.join(', ')));
  async function begin(told: Json | null, signal?: AbortSignal): Promise<EventStream> {
    const stream = openStream(reply, writer, deps);
    const usage = () => promptOf(told, prompt);
    await sendAll(stream, writer.begin(usage), signal);
    return stream;
  }
  const open = (told: Json | null, signal?: AbortSignal) => (events ??= begin(told, signal));
  function openEarly(): void {
    if (reply.raw.destroyed || events) return;
    ignore(read.ignored);
    events = begin(null);
  }
  /** The reply broke off. `usage`: the charged one. */
  async function breaks(err: unknown, why: ApiError, usage: Json | null): Promise<void> {
    const facts = { request_id: req.made, account_id: req.caller.account_id };
    deps.log.warn({ err, ...facts, model_id: prompt?.model.id }, 'chat stream broke');
    await sendAll(await open(null), writer.fail(errorBody(why, req.id).error, usage), deps.cutoff);
  }
  return {
    isOf,
    writer: () => writer,
    begins(begun: Pick<BegunReply, 'ended' | 'ignored'>): void {
      ({ ended } = begun);
      ignore(begun.ignored);
    },
    /** Opens the stream if the model is silent for long. */
    openLater: () => void (timer = setTimeout(openEarly, deps.settings.times.silenceMs)),
    open,
    breaks,
    /** Tells a refusal in the stream, if that has begun or if the clients look for it there. */
    async refuse(error: unknown): Promise<FastifyReply> {
      const why = asApiError(error);
      if (events) await breaks(error, why, null);
      else {
        if (!read.stream || !door.tellsInStream?.(why) || reply.sent) throw error;
        isOf({ request_id: req.id, created: now(), model: read.model }, null);
        await sendAll(await open(null), writer.fail(errorBody(why, req.id).error, null));
      }
      (await open(null)).end();
      return reply;
    },
    close: () => clearTimeout(timer),
  };
}

type Identity = Pick<Answering, 'request_id' | 'created' | 'model'>;

function openStream(reply: FastifyReply, writer: ReplyWriter, deps: HttpDeps): EventStream {
  const headers = hijackHeaders(reply);
  reply.hijack();
  const { times } = deps.settings;
  const alive = () => writer.alive();
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...times, alive });
  deps.metrics.streams.inc();
  events.closed.addEventListener('abort', () => deps.metrics.streams.dec());
  return events;
}

/** A whole reply. One that broke off after its first words is paid, and so is shown. */
function gathering({ reply }: Shown, line: Line, deps: HttpDeps): Reader<string> {
  const writer = line.writer();
  return {
    take(event) {
      writer.add(event);
      return true;
    },
    end({ failed, refusal, broken, usage, charge }) {
      if (failed) throw refusal ?? unanswered(broken?.error ?? 'no output', deps);
      return answer(reply, writer.whole(usage), String(charge));
    },
    fail(error) {
      throw error;
    },
  };
}

/** `charged`: what this very call costs, in micro-USD; a repeat costs nothing. */
function answer(reply: FastifyReply, body: Json, charged: string): string {
  reply.header('x-charge-usd-micro', charged);
  reply.type('application/json; charset=utf-8');
  return JSON.stringify(body);
}

async function streaming(
  { reply }: Shown,
  line: Line,
  { told, signal }: BegunReply,
  { cutoff }: HttpDeps,
): Promise<Reader<FastifyReply>> {
  const writer = line.writer();
  const events = await line.open(told, signal);
  return {
    // When the time is up, a slow reader must not delay the settlement.
    take: async (event) => (await sendAll(events, writer.add(event), signal)) && !signal.aborted,
    async end({ broken, refusal, failed, released, usage }) {
      // A caller who has left gets no error; leaving usually caused it.
      if (reply.raw.destroyed) return reply;
      const charged = failed || released ? null : usage;
      if (broken) await line.breaks(broken.error, refusal ?? brokeOff(broken.why), charged);
      else if (!released) await sendAll(events, writer.end(usage), cutoff);
      // A released call is not paid for, so pieces that the reader has not taken yet are dropped.
      if (released) reply.raw.destroy();
      else events.end();
      return reply;
    },
    async fail(error) {
      if (!reply.raw.destroyed) await line.breaks(error, asApiError(error), null);
      events.end();
      return reply;
    },
  };
}

/** The count of the prompt that is known when the reply begins: the upstream's, or ours. */
function promptOf(told: Json | null, prompt: Prompt | null): Json {
  if (prompt === null) return {};
  const { prompt_tokens = null, ...prompt_tokens_details } = objectOf(told && promptUsageOf(told));
  if (prompt_tokens !== null) return { prompt_tokens, prompt_tokens_details };
  const { call, files, model } = prompt;
  const own = { ...call.conversation, files };
  return { prompt_tokens: countPromptTokens(own, model.context_tokens) };
}

/** False once the reader is gone. Waits after each event, because the last ones may be long. */
async function sendAll(
  events: EventStream,
  told: readonly SentEvent[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const { data, event } of told)
    if (!events.send(data, event) || !(await events.drained(signal))) return false;
  return true;
}

const breaks: Readonly<Record<Break, string>> = {
  time_was_up: 'The time limit of the model was reached',
  server_stopped: 'This server stopped',
  model_broke_off: 'The model ended the reply early',
};

/** The charge depends on the reported usage, so the message refers to the request. */
function brokeOff(reason: Break): ApiError {
  return new ApiError('submit_failed', {
    message: `${breaks[reason]} in the middle of the reply. The request shows what was charged. For a new reply, call again; if this call had an Idempotency-Key, use a new one.`,
    details: { reason },
  });
}

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
async function keptCompletion(requestId: string, deps: HttpDeps): Promise<KeptReply | null> {
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
async function replay(
  { req, reply, call: { read } }: Shown,
  line: Line,
  { completion: kept, ended }: KeptReply,
  { files, model }: submits.PreparedChat,
): Promise<unknown> {
  const request_id = String(kept.id).replace(/^chatcmpl-/, '');
  const identity = { request_id, created: Number(kept.created), model: String(kept.model) };
  line.isOf(identity, { call: read, files, model });
  line.begins({ ended: () => ended, ignored: [] });
  const writer = line.writer();
  const { pieces, isWhole } = keptEvents(kept, request_id, read);
  const usage = objectOf(kept.usage);
  if (!read.stream) {
    pieces.forEach(writer.add);
    return answer(reply, writer.whole(usage), '0');
  }
  const events = await line.open(null);
  for (const piece of pieces) if (!(await sendAll(events, writer.add(piece)))) return reply;
  const error = () => errorBody(firstBrokeOff(), req.id).error;
  await sendAll(events, isWhole ? writer.end(usage) : writer.fail(error(), usage));
  events.end();
  return reply;
}

/** The events of a stored reply. One that broke off has no finish reason. */
function keptEvents(
  { usage: _usage, ...kept }: Json,
  request_id: string,
  { conversation }: ReadCall,
): { pieces: ReplyEvent[]; isWhole: boolean } {
  const pieces: ReplyEvent[] = [];
  const asked = { ...askedOf(request_id, conversation), custom: new Set<string>() };
  const reader = completionsReader(asked, (event) => pieces.push(event));
  reader.read(kept);
  reader.end('mark');
  const { finish_reason } = objectOf(itemsOf(kept.choices)[0]);
  if (typeof finish_reason === 'string') return { pieces, isWhole: true };
  return { pieces: pieces.filter(({ type }) => type !== 'end'), isWhole: false };
}
