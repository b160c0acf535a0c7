import { cacheMark } from '../chat/optional-fields.ts';
import type { ChatApi } from './chat-api.ts';
import { customTools, messagesCall, messagesIgnored, type Style } from './messages-call.ts';
import { messagesReader } from './messages-reader.ts';

/** Anthropic's Messages. */
export const messagesApi = (style: Style): ChatApi => ({
  path: '/messages',
  call: (body) => messagesCall(body, style),
  optional: new Set(['top_k', 'thinking', cacheMark]),
  ignored: (body) => messagesIgnored(body, style),
  reader: (body) => messagesReader(customTools(body)),
});
