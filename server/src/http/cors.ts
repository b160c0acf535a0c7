import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { objectOf } from '../lib/json.ts';
import type { Row } from './row.ts';

/** Calls that a browser may make from pages of other origins (CORS). */

const preflightSeconds = 3_600;
/** Response headers that pages of other origins may read. */
const exposed =
  'etag, location, retry-after, x-should-retry, x-request-id, request-id, x-charge-usd-micro, ' +
  'x-ignored-fields, idempotent-replayed, preference-applied, ' +
  'ratelimit, ratelimit-policy, ratelimit-limit, ratelimit-remaining, ratelimit-reset';

/**
 * Public reads and signed links are open to all origins; calls with a key, except those that manage
 * keys, are open to the origins that the operator lists. A key is sent by a page's own code, never
 * by the browser itself, so no other page can use it.
 */
export function allowOrigins(app: FastifyInstance, table: Row[], origins: readonly string[]): void {
  const addresses = (fits: (route: Row) => boolean) =>
    table
      .filter((route) => fits(route) && (route.prefixed || /^\/(fal|replicate)\//.test(route.path)))
      .map(({ prefixed, path }) => (prefixed ? `/v1${path}` : path));
  const open = new Set(addresses(({ who }) => who === 'anyone'));
  const signed = new Set(addresses(({ who }) => who === 'key_or_signature'));
  const keyed = new Set(origins.length === 0 ? [] : addresses(spends));
  // Only the routes that are open to some origin get a hook.
  app.addHook('onRoute', (route) => {
    const { url } = route;
    const isOpen = open.has(url);
    if (!isOpen && !signed.has(url) && !keyed.has(url)) return;
    const allow: onRequestHookHandler = (req, reply, done) => {
      const { origin } = req.headers;
      const linked = signed.has(url) && Object.hasOwn(objectOf(req.query), 'sig');
      if (isOpen || linked) reply.header('access-control-allow-origin', '*');
      else if (keyed.has(url)) {
        reply.header('vary', 'origin');
        if (origin === undefined || !origins.includes(origin)) return done();
        reply.header('access-control-allow-origin', origin);
      } else return done();
      if (isPreflight(req)) return void answerPreflight(req, reply, linked);
      reply.header('access-control-expose-headers', exposed);
      done();
    };
    route.onRequest = [allow, ...[route.onRequest ?? []].flat()];
  });
}

function spends(route: Row): boolean {
  return route.who === 'key' && route.scope === 'spend';
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  const { origin, 'access-control-request-method': wanted } = headers;
  return method === 'OPTIONS' && origin !== undefined && wanted !== undefined;
}

function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply, keyless: boolean): void {
  const asked = headers['access-control-request-headers'] ?? 'authorization';
  reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, HEAD, POST, PUT',
      'access-control-allow-headers': keyless ? withoutKeys(asked) : asked,
      'access-control-max-age': String(preflightSeconds),
    })
    .send();
}

/** Without the key headers: a signed link needs no key; calls with a key need a listed origin. */
function withoutKeys(names: string): string {
  const isKey = (name: string) => ['authorization', 'x-api-key'].includes(name.toLowerCase());
  const asked = names.split(',').map((name) => name.trim());
  return asked.filter((name) => !isKey(name)).join(', ');
}
