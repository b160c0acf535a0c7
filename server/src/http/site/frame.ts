import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { cached } from '../api/cached.ts';
import type { WebDeps } from '../session/visit.ts';

/** The frame of the public pages. They need no script, and are the same for every caller. */

export interface SitePage {
  title: string;
  description: string;
  /** The page's address without the origin. */
  path: string;
  /** HTML of the main part, with its own h1. */
  body: string;
  /** HTML beside the main part. */
  side: string;
}

const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
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

/** Sends a page that clients may keep for a minute. */
export function sendPage(req: FastifyRequest, reply: FastifyReply, deps: WebDeps, page: SitePage) {
  return sendText(req, reply, 'html', framed(reply, deps, page));
}

/** Sends a text that is the same for everyone; its ETag is its hash. */
export function sendText(
  req: FastifyRequest,
  reply: FastifyReply,
  form: 'html' | 'markdown' | 'plain',
  body: string,
): unknown {
  const etag = `"${hash('sha256', body, 'hex').slice(0, 24)}"`;
  return cached(req, reply, { etag, type: `text/${form}; charset=utf-8`, body });
}

/** Sends the answer to an address without a page. */
export function sendMissing(reply: FastifyReply, deps: WebDeps, page: SitePage): unknown {
  return reply
    .code(404)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(framed(reply, deps, page));
}

function framed(reply: FastifyReply, { web }: WebDeps, page: SitePage): string {
  const origin = web.origin();
  reply.headers({
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    ...(origin.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  });
  const { title, description, path, body, side } = page;
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
<title>${escape(title)} · Farebox</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="home" href="/"><img src="/favicon.svg" alt="" width="24" height="24">Farebox</a>
${link('/docs', 'Docs', part === 'docs')}
${link('/models', 'Models', part === 'models')}
${link('/dashboard', 'Dashboard')}
</header>
<div class="columns">
<div class="side">${side}</div>
<main id="main">${body}</main>
</div>
</body>
</html>
`;
}
