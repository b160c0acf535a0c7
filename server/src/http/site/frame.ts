import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { cached } from '../api/cached.ts';
import { cookiePrefix } from '../session/auth-library.ts';
import { pagesDir } from '../session/pages.ts';
import type { WebDeps } from '../session/visit.ts';

/** The frame of the public pages. They need no script, and are the same for every caller. */

export interface SitePage {
  title: string;
  description: string;
  /** The page's address without the origin. */
  path: string;
  /** The path of a picture that stands for the page where it is linked. */
  picture?: string;
  /** HTML of the main part, with its own h1. */
  body: string;
  /** HTML beside the main part; absent: the main part has the whole width. */
  side?: string;
}

/** The look that the app has, the typeface of its build, and the rules of these pages. */
const style = [
  join(import.meta.dirname, '../../../../web/src/look/tokens.css'),
  join(pagesDir, 'font.css'),
  join(import.meta.dirname, 'style.css'),
]
  .filter((path) => existsSync(path))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  "font-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** A link whose text is escaped here. */
export function link(href: string, text: string, isCurrent = false): string {
  const current = isCurrent ? ' aria-current="page"' : '';
  return `<a href="${escape(href)}"${current}>${escape(text)}</a>`;
}

export function codeBlock(code: string): string {
  return `<pre tabindex="0"><code>${escape(code)}</code></pre>`;
}

/** A table; its cells are HTML. */
export function table(head: string[], rows: string[][]): string {
  const line = (name: string, cells: string[]) =>
    `<tr>${cells.map((cell) => `<${name}>${cell}</${name}>`).join('')}</tr>`;
  const body = rows.map((cells) => line('td', cells)).join('\n');
  return (
    `<div class="table" tabindex="0"><table><thead>${line('th', head)}</thead>` +
    `<tbody>${body}</tbody></table></div>`
  );
}

/** Sends a page that clients may keep for a minute; it is the same for all without a session. */
export function sendPage(req: FastifyRequest, reply: FastifyReply, deps: WebDeps, page: SitePage) {
  const isPrivate = hasSession(req, deps);
  reply.header('vary', 'cookie');
  return sendText(req, reply, 'html', framed(reply, deps, page, isPrivate), isPrivate);
}

/** Whether the browser has signed in, perhaps long ago. */
export function hasSession({ headers }: FastifyRequest, { web }: WebDeps): boolean {
  return headers.cookie?.includes(`${cookiePrefix(web.origin())}.session`) ?? false;
}

/** Sends a text that is the same for everyone, unless it is private; its ETag is its hash. */
export function sendText(
  req: FastifyRequest,
  reply: FastifyReply,
  form: keyof typeof types,
  body: string,
  isPrivate = false,
): unknown {
  const etag = `"${hash('sha256', body, 'hex').slice(0, 24)}"`;
  return cached(req, reply, { etag, type: `${types[form]}; charset=utf-8`, body, isPrivate });
}

const types = {
  html: 'text/html',
  markdown: 'text/markdown',
  plain: 'text/plain',
  svg: 'image/svg+xml',
};

/** Sends the answer to an address without a page. */
export function sendMissing(reply: FastifyReply, deps: WebDeps, page: SitePage): unknown {
  return reply
    .code(404)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(framed(reply, deps, page));
}

function framed(reply: FastifyReply, { web }: WebDeps, page: SitePage, isKnown = false): string {
  const origin = web.origin();
  reply.headers({
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    ...(origin.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  });
  const { title, description, path, body, side, picture } = page;
  const { name } = web.site;
  const part = path.split('/')[1];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escape(description)}">
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<link rel="canonical" href="${escape(origin + path)}">
<meta property="og:title" content="${escape(title)}">
<meta property="og:description" content="${escape(description)}">
<meta property="og:site_name" content="${escape(name)}">
<meta property="og:url" content="${escape(origin + path)}">
${picture === undefined ? '' : `<meta property="og:image" content="${escape(origin + picture)}">`}
<title>${escape(path === '/' ? title : `${title} · ${name}`)}</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="home" href="/"><img src="/favicon.svg" alt="" width="24" height="24">${escape(name)}</a>
<nav aria-label="${escape(name)}">
${link('/models', 'Models', part === 'models')}
${link('/studio', 'Studio')}
${link('/dashboard', 'Dashboard')}
${link('/docs', 'Docs', part === 'docs')}
</nav>
<div class="enter">${isKnown ? '' : entry(web)}</div>
</header>
${side === undefined ? `<main id="main" class="wide">${body}</main>` : columns(side, body)}
<footer>${[...web.site.links].map(([text, href]) => link(href, text)).join('\n')}</footer>
</body>
</html>
`;
}

function entry({ signUp }: WebDeps['web']): string {
  const create = signUp === 'open' ? '<a class="button" href="/sign-up">Create account</a>' : '';
  return `${link('/sign-in', 'Sign in')}\n${create}`;
}

function columns(side: string, body: string): string {
  return `<div class="columns">
<div class="side">${side}</div>
<main id="main">${body}</main>
</div>`;
}
