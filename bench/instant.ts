import { createFetch } from '../server/src/lib/outbound/fetch.ts';
import { completionOf, eventsOf } from '../server/src/upstreams/in-process.ts';
import type { Upstream } from '../server/src/upstreams/upstream.ts';
import { objectOf } from '../server/src/lib/json.ts';

/**
 * An upstream that finishes jobs at once, so that only the service is measured. Chat calls go to a
 * local server.
 */
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
    async chat(call) {
      const { body } = completionOf(call);
      const reply = await http.request({
        url: `${chatUrl}/chat/completions`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        timeoutMs: 10_000,
        maxBytes: 1_000_000,
      });
      const said = objectOf(JSON.parse(Buffer.from(reply.body).toString()));
      return { outcome: 'reply', reportedUsage: null, events: eventsOf(call, [said]) };
    },
  };
}

/** A job is ready 5 to 15 s after its start. */
const shortestMs = 5_000;
const spreadMs = 10_000;
const slowMs = 20_000;

/** One upstream whose jobs take time, and three that behave like failing upstreams. */
export function createWaiting(): Upstream[] {
  const base = { class: 'C' as const, concurrency: 100_000 };
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const accept = async () => ({
    outcome: 'accepted' as const,
    handle: { ready_ms: Date.now() + shortestMs + Math.random() * spreadMs },
  });
  const done = ({ ready_ms }: Record<string, unknown>) => ({
    state: 'done' as const,
    result: { media: [], fields: { text: 'done', ready_ms }, quantity: 1 },
  });
  return [
    {
      ...base,
      name: 'paced',
      start: accept,
      poll: async (handle) =>
        Date.now() >= Number(handle.ready_ms) ? done(handle) : { state: 'running' },
    },
    { ...base, name: 'hanging', start: accept, poll: (_handle, signal) => never(signal) },
    {
      ...base,
      name: 'slow',
      start: accept,
      poll: async () => {
        await new Promise((resolve) => setTimeout(resolve, slowMs).unref());
        return { state: 'running' };
      },
    },
    {
      ...base,
      name: 'limiting',
      start: async () => ({ outcome: 'not_accepted', message: '429', retry_after_ms: 1_000 }),
      poll: async () => ({ state: 'running' }),
    },
  ];
}
