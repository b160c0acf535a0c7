import { readMessagesCall, readPrompt } from '../../../core/apis/messages/read-call.ts';
import { messagesWriter } from '../../../core/apis/messages/write-reply.ts';
import { countPrompt } from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, readObject } from '../../body.ts';
import { keyedEndpoint } from '../../endpoint.ts';
import { callModel, type ChatDoor } from './call-model.ts';
import {
  CountRequest,
  Message,
  MessageEvent,
  MessageRequest,
  MessagesError,
  TokenCount,
} from './messages-schema.ts';

/** Anthropic's Messages. */
const door: ChatDoor = {
  path: '/messages',
  read: readMessagesCall,
  open: messagesWriter,
};

const failure = MessagesError;

/** POST /messages */
export const create = keyedEndpoint(
  { rawBody: MessageRequest, written: Message, events: MessageEvent, failure },
  ({ req, reply }, deps) => callModel(req, reply, door, deps),
);

/** POST /messages/count_tokens */
export const countTokens = keyedEndpoint(
  { rawBody: CountRequest, reply: TokenCount, failure },
  async ({ req, reply }, deps) => {
    const body = await readObject(req, reply, chatMaxBytes, deps);
    return { input_tokens: await countPrompt(readPrompt(body), req.caller, deps) };
  },
);
