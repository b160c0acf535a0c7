import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Call } from './routes.ts';

/** Which calls a browser may make from pages of other origins. */

const preflightSeconds = 3_600;
/** Response headers that such a page may read. */
const exposed =
  'etag, location, retry-after, x-should-retry, x-request-id, request-id, x-charge-usd-micro, ' +
  'x-ignored-fields, idempotent-replayed, preference-applied, ' +
  'ratelimit, ratelimit-policy, ratelimit-limit, ratelimit-remaining, ratelimit-reset';

/**
 * Public reads are open to all origins; calls with a key are open to the origins that the operator
 * lists. A key is sent by a page's own code, never by the browser itself, so no other page can use
 * it.
 */
export function allowOrigins(
  app: FastifyInstance,
  table: Call[],
  origins: readonly string[],
): void {
  const addresses = (who: Call['who']) =>
    table
      .filter((route) => route.who === who && (route.prefixed || route.path.startsWith('/fal/')))
      .map(({ prefixed, path }) => (prefixed ? `/v1${path}` : path));
  const open = new Set(addresses('anyone'));
  const keyed = new Set(origins.length === 0 ? [] : addresses('key'));
  app.addHook('onRequest', (req, reply, done) => {
    const url = req.routeOptions.url ?? '';
    const { origin } = req.headers;
    if (open.has(url)) reply.header('access-control-allow-origin', '*');
    else if (keyed.has(url)) {
      reply.header('vary', 'origin');
      if (origin === undefined || !origins.includes(origin)) return done();
      reply.header('access-control-allow-origin', origin);
    } else return done();
    if (isPreflight(req)) return void answerPreflight(req, reply);
    reply.header('access-control-expose-headers', exposed);
    done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  const { origin, 'access-control-request-method': wanted } = headers;
  return method === 'OPTIONS' && origin !== undefined && wanted !== undefined;
}

function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, HEAD, POST, PUT',
      'access-control-allow-headers': headers['access-control-request-headers'] ?? 'authorization',
      'access-control-max-age': String(preflightSeconds),
    })
    .send();
}
