import { createFetch } from '../server/src/lib/fetch.ts';
import type { Upstream } from '../server/src/upstreams/upstream.ts';

/** An upstream that is done at once, so that what is measured is the service. Chat goes to a local server. */
export function createInstant(chatUrl: string | null): Upstream {
  const http = createFetch({ guard: false });
  return {
    name: 'instant',
    class: 'A',
    concurrency: 100_000,
    start: async () => ({
      outcome: 'done',
      result: { media: [], fields: { text: 'done' }, quantity: 1 },
    }),
    poll: async () => ({ state: 'running' }),
    async chat({ model, body }) {
      const reply = await http.request({
        url: `${chatUrl}/chat/completions`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, model }),
        timeoutMs: 10_000,
        maxBytes: 1_000_000,
      });
      return {
        outcome: 'reply',
        reply: JSON.parse(Buffer.from(reply.body).toString()) as Record<string, unknown>,
      };
    },
  };
}
