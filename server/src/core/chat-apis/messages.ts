import { cacheMark } from '../chat/optional-fields.ts';
import type { ChatApi } from './chat-api.ts';
import { customTools, messagesCall, messagesIgnored, type Thinking } from './messages-call.ts';
import { messagesReader } from './messages-reader.ts';

/** Anthropic's Messages. */
export const messagesApi = (thinking: Thinking): ChatApi => ({
  path: '/messages',
  call: (body) => messagesCall(body, thinking),
  optional: new Set(['top_k', 'thinking', cacheMark]),
  ignored: (body) => messagesIgnored(body, thinking),
  reader: (body) => messagesReader(customTools(body)),
});
