import type { FastifyReply } from 'fastify';
import type { AnswerContext, ReplyWriter, SentEvent } from '../../../core/apis/api.ts';
import { countPromptTokens } from '../../../core/chat/tokens.ts';
import { promptUsageOf, type Usage } from '../../../core/chat/usage.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { openEventStream, type EventStream } from '../../../lib/sse.ts';
import type { ChatRun } from '../../../operations/requests/call-routes.ts';
import type { BegunReply } from '../../../operations/requests/run-chat.ts';
import type { CallDeps, RequestDeps } from '../../deps.ts';
import { asApiError, errorBody } from '../../errors.ts';
import { hijackHeaders } from '../../hijack.ts';
import { noteRefusal } from '../../refused-calls.ts';
import type { ShownCall } from './door.ts';

const bufferMaxBytes = 1024 * 1024;

type Prompt = Pick<ChatRun, 'call' | 'files' | 'model'>;
export type Sender = ReturnType<typeof openSender>;

/**
 * The way of a reply to its caller. A stream opens with its reply. If the model is silent for long,
 * it opens earlier, with status 200, because proxies and clients close a silent connection. Then a
 * refusal is told in the stream; most come within seconds, and so with their own status.
 */
export function openSender(
  { req, reply, api, call: { body, read } }: ShownCall,
  deps: RequestDeps,
) {
  let endedAt: () => Date | null = () => null;
  let events: Promise<EventStream> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let prompt: Prompt | null = null;
  let writer!: ReplyWriter;
  const now = () => Math.floor((endedAt()?.getTime() ?? Date.now()) / 1000);
  const isOf = ({ request_id, created, model }: Identity, of: Prompt | null) => {
    prompt = of;
    writer = api.open({ request_id, created, model, now, body, stream: read.stream });
  };
  const ignore = (names: readonly string[]) =>
    void (names.length > 0 && reply.header('x-ignored-fields', names.join(', ')));
  async function begin(reportedUsage: Usage | null, signal?: AbortSignal): Promise<EventStream> {
    const stream = openStream(reply, writer, deps);
    const usage = () => promptOf(reportedUsage, prompt);
    await sendAll(stream, writer.begin(usage), signal);
    return stream;
  }
  const open = (reportedUsage: Usage | null, signal?: AbortSignal) =>
    (events ??= begin(reportedUsage, signal));
  function openEarly(): void {
    if (reply.raw.destroyed || events) return;
    ignore(read.ignored);
    events = begin(null);
  }
  /** The reply broke off. `usage`: the charged one. */
  async function failStream(err: unknown, why: ApiError, usage: Json | null): Promise<void> {
    noteRefusal(why, req, deps);
    const facts = { request_id: req.made, account_id: req.caller.account_id };
    deps.log.warn({ err, ...facts, model_id: prompt?.model.id }, 'chat stream broke');
    await sendAll(await open(null), writer.fail(errorBody(why, req.id).error, usage), deps.cutoff);
  }
  return {
    isOf,
    writer: () => writer,
    begins(begun: Pick<BegunReply, 'ended' | 'ignored'>): void {
      ({ ended: endedAt } = begun);
      ignore(begun.ignored);
    },
    /** Opens the stream if the model is silent for long. */
    openLater: () => void (timer = setTimeout(openEarly, deps.settings.times.silenceMs)),
    open,
    breaks: failStream,
    /** Tells a refusal in the stream, if that has begun or if the clients look for it there. */
    async refuse(error: unknown): Promise<FastifyReply> {
      const why = asApiError(error);
      if (events) await failStream(error, why, null);
      else {
        if (!read.stream || !api.tellsInStream?.(why) || reply.sent) throw error;
        noteRefusal(why, req, deps);
        isOf({ request_id: req.id, created: now(), model: read.model }, null);
        await sendAll(await open(null), writer.fail(errorBody(why, req.id).error, null));
      }
      (await open(null)).end();
      return reply;
    },
    close: () => clearTimeout(timer),
  };
}

type Identity = Pick<AnswerContext, 'request_id' | 'created' | 'model'>;

function openStream(reply: FastifyReply, writer: ReplyWriter, deps: CallDeps): EventStream {
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
export async function sendAll(
  events: EventStream,
  pieces: readonly SentEvent[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const { data, event } of pieces)
    if (!events.send(data, event) || !(await events.drained(signal))) return false;
  return true;
}
