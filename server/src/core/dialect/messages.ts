import { isGiven } from '../check.ts';
import { ApiError } from '../errors.ts';
import type { Dialect } from './dialect.ts';
import { messagesEvents, messagesReply } from './messages-reply.ts';
import { messagesChatBody, messagesIgnored, messagesPath } from './messages-request.ts';

/** Anthropic's Messages. */
export const messages: Dialect = {
  path: '/messages',
  list: 'messages',
  chatBody(body) {
    if (isGiven(body.max_tokens)) return messagesChatBody(body);
    const message = 'max_tokens must be an integer of at least 1.';
    throw new ApiError('bad_request', { message, param: 'max_tokens' });
  },
  ignored: messagesIgnored,
  pathOf: messagesPath,
  reply: messagesReply,
  events: messagesEvents,
};
