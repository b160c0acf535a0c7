import { createFetch, FetchError } from '../../src/lib/outbound/fetch.ts';
import type { StartOutcome, Upstream, UpstreamClass } from '../../src/upstreams/upstream.ts';
import { images } from '../kit/fake.ts';

/** The adapter to the paid upstream, in one of its classes. */
export function createRemote(url: string, kind: UpstreamClass): Upstream {
  const http = createFetch({ guard: false });
  const call = async (path: string, method: string, signal: AbortSignal) => {
    const reply = await http.request({
      url: `${url}/${path}`,
      method,
      timeoutMs: 800,
      maxBytes: 10_000,
      signal,
    });
    return {
      status: reply.status,
      body: JSON.parse(Buffer.from(reply.body).toString() || '{}') as Record<string, unknown>,
    };
  };
  return {
    name: `remote_${kind.toLowerCase()}`,
    class: kind,
    concurrency: 200,
    async start({ idempotency_key: key, signal }): Promise<StartOutcome> {
      try {
        const { status } = await call(`start/${key}?class=${kind}`, 'POST', signal);
        if (status === 200) return { outcome: 'accepted', handle: { key }, poll_after_ms: 50 };
        if (status === 503) return { outcome: 'not_accepted', message: 'busy' };
        return { outcome: 'unknown', message: `answered ${status}` };
      } catch (error) {
        const sent = !(error instanceof FetchError) || error.sent;
        return { outcome: sent ? 'unknown' : 'not_accepted', message: String(error) };
      }
    },
    async poll({ key }, signal) {
      const { status, body } = await call(`poll/${String(key)}`, 'GET', signal);
      if (status !== 200) throw new Error(`poll answered ${status}`);
      return body.done
        ? { state: 'done', result: images(1) }
        : { state: 'running', poll_after_ms: 50 };
    },
    ...(kind === 'B' && {
      find: async (key: string, signal: AbortSignal) =>
        (await call(`find/${key}`, 'GET', signal)).body.found ? { key } : null,
    }),
  };
}
