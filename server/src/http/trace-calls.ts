import type { FastifyInstance } from 'fastify';
import { inSpan, type Tracer } from '../lib/trace.ts';
import { factsOf, isQuiet } from './call-log.ts';

/** A span for each call that the log has at `info`. It continues the caller's trace. */
export function traceCalls(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (req, reply, done) => {
    const { method } = req;
    const { url: route = 'none' } = req.routeOptions;
    if (isQuiet(method, req.routeOptions.url)) return done();
    const { traceparent, tracestate } = req.raw.headers;
    const span = tracer.begin(`${method} ${route}`, {
      kind: 'server',
      parent: { from: { traceparent: one(traceparent), tracestate: one(tracestate) } },
      attributes: { 'http.request.method': method, 'http.route': route },
    });
    reply.raw.once('close', () => {
      const facts = factsOf(req, reply, route);
      span.note({
        'http.response.status_code': facts.status,
        'farebox.cut': facts.cut,
        'farebox.call_id': facts.call_id,
        'farebox.account_id': facts.account_id,
        'farebox.key_id': facts.key_id,
        'farebox.operator_key_id': facts.operator_key_id,
        'farebox.request_id': facts.request_id,
        'farebox.model_id': facts.model_id,
      });
      span.end(
        facts.status !== undefined && facts.status >= 500 ? String(facts.status) : undefined,
      );
    });
    inSpan(span, done);
  });
}

/** Node joins repeated headers of these names, although the types do not say so. */
function one(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
