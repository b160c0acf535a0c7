import { readCompletionsCall } from '../../../core/apis/completions/read-call.ts';
import { completionsWriter } from '../../../core/apis/completions/write-reply.ts';
import { readMessagesCall, readPrompt } from '../../../core/apis/messages/read-call.ts';
import { messagesWriter } from '../../../core/apis/messages/write-reply.ts';
import { readResponsesCall } from '../../../core/apis/responses/read-call.ts';
import { responsesWriter } from '../../../core/apis/responses/write-reply.ts';
import { countPrompt } from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, readObject } from '../../body.ts';
import { recordModelForLog } from '../../call.ts';
import { keyedEndpoint } from '../../endpoint.ts';
import { ErrorBody } from '../../schemas/error-schema.ts';
import * as s from '../../schemas/schema.ts';
import * as chat from './chat-schema.ts';
import { chatEndpoint } from './call-model.ts';
import * as messages from './messages-schema.ts';
import * as responses from './responses-schema.ts';

/** POST /chat/completions: OpenAI's chat completions. */
export const createCompletion = chatEndpoint(
  { path: '/chat/completions', read: readCompletionsCall, open: completionsWriter },
  {
    rawBody: chat.ChatRequest,
    written: chat.ChatCompletion,
    events: s.either([chat.ChatChunk, ErrorBody]),
  },
);

const failure = messages.MessagesError;

/** POST /messages: Anthropic's Messages. */
export const createMessage = chatEndpoint(
  { path: '/messages', read: readMessagesCall, open: messagesWriter },
  {
    rawBody: messages.MessageRequest,
    written: messages.Message,
    events: messages.MessageEvent,
    failure,
  },
);

/** POST /messages/count_tokens */
export const countTokens = keyedEndpoint(
  { rawBody: messages.CountRequest, reply: messages.TokenCount, failure },
  async ({ req, reply }, deps) => {
    const body = await readObject(req, reply, chatMaxBytes, deps);
    recordModelForLog(req, body.model, deps);
    return { input_tokens: await countPrompt(readPrompt(body), req.caller, deps) };
  },
);

/** POST /responses: OpenAI's Responses, without stored conversations and tools that run here. */
export const createResponse = chatEndpoint(
  {
    path: '/responses',
    read: readResponsesCall,
    open: responsesWriter,
    tellsInStream: ({ code }) => code === 'context_length_exceeded',
  },
  {
    rawBody: responses.ResponseRequest,
    written: responses.ResponseObject,
    events: responses.ResponseEvent,
  },
);
