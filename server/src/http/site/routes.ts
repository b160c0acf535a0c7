import type { FastifyReply, FastifyRequest } from 'fastify';
import { guide } from '../api/guide.ts';
import type { CallHandler } from '../endpoint.ts';
import { row, visitor, type Row } from '../row.ts';
import type { WebDeps } from '../session/session-request.ts';
import * as docs from './docs.ts';
import { sendText } from './frame.ts';
import { front } from './front.ts';
import { entries } from './entries.ts';
import * as models from './models.ts';
import { russian } from './speech.ts';

type Handler = CallHandler<FastifyRequest, WebDeps>;

/** Pages for people and programs, without signing in. They are the same for every caller. */
export const siteRoutes: Row[] = [
  row(visitor, 'GET', '/', open(front)),
  row(visitor, 'GET', '/ru', open(front)),
  row(visitor, 'GET', '/llms.txt', open(guide.handle)),
  row(visitor, 'GET', '/docs', open(docs.start)),
  row(visitor, 'GET', '/docs/*', open(docs.page)),
  row(visitor, 'GET', '/models', withoutKey(open(models.list))),
  row(visitor, 'GET', '/models/*', withoutKey(open(models.read))),
  row(visitor, 'GET', '/ru/models', open(models.list)),
  row(visitor, 'GET', '/ru/models/*', open(models.read)),
  row(visitor, 'GET', '/robots.txt', open(robots)),
  row(visitor, 'GET', '/sitemap.txt', open(sitemap)),
];

/** Lets pages of any origin read the reply. */
function open(handler: Handler): Handler {
  return (req, reply, deps) =>
    handler(
      req,
      reply.headers({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'etag',
        'x-content-type-options': 'nosniff',
      }),
      deps,
    );
}

/** A client whose base address lacks /v1 comes here with its key: it gets 404 instead of a page. */
function withoutKey(handler: Handler): Handler {
  return async (req, reply, deps) => {
    const { authorization, 'x-api-key': key } = req.headers;
    return authorization || key ? reply.callNotFound() : handler(req, reply, deps);
  };
}

async function robots(req: FastifyRequest, reply: FastifyReply, { web }: WebDeps) {
  const paths = web.site.robots ? ['/api/', '/dashboard', '/operator'] : ['/'];
  const closed = paths.map((path) => `Disallow: ${path}`);
  const lines = ['User-agent: *', ...closed, `Sitemap: ${web.origin()}/sitemap.txt`];
  return sendText(req, reply, 'plain', `${lines.join('\n')}\n`);
}

/** GET /sitemap.txt: one address a line. */
async function sitemap(req: FastifyRequest, reply: FastifyReply, { web, catalog }: WebDeps) {
  const pages = entries.map(({ name }) => `/docs/${name}`);
  const ids = [...catalog().models.keys()].map((id) => `/models/${id}`);
  const inBoth = ['/', '/models', ...ids];
  const paths = [...inBoth, ...inBoth.map(russian.at), '/docs', ...pages];
  return sendText(req, reply, 'plain', `${paths.map((path) => web.origin() + path).join('\n')}\n`);
}
