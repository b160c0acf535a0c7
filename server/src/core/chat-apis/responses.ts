import type { ChatApi } from './chat-api.ts';
import { responsesCall, responsesIgnored } from './responses-call.ts';
import { responsesReader } from './responses-reader.ts';

/** OpenAI's Responses. */
export const responsesApi: ChatApi = {
  path: '/responses',
  readsText: false,
  call: responsesCall,
  optional: new Set(['prompt_cache_key', 'safety_identifier']),
  ignored: responsesIgnored,
  reader: responsesReader,
};
