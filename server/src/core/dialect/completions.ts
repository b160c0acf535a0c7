import type { Json } from '../../lib/json.ts';
import type { Dialect } from './dialect.ts';

/** OpenAI's chat completions, the form that all calls have inside the service. */
export const completions: Dialect = {
  path: '/chat/completions',
  list: 'messages',
  chatBody: (body) => body,
  reply: (completion) => completion,
  events({ chat: { include_usage } }) {
    const pending = include_usage ? { usage: null } : {};
    const done = { data: '[DONE]' };
    const usage = (completion: Json | null) =>
      include_usage && completion ? [json(usageChunk(completion))] : [];
    return {
      begin: () => [],
      add: (chunk) => [json({ ...chunk, ...pending })],
      end: (completion) => [...usage(completion), done],
      // The HTTP status has already been sent, so the error becomes the last chunk.
      fail: (error, completion) => [...usage(completion), json({ error }), done],
    };
  },
};

const json = (value: Json) => ({ data: JSON.stringify(value) });

/** The last chunk of a stream with usage: no choices, and the cost. */
function usageChunk({ id, created, model, usage = null }: Json): Json {
  return { id, object: 'chat.completion.chunk', created, model, choices: [], usage };
}
