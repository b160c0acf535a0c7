import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
} from 'fastify';
import { ApiError } from '../core/errors.ts';
import { callNumber } from '../core/request/call-number.ts';
import type { ReasonDetails } from '../core/reasons.ts';
import { callerAddress, networkOf } from '../lib/caller-address.ts';
import { newId } from '../lib/id.ts';
import { headerValues } from '../lib/outbound/headers.ts';
import { toItsEnd } from './call.ts';
import { authenticate, authenticateOperator, demandNotOperators } from './auth.ts';
import { withTopUp } from './api/top-up.ts';
import { callsPerConnectionMax, watchConnections } from './connections.ts';
import { withOwnerShare } from './database-share.ts';
import type { Handler, HttpDeps, KeyedRequest } from './deps.ts';
import { compressReplies } from './compress.ts';
import { allowOrigins } from './cors.ts';
import { discardRest } from './discard.ts';
import { errorBody, sendError } from './errors.ts';
import { isOutside, logAtEnd, logCalls, rewriteMethod } from './call-log.ts';
import { noRouteMessage, notOfferedAt } from './missing-route.ts';
import { noteRefusal } from './refused-calls.ts';
import type { Row } from './row.ts';
import { mountWeb } from './session/mount.ts';
import { asksForPage } from './session/pages.ts';
import { sendNoRoute } from './site/missing.ts';
import { isStranger, type WebDeps } from './session/session-request.ts';
import { noStore, usualHeaders } from './speaks-messages.ts';
import { traceCalls } from './trace-calls.ts';
import { createOverloadLog, takeShare, tooMuch } from './overload.ts';

/** Longer than load balancers keep an idle connection, so that they close it before we do. */
const keepAliveTimeoutMs = 65_000;
/** Longest path parameter: long enough for a model id. */
const paramMax = 600;

/**
 * `TRACE` stands for all other methods: a route for each method at each address would slow down the
 * start.
 */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

export function createServer(
  deps: HttpDeps,
  logger: FastifyBaseLogger,
  table: Row[],
  web: { table: Row[]; deps: WebDeps } | null = null,
): FastifyInstance {
  const { requestMs, headersMs, connectionsCheckMs } = deps.settings.times;
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: ownNumber,
    // Our lines name their call by `call_id` (`request_id` is the id of a job or chat); Fastify's
    // own lines do not name it.
    childLoggerFactory: (parent) => parent,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: {
      headersTimeout: headersMs,
      connectionsCheckingInterval: connectionsCheckMs,
      // Node's refusal of a missing Host header has no body; `refuseMalformed` sends a usual error.
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: paramMax, ignoreTrailingSlash: true },
    rewriteUrl(req) {
      if (!methods.includes(req.method!)) rewriteMethod(req, 'TRACE');
      return withOneSegment(req.url!);
    },
    clientErrorHandler: (error, socket) => answerBroken(error, socket, logger),
    frameworkErrors(error, req, reply) {
      logAtEnd(req, reply, logger);
      return sendError(error, req, reply);
    },
    return503OnClosing: false,
  });
  // Bodies stay streams: each route reads its own within its own limits.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { bodyLimit: Number.MAX_SAFE_INTEGER }, (_req, payload, done) =>
    done(null, payload),
  );
  for (const name of ['yieldSlot', 'caller', 'operator', 'made', 'left', 'owner', 'entry', 'atEnd'])
    app.decorateRequest(name);
  const { FAREBOX_TRUSTED_PROXIES: trustedProxies } = deps.settings;
  app.decorateRequest('address', {
    getter() {
      const { socket, headers } = this.raw;
      // Node joins the lines of a repeated header by commas.
      const forwarded = String(headers['x-forwarded-for'] ?? '');
      return callerAddress(socket.remoteAddress, forwarded, trustedProxies);
    },
  });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler(async (error, req, reply) => {
    noteRefusal(error, req, deps);
    return sendError(await withTopUp(error, withOwnerShare(req, reply, deps), req), req, reply);
  });
  const known = table.map(({ prefixed, path }) => (prefixed ? `/v1${path}` : path));
  app.setNotFoundHandler((req, reply) => {
    // Browsers get a page instead of JSON, and caches must not mix the two answers.
    reply.headers({ vary: 'accept', ...noStore });
    if (web && asksForPage(req)) return sendNoRoute(req, reply, web.deps);
    const message = noRouteMessage(req, known);
    return sendError(new ApiError('not_found', { message }), req, reply);
  });
  if (deps.tracer) traceCalls(app, deps.tracer);
  logCalls(app, logger);
  bound(app, deps);
  refuseMalformed(app, logger);
  allowOrigins(app, table, deps.settings.FAREBOX_CORS_ORIGINS);
  compressReplies(app);
  mount(app, table, deps);
  if (web) mountWeb(app, web.table, web.deps);
  return app;
}

