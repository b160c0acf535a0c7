import type { FastifyReply } from 'fastify';
import type { AnswerContext, ReadCall, ReplyWriter } from '../../../core/apis/api.ts';
import type { ApiError } from '../../../core/errors.ts';
import type { Json } from '../../../lib/json.ts';
import type { ReceivedChat } from '../../../operations/requests/submit-chat.ts';
import type { KeyedRequest } from '../../deps.ts';

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
