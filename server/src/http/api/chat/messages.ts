import { demandFew } from '../../../core/chat/list-sizes.ts';
import { messages } from '../../../core/dialect/messages.ts';
import { messagesChatBody } from '../../../core/dialect/messages-request.ts';
import { countPrompt } from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, readObject } from '../../body.ts';
import { callModel, inDialect } from './chat.ts';
import { keyedEndpoint } from '../endpoint.ts';
import {
  CountRequest,
  Message,
  MessageEvent,
  MessageRequest,
  MessagesError,
  TokenCount,
} from './messages-schema.ts';

/** Anthropic's Messages: the same calls as chat completions, in another form. */

const failure = MessagesError;

/** POST /messages */
export const create = keyedEndpoint(
  { body: MessageRequest, written: Message, events: MessageEvent, failure },
  ({ req, reply }, deps) => callModel(req, reply, messages, deps),
);

/** POST /messages/count_tokens */
export const countTokens = keyedEndpoint(
  { body: CountRequest, reply: TokenCount, failure },
  async ({ req, reply }, deps) => {
    const body = await readObject(req, reply, chatMaxBytes, deps);
    demandFew(body, 'messages');
    const chatBody = messagesChatBody(body);
    try {
      return { input_tokens: await countPrompt(chatBody, req.caller, deps) };
    } catch (error) {
      throw inDialect(error, messages, body);
    }
  },
);