const outdated =
  'This server is older than its database and takes no calls until it is replaced. Nothing was charged; retry with backoff.';
const tooManyStrangers =
  'This server has too many open calls from people who are not signed in. Retry with backoff.';
const tooManyHere = `One connection can have at most ${callsPerConnectionMax} calls at once. Nothing was charged; wait for a reply, or open another connection.`;

/**
 * Counts and measures the calls in progress. A call takes a slot from the share of its network
 * until its key or session is known, then from the share of its account or person, so that nobody
 * can take all slots. Calls with a body that the web pages can make without a session have separate
 * slots.
 */
function bound(app: FastifyInstance, deps: HttpDeps): void {
  const connections = watchConnections(app, deps.settings.times);
  const overloadLog = createOverloadLog(deps.log);
  deps.leaving.addEventListener('abort', () => connections.announceEnd(), { once: true });
  app.addHook('onRequest', (req, reply, done) => {
    // Read once, because Fastify builds a new object at each access.
    const { url, config } = req.routeOptions;
    reply.headers(usualHeaders(req.id, url ?? req.url));
    // Keeping the connection open for another call would delay the stop.
    if (deps.leaving.aborted) reply.header('connection', 'close');
    const { lingerMs } = deps.settings.times;
    const calls = connections.calls(req.raw.socket);
    const answer = (message: string, details?: ReasonDetails) => {
      reply.raw.once('close', () => discardRest(req.raw, lingerMs));
      const why = { message, expected: true, ...(details && { details }) };
      sendError(new ApiError('capacity_unavailable', why), req, reply);
    };
    const refuse = (reason: string, message: string) => {
      deps.metrics.overload.inc({ reason });
      overloadLog(reason);
      answer(message);
    };
    // guard: outdated-takes-no-calls
    if (deps.version.moved() !== null && !isOutside(url))
      return answer(outdated, { reason: 'server_outdated' });
    if (calls.size >= callsPerConnectionMax) return refuse('connection', tooManyHere);
    const slot = takeCallSlot(req, { url, stranger: isStranger(config) }, deps);
    if (slot === 'strangers') return refuse(slot, tooManyStrangers);
    if (slot === 'in_flight') return refuse(slot, tooMuch);
    calls.add(reply.raw);
    Object.assign(req, slot);
    reply.raw.once('close', () => {
      calls.delete(reply.raw);
      // Work that goes on keeps the slot, or callers who leave at once could begin any amount.
      if (req.atEnd) req.atEnd.push(slot.yieldSlot);
      else slot.yieldSlot();
      discardRest(req.raw, lingerMs);
      // The reply's headers may have been sent before the stop began, without `connection: close`.
      if (deps.leaving.aborted && calls.size === 0) req.raw.socket.end();
      deps.metrics.httpSeconds.observe(
        { route: url ?? 'none', status: String(reply.raw.statusCode) },
        reply.elapsedTime / 1000,
      );
    });
    done();
  });
}

/** Takes a slot for the call; returns the reason if no slot is left. */
function takeCallSlot(
  req: FastifyRequest,
  { url, stranger }: { url: string | undefined; stranger: boolean },
  deps: HttpDeps,
): Pick<KeyedRequest, 'belongsTo' | 'yieldSlot'> | 'strangers' | 'in_flight' {
  const { counts } = deps.metrics;
  let budget = stranger ? deps.strangers : isOutside(url) ? null : deps.calls;
  let owner = networkOf(req.address);
  if (budget?.take(owner, 1) === false) return stranger ? 'strangers' : 'in_flight';
  const counted = stranger ? 0 : 1;
  counts.inFlight += counted;
  let working = true;
  req.owner = owner;
  return {
    belongsTo(id) {
      req.owner = id;
      if (!working || budget !== deps.calls) return;
      budget.give(owner, 1);
      budget = null;
      // guard: calls-bounded
      takeShare(deps.calls, id, 'calls under way', deps);
      budget = deps.calls;
      owner = id;
    },
    yieldSlot() {
      if (!working) return;
      working = false;
      counts.inFlight -= counted;
      budget?.give(owner, 1);
    },
  };
}

/** Handles malformed calls that Node would serve, or would refuse with an empty body. */
function refuseMalformed(app: FastifyInstance, log: FastifyBaseLogger): void {
  // An unknown expectation is ignored, as the standard allows.
  app.server.on('checkExpectation', (req, res) => app.server.emit('request', req, res));
  app.server.on('connect', (_req, socket: Socket) => {
    socket.on('error', () => {});
    refuseRaw(socket, 400, 'This server is not a proxy and does not support CONNECT.', log);
  });
  app.addHook('onRequest', (req, _reply, done) => {
    const { httpVersion, headers, rawHeaders } = req.raw;
    if (httpVersion === '0.9')
      return done(new ApiError('bad_request', { message: 'Speak HTTP/1.1.' }));
    if (httpVersion !== '1.0' && headers.host === undefined) {
      return done(new ApiError('bad_request', { message: 'Send a Host header.', param: 'host' }));
    }
    // With two Host headers, a proxy may have routed the call by one while Node reads the other.
    if (headerValues(rawHeaders, 'host').length > 1)
      return done(new ApiError('bad_request', { message: 'Send one Host header.', param: 'host' }));
    done();
  });
}

