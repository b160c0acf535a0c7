import { cacheMark } from '../chat/optional-fields.ts';
import type { ChatApi } from './chat-api.ts';
import { customTools, messagesCall, messagesIgnored, type Capabilities } from './messages-call.ts';
import { messagesReader } from './messages-reader.ts';

/** Anthropic's Messages. */
export const messagesApi = (takes: Capabilities): ChatApi => ({
  path: '/messages',
  readsText: true,
  call: (body) => messagesCall(body, takes),
  optional: new Set(['top_k', 'thinking', cacheMark]),
  ignored: (body) => messagesIgnored(body, takes),
  reader: (body) => messagesReader(customTools(body)),
});
