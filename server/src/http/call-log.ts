import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isUuid } from '../lib/id.ts';
import { clean } from '../lib/log.ts';
import { keepingSpan } from '../lib/trace.ts';
import { fieldOf } from '../lib/unknown.ts';
import { callerIdOf } from './call.ts';

const rewritten = new WeakMap<IncomingMessage, string>();

/** Gives a call another method for the router. The log keeps the caller's. */
export function rewriteMethod(req: IncomingMessage, method: string): void {
  rewritten.set(req, req.method!);
  req.method = method;
}

/** Logs one line per call when it is over, a stream's too. */
export function logCalls(app: FastifyInstance, log: FastifyBaseLogger): void {
  if (!['trace', 'debug', 'info'].includes(log.level)) return;
  app.addHook('onRequest', (req, reply, done) => {
    logAtEnd(req, reply, log);
    done();
  });
}

/** For a call that is refused before the hooks. */
export function logAtEnd(req: FastifyRequest, reply: FastifyReply, log: FastifyBaseLogger): void {
  const write = () => {
    const route = req.routeOptions.url;
    log[isQuiet(req.method, route) ? 'debug' : 'info'](factsOf(req, reply, route), 'call');
  };
  reply.raw.once('close', keepingSpan(write));
}

/** The caller has written nothing of it except a number, which `callerIdOf` checks for secrets. */
export function factsOf(req: FastifyRequest, { raw, elapsedTime }: FastifyReply, route = 'none') {
  return {
    [clean]: true,
    call_id: req.id,
    caller_id: callerIdOf(req) ?? undefined,
    method: rewritten.get(req.raw) ?? req.method,
    route,
    // A caller who left before the reply got no status.
    status: raw.headersSent ? raw.statusCode : undefined,
    // The caller left, or the reply broke off.
    cut: raw.writableFinished ? undefined : true,
    ms: Math.round(elapsedTime),
    account_id: req.caller?.account_id ?? idIn(req, 'account_id'),
    key_id: req.caller?.key_id,
    operator_key_id: req.operator?.by.operator_key_id,
    request_id: req.made ?? idIn(req.params, 'request_id'),
    model_id: req.model_id,
  };
}

function idIn(of: unknown, name: string): string | undefined {
  const id = fieldOf(of, name);
  return isUuid(id) ? id : undefined;
}

/**
 * Health checks, metrics, pages with their files, and the questions that browsers ask before a call
 * of another origin.
 */
export function isQuiet(method: string, route: string | undefined): boolean {
  return method === 'OPTIONS' || isOutside(route);
}

/**
 * True for a route outside /v1, /api, /fal and /replicate. The request's target is not used,
 * because it may be a whole URL.
 */
export function isOutside(route: string | undefined): boolean {
  return route !== undefined && !/^\/(v1|api|fal|replicate)\//.test(route);
}
