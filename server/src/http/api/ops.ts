import { timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import * as s from '../schemas/schema.ts';
import { openapiText } from '../openapi-text.ts';
import { openEndpoint } from '../endpoint.ts';
import type { CallDeps, StopDeps } from '../deps.ts';

/** Calls for supervisors, which need no API key, and the OpenAPI document. */

export const Health = s.namedObject('Health', { status: s.choice(['ok']) });

/** GET /livez: the process answers, has not been told to stop and knows the database's schema. */
export const livez = openEndpoint({ reply: Health }, async ({ reply }, { stopping, version }) => {
  reply.header('cache-control', 'no-store');
  if (stopping.aborted) throw notReady('draining');
  if (version.moved() !== null) throw notReady('version');
  return { status: 'ok' as const };
});

/** GET /readyz: the process can do its work; otherwise the reply names the failing part. */
export const readyz = openEndpoint({ reply: Health }, async ({ reply }, deps: StopDeps) => {
  reply.header('cache-control', 'no-store');
  const failing = deps.stopping.aborted ? 'draining' : await deps.unready();
  if (failing === null) return { status: 'ok' as const };
  throw notReady(failing);
});

function notReady(failing: string): ApiError {
  return new ApiError('capacity_unavailable', {
    message: `Not ready: ${failing}.`,
    details: { failing },
    // Each part has already logged its failure; probes come every few seconds.
    expected: true,
  });
}

/** GET /metrics: for this machine, or for callers with the token. */
export const metrics = openEndpoint({}, async ({ req, reply }, deps: CallDeps) => {
  const token = deps.settings.FAREBOX_METRICS_TOKEN;
  const allowed =
    token === null
      ? isLoopback(req.socket.remoteAddress) && isLocalHost(req) && !isForwarded(req)
      : bearer(req) !== null && same(bearer(req)!, token);
  if (!allowed)
    throw new ApiError('forbidden', {
      message:
        'Metrics can be read with the metrics token or, if none is set, only from this machine (at localhost or a loopback address).',
    });
  reply.type(deps.metrics.registry.contentType);
  return deps.figures();
});

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(127\.|::1$|::ffff:127\.)/.test(address);
}

/** A web page in a browser on this machine could reach this address under its own host name. */
function isLocalHost({ headers }: FastifyRequest): boolean {
  const host = (headers.host ?? '').replace(/:\d+$/, '');
  return host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0;
}

/** A proxy on this machine forwards calls from anywhere. */
function isForwarded({ headers }: FastifyRequest): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => name in headers);
}

function bearer(req: FastifyRequest): string | null {
  return /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? null;
}

function same(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** GET /openapi.json */
export const openapi = openEndpoint(
  { written: s.anything('An OpenAPI document.') },
  async ({ reply }, { links }) => {
    reply.type('application/json; charset=utf-8').header('cache-control', 'public, max-age=60');
    return openapiText(links.baseUrl);
  },
);
