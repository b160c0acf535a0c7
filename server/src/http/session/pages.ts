import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import type { WebDeps } from './session-request.ts';

/** The built pages: one document for all their addresses, and its assets. */

/** The folder into which `npm start` and the image build the pages. */
export const pagesDir = join(import.meta.dirname, '../../../../web/dist');

/** Addresses that belong to the pages; only the document itself knows which of them exist. */
export const paths = [
  '/sign-in',
  '/sign-up',
  '/two-factor',
  '/forgot',
  '/reset',
  '/confirm',
  '/email',
  '/invitation',
  ...['/dashboard', '/studio', '/operator'].flatMap((path) => [path, `${path}/*`]),
];

/** Former addresses of the dashboard, which bookmarks and old letters still contain. */
export const formerPaths = ['/cabinet', '/cabinet/*'];

export async function redirectFormer(
  { url }: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  // The first segment may be percent-encoded, and the target may be a whole URL.
  return reply.redirect(url.replace(/^(https?:\/\/[^/]*)?\/[^/?#]*/i, '/dashboard'), 308);
}

const nonceMark = '__NONCE__';

/** Sends the document with a nonce of its own. */
export async function page(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const home = homeOf(req, deps.web.origin());
  if (home !== null) return reply.header('cache-control', 'no-store').redirect(home, 302);
  const nonce = randomBytes(16).toString('base64');
  const html = (await readDocument()).replaceAll(nonceMark, nonce);
  return reply
    .type('text/html; charset=utf-8')
    .headers({
      'cache-control': 'no-store',
      'content-security-policy': policy(nonce, deps),
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), microphone=(), geolocation=()',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      ...(deps.web.origin().startsWith('https:') && {
        'strict-transport-security': 'max-age=31536000',
      }),
    })
    .send(html);
}

/**
 * The same page at our own origin, for a visitor who used another name of this machine: under that
 * name the browser's Origin header would be refused for changes. Null if no redirect is needed.
 */
function homeOf({ headers, url }: FastifyRequest, origin: string): string | null {
  const [here, home] = [URL.parse(`http://${headers.host}`), new URL(origin)];
  const isAlias = here !== null && here.host !== home.host && here.port === home.port;
  const isLocal = isAlias && isLoopback(here) && isLoopback(home) && home.protocol === 'http:';
  return isLocal ? `${origin}${url}` : null;
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.[\d.]+$/.test(hostname);
}

/** Whether a browser asks for a page at an address that belongs to no call. */
export function asksForPage({ method, url, headers }: FastifyRequest): boolean {
  const isLook = method === 'GET' || method === 'HEAD';
  const isPage = url.startsWith('/') && !/^\/(v1|api|fal)([/?]|$)/.test(url);
  return isLook && isPage && headers.accept?.includes('text/html') === true;
}

/** The same document with status 404; it tells the visitor that there is no such page. */
export function noPage(req: FastifyRequest, reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  return page(req, reply.code(404), deps);
}

/** A file of the build. The name of an asset changes with its content. */
export async function asset(req: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const path = req.url.split('?', 1)[0]!.slice(1);
  const hashed = path.startsWith('assets/');
  reply.header('x-content-type-options', 'nosniff');
  return reply.sendFile(path, {
    maxAge: hashed ? '365d' : '1h',
    immutable: hashed,
    dotfiles: 'deny',
  });
}

/** The content security policy. Outputs come from the base address, which may be another host. */
function policy(nonce: string, { links }: WebDeps): string {
  const { origin } = new URL(links.baseUrl);
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data: blob: ${origin}`,
    `media-src 'self' blob: ${origin}`,
    "font-src 'self'",
    `connect-src 'self' ${origin}`,
    "manifest-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** Read at every call, because a new build may replace the document while the service runs. */
async function readDocument(): Promise<string> {
  try {
    return await readFile(join(pagesDir, 'index.html'), 'utf8');
  } catch (cause) {
    throw new ApiError('capacity_unavailable', {
      message: 'The web pages are not built. Run "npm start" or "npm run build".',
      cause,
    });
  }
}
