import type {
  AnswerContext,
  ReplyContext,
  ReadCall,
  ReplyWriter,
  SentEvent,
} from '../../src/core/apis/api.ts';
import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import { completionsReader } from '../../src/core/apis/completions/read-reply.ts';
import type { Conversation } from '../../src/core/chat/conversation.ts';
import type { ReplyEvent } from '../../src/core/chat/reply.ts';
import { completionOf } from '../../src/upstreams/in-process.ts';

/** Calls and replies of the chat APIs without a service. */

type Json = Record<string, any>;

/** The prompt of chat completions with these messages, tools and format. */
export function promptIn(body: Json): Conversation {
  return readCompletionsCall({ model: 'a/b', ...body }).conversation;
}

/** A call as a server of chat completions gets it that knows all fields. */
export function chatBodyOf({ conversation, model, max_tokens, stream }: ReadCall): Json {
  const call = { conversation, model, max_tokens: max_tokens!, cacheControl: true, stream };
  return completionOf(call, undefined, { developer: false }).body;
}

const asked: ReplyContext = {
  request_id: '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10',
  custom: new Set(),
  api: 'completions',
  ownName: (name) => name,
  usedIds: () => [],
  stops: ['END'],
};

/** The events of chunks, or of a whole chat completion. */
export function piecesOf(chunks: readonly Json[]): ReplyEvent[] {
  const pieces: ReplyEvent[] = [];
  const reader = completionsReader(asked, (event) => pieces.push(event));
  for (const chunk of chunks) reader.read(chunk);
  reader.end('mark');
  return pieces;
}

type OpenWriter = (answering: AnswerContext) => ReplyWriter;

function writerOf(open: OpenWriter, body: Json, stream: boolean): ReplyWriter {
  const { request_id } = asked;
  return open({ request_id, created: 1, now: () => 2, model: 'a/b', body, stream });
}

/** The reply to a call with this body, in one piece. */
export function wholeReply(
  open: OpenWriter,
  chunks: readonly Json[],
  usage: Json,
  body: Json = {},
): Json {
  const writer = writerOf(open, body, false);
  piecesOf(chunks).forEach(writer.add);
  return writer.whole(usage);
}

/** The reply to a call with this body, as server-sent events. */
export function streamedReply(
  open: OpenWriter,
  chunks: readonly Json[],
  usage: Json,
  body: Json = {},
): SentEvent[] {
  const writer = writerOf(open, body, true);
  return [
    ...writer.begin(() => ({})),
    ...piecesOf(chunks).flatMap((each) => writer.add(each)),
    ...writer.end(usage),
  ];
}
