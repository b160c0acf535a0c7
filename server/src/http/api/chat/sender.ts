import type { FastifyReply } from 'fastify';
import type { AnswerContext, ReadCall, ReplyWriter, SentEvent } from '../../../core/apis/api.ts';
import { countPromptTokens } from '../../../core/chat/tokens.ts';
import { promptUsageOf, type Usage } from '../../../core/chat/usage.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { openEventStream, type EventStream } from '../../../lib/sse.ts';
import type { ChatRun } from '../../../operations/requests/call-routes.ts';
import {
  noAnswer,
  type BegunReply,
  type Break,
  type Reader,
} from '../../../operations/requests/run-chat.ts';
import type { ReceivedChat } from '../../../operations/requests/submit-chat.ts';
import type { KeyedRequest, RequestDeps } from '../../deps.ts';
import { asApiError, errorBody } from '../../errors.ts';
import { hijackHeaders } from '../../hijack.ts';
import { noteRefusal } from '../../refused-calls.ts';

const bufferMaxBytes = 1024 * 1024;

/** An API in which callers write chat calls and read the replies. */
export interface ChatApi {
  /** The path of its calls below /v1. A repeat of a call must have the same path. */
  path: string;
  /** Throws an `ApiError` that names the caller's field. */
  read(body: Json): ReadCall;
  open(answering: AnswerContext): ReplyWriter;
  /** Whether a stream tells this refusal, because the API's clients look for it only there. */
  tellsInStream?(error: ApiError): boolean;
}

/** A call with its reply and the form of that reply. */
export interface ShownCall {
  req: KeyedRequest;
  reply: FastifyReply;
  api: ChatApi;
  call: ReceivedChat;
}

type Identity = Pick<AnswerContext, 'request_id' | 'created' | 'model'>;
type Prompt = Pick<ChatRun, 'call' | 'files' | 'model'>;

/**
 * The way of a reply to its caller. A stream opens with its reply. If the model is silent for long,
 * it opens earlier, with status 200, because proxies and clients close a silent connection. Then a
 * refusal is told in the stream; most come within seconds, and so with their own status.
 */