function mount(app: FastifyInstance, table: Row[], deps: HttpDeps): void {
  const supported = new Map<string, string[]>();
  for (const route of table) {
    const url = route.prefixed ? `/v1${route.path}` : route.path;
    supported.set(url, [...(supported.get(url) ?? []), route.method]);
    const judge = judgeOf(route, deps);
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      url,
      ...(judge && { onRequest: toItsEnd(judge) }),
      handler: toItsEnd((req, reply) => route.handle(req, reply, withOwnerShare(req, reply, deps))),
      // Fastify's own HEAD route would announce an empty body, whatever the handler's headers say.
      exposeHeadRoute: false,
      bodyLimit: Number.MAX_SAFE_INTEGER,
    });
  }
  for (const [url, known] of supported) {
    const allowed = known.includes('GET') ? [...known, 'HEAD'] : known;
    const allow = allowed.join(', ');
    const pattern = url.replace(/:\w+/g, '*');
    const refuse = async ({ method, url: asked }: FastifyRequest) => {
      const message = notOfferedAt(method, asked.split('?')[0]!);
      // The address may be that of another service's call, which only looks like this parameter.
      if (message !== null && notOfferedAt(method, pattern) === null)
        throw new ApiError('not_found', { message });
      const why = notOfferedAt(method, pattern);
      throw new ApiError('method_not_allowed', {
        message: `This address supports only ${allow}.${why === null ? '' : ` ${method} ${why}`}`,
        headers: { allow },
      });
    };
    app.route({
      method: methods.filter((method) => !allowed.includes(method)),
      url,
      onRequest: refuse,
      handler: refuse,
    });
  }
}

/** A model's id has slashes; a parameter that is not the end of its path may have none. */
function withOneSegment(url: string): string {
  return url.replace(
    /^(\/(?:v1|api)\/operator\/models\/)([^?]+)(?=\/(?:override|history)(?:\?|$))/,
    (_, front: string, id: string) => front + id.replaceAll('/', '%2F'),
  );
}

/** Checks the key of a call before anything of the body, even before the Content-Type. */
function judgeOf(route: Row, deps: HttpDeps): Handler | null {
  if (route.who === 'operator')
    return async (req, reply) => {
      reply.headers(noStore);
      const own = withOwnerShare(req, reply, deps);
      const operator = await authenticateOperator(req, reply, route.scope, own);
      // The call takes its slot from the share of its operator key.
      req.belongsTo(operator.by.operator_key_id);
      await demandNotOperators(req, operator, route, own);
      Object.assign(req, { operator });
    };
  if (route.who === 'key')
    return async (req, reply) => {
      reply.headers(noStore);
      const judged = authenticate(req, reply, withOwnerShare(req, reply, deps), route.scope);
      route.prefetch?.(req, deps);
      const { caller, grant } = await judged;
      req.belongsTo(caller.account_id);
      Object.assign(req, { caller, grant });
    };
  return null;
}

/**
 * Answers a call that Node's parser refuses. It never becomes a request, but its answer has the
 * usual shape.
 */
function answerBroken(
  error: Error & { code?: string },
  socket: Socket & { parser?: { incoming?: IncomingMessage } },
  log: FastifyBaseLogger,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable)
    return void socket.destroy();
  const [status, text] = brokenStatus[error.code ?? ''] ?? [400, 'The call is not valid HTTP.'];
  refuseRaw(socket, status, text, log);
}

function refuseRaw(socket: Socket, status: number, text: string, log: FastifyBaseLogger): void {
  const id = ownNumber();
  log.info({ call_id: id, route: 'none', status }, 'call');
  const body = JSON.stringify(errorBody(new ApiError('bad_request', { message: text }), id));
  const head = [
    `HTTP/1.1 ${status} ${status === 408 ? 'Request Timeout' : status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries({ ...usualHeaders(id, ''), ...noStore }).map((pair) => pair.join(': ')),
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Node no longer reads this socket; what still comes is dropped, so that the reply gets through.
  socket.resume();
  setTimeout(() => socket.destroy(), rawLingerMs).unref();
}

const rawLingerMs = 2_000;

/** The number of a call that has not made a request. */
function ownNumber(): string {
  return callNumber(newId());
}

const brokenStatus: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request came too slowly and was cut off.'],
};