export class Sender {
  readonly #shown: ShownCall;
  readonly #deps: RequestDeps;
  #writer!: ReplyWriter;
  #prompt: Prompt | null = null;
  #endedAt: () => Date | null = () => null;
  #events: Promise<EventStream> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(shown: ShownCall, deps: RequestDeps) {
    this.#shown = shown;
    this.#deps = deps;
  }

  identify({ request_id, created, model }: Identity, prompt: Prompt | null): void {
    const { api, call } = this.#shown;
    const { body, read } = call;
    const now = () => unixSeconds(this.#endedAt() ?? new Date());
    this.#prompt = prompt;
    this.#writer = api.open({ request_id, created, model, now, body, stream: read.stream });
  }

  /** Opens the stream if the model is silent for long. */
  openLater(): void {
    const openEarly = () => {
      if (this.#shown.reply.raw.destroyed || this.#events) return;
      this.#ignore(this.#shown.call.read.ignored);
      this.#events = this.#open(null);
    };
    this.#timer = setTimeout(openEarly, this.#deps.settings.times.silenceMs);
  }

  /** Gives the reply to the caller, who reads it in whole or as a stream. */
  async begin({ ended, ignored, reportedUsage, signal }: BegunReply): Promise<Reader<unknown>> {
    this.#endedAt = ended;
    this.#ignore(ignored);
    if (!this.#shown.call.read.stream) return this.#whole();
    this.#events ??= this.#open(reportedUsage, signal);
    return this.#streaming(await this.#events, signal);
  }

  #ignore(names: readonly string[]): void {
    if (names.length > 0) this.#shown.reply.header('x-ignored-fields', names.join(', '));
  }

  async #open(reportedUsage: Usage | null, signal?: AbortSignal): Promise<EventStream> {
    const events = openStream(this.#shown.reply, this.#writer, this.#deps);
    await sendAll(
      events,
      this.#writer.begin(() => promptOf(reportedUsage, this.#prompt)),
      signal,
    );
    return events;
  }

  /** A whole reply. One that broke off after its first words is paid, and so is shown. */
  #whole(): Reader<string> {
    const { reply } = this.#shown;
    return {
      take: (event) => {
        this.#writer.add(event);
        return true;
      },
      end: ({ failed, refusal, broken, usage, charge }) => {
        if (failed) throw refusal ?? noAnswer(broken?.error ?? 'no output', this.#deps);
        // The cost of this very call: a repeat costs nothing.
        reply.header('x-charge-usd-micro', String(charge));
        reply.type('application/json; charset=utf-8');
        return JSON.stringify(this.#writer.whole(usage));
      },
      fail: (error) => {
        throw error;
      },
    };
  }

  #streaming(events: EventStream, signal: AbortSignal): Reader<FastifyReply> {
    const { reply } = this.#shown;
    const send = (pieces: SentEvent[], until: AbortSignal) => sendAll(events, pieces, until);
    return {
      // When the time is up, a slow reader must not delay the settlement.
      take: async (event) => (await send(this.#writer.add(event), signal)) && !signal.aborted,
      end: async ({ broken, refusal, failed, released, usage }) => {
        // A caller who has left gets no error; leaving usually caused it.
        if (reply.raw.destroyed) return reply;
        const charged = failed || released ? null : usage;
        if (broken) await this.#fail(broken.error, refusal ?? brokeOff(broken.why), charged);
        else if (!released) await send(this.#writer.end(usage), this.#deps.cutoff);
        // A released call is not paid for, so pieces that the reader has not taken yet are dropped.
        if (released) reply.raw.destroy();
        else events.end();
        return reply;
      },
      fail: async (error) => {
        if (!reply.raw.destroyed) await this.#fail(error, asApiError(error), null);
        events.end();
        return reply;
      },
    };
  }

  /** Tells in the stream why the reply broke off. `err`: for the log; null: it was there before. */
  async #fail(err: unknown, why: ApiError, charged: Json | null): Promise<void> {
    const { req } = this.#shown;
    if (err !== null) {
      noteRefusal(why, req, this.#deps);
      const facts = { request_id: req.made, account_id: req.caller.account_id };
      const model_id = this.#prompt?.model.id;
      this.#deps.log.warn({ err, ...facts, model_id }, 'chat stream broke');
    }
    const events = await (this.#events ??= this.#open(null));
    const error = errorBody(why, req.id).error;
    await sendAll(events, this.#writer.fail(error, charged), this.#deps.cutoff);
  }

  /** Tells a refusal in the stream, if that has begun or if the clients look for it there. */
  async refuse(error: unknown): Promise<FastifyReply> {
    const { req, reply, api, call } = this.#shown;
    const { stream, model } = call.read;
    const why = asApiError(error);
    if (this.#events) await this.#fail(error, why, null);
    else {
      if (!stream || !api.tellsInStream?.(why) || reply.sent) throw error;
      noteRefusal(why, req, this.#deps);
      this.identify({ request_id: req.id, created: unixSeconds(new Date()), model }, null);
      await this.#fail(null, why, null);
    }
    (await this.#events)!.end();
    return reply;
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

const unixSeconds = (time: Date) => Math.floor(time.getTime() / 1000);

function openStream(reply: FastifyReply, writer: ReplyWriter, deps: RequestDeps): EventStream {
  const headers = hijackHeaders(reply);
  reply.hijack();
  const { times } = deps.settings;
  const alive = () => writer.alive();
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...times, alive });
  deps.metrics.streams.inc();
  events.closed.addEventListener('abort', () => deps.metrics.streams.dec());
  return events;
}

/** The count of the prompt that is known when the reply begins: the upstream's, or ours. */
function promptOf(reportedUsage: Usage | null, prompt: Prompt | null): Usage {
  if (prompt === null) return {};
  const reported = reportedUsage && promptUsageOf(reportedUsage);
  if (reported) return reported;
  const { call, files, model } = prompt;
  const own = { ...call.conversation, files };
  return { prompt_tokens: countPromptTokens(own, model.context_tokens) };
}

/** False once the reader is gone. Waits after each event, because the last ones may be long. */
async function sendAll(
  events: EventStream,
  pieces: readonly SentEvent[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const { data, event } of pieces)
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
