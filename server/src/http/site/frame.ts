import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Banner } from '../../db/banner.ts';
import { sendCached } from '../api/cached.ts';
import { cookiePrefix } from '../session/auth-library.ts';
import { pagesDir } from '../session/pages.ts';
import type { WebDeps } from '../session/session-request.ts';
import { english, russian, type Speech } from './speech.ts';

/** The frame of the public pages, which need no script. Those with code offer to copy it. */

export interface SitePage {
  title: string;
  description: string;
  /** The address of the English page, without the origin. */
  path: string;
  /** Its language. Absent: the page is in English only. */
  speech?: Speech;
  /** The path of a picture that stands for the page where it is linked. */
  picture?: string;
  /** HTML of the main part, with its own h1. */
  body: string;
  /** HTML beside the main part; absent: the main part has the whole width. */
  side?: string;
}

/** The look that the app has, the typeface of its build, and the rules of these pages. */
const font = join(pagesDir, 'font.css');
const style = [
  join(import.meta.dirname, '../../../../web/src/look/tokens.css'),
  // Without a build the pages have the typeface of the system.
  ...(existsSync(font) ? [font] : []),
  join(import.meta.dirname, 'style.css'),
]
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

/** The files of the typeface that each language needs, to ask for before the text is laid out. */
const fonts = {
  en: preloads(/[\w./-]+inter-latin-wght-normal[\w.-]+/),
  ru: preloads(/[\w./-]+inter-(?:latin|cyrillic)-wght-normal[\w.-]+/g),
};

function preloads(file: RegExp): string {
  const links = [...(style.match(file) ?? [])].map(
    (path) => `<link rel="preload" as="font" type="font/woff2" href="${path}" crossorigin>`,
  );
  return links.join('\n');
}

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
export async function sendPage(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
  page: SitePage,
): Promise<unknown> {
  const isPrivate = hasSession(req, deps);
  reply.header('vary', 'cookie');
  const html = await framed(reply, deps, page, isPrivate);
  return sendText(req, reply, 'html', html, isPrivate);
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
  return sendCached(req, reply, { etag, type: `${types[form]}; charset=utf-8`, body, isPrivate });
}

const types = {
  html: 'text/html',
  markdown: 'text/markdown',
  plain: 'text/plain',
  svg: 'image/svg+xml',
};

/** Sends the answer to an address without a page. */
export async function sendMissing(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
  page: SitePage,
): Promise<unknown> {
  const html = await framed(reply, deps, page, hasSession(req, deps));
  return reply
    .code(404)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(html);
}

async function framed(
  reply: FastifyReply,
  { web, banner }: WebDeps,
  page: SitePage,
  isKnown = false,
): Promise<string> {
  const origin = web.origin();
  const hasCode = page.body.includes('<div class="code">');
  reply.headers({
    'content-security-policy': hasCode ? `${policy}; script-src 'self'` : policy,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    ...(origin.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  });
  const { title, description, body, side, picture, speech = english } = page;
  const { name } = web.site;
  const { say, at } = speech;
  const path = at(page.path);
  const part = page.path.split('/')[1];
  return `<!doctype html>
<html lang="${speech.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escape(description)}">
${fonts[speech.language]}
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<link rel="canonical" href="${escape(origin + path)}">
${page.speech === undefined ? '' : alternates(origin, page.path)}
<meta property="og:title" content="${escape(title)}">
<meta property="og:description" content="${escape(description)}">
<meta property="og:site_name" content="${escape(name)}">
<meta property="og:url" content="${escape(origin + path)}">
${picture === undefined ? '' : `<meta property="og:image" content="${escape(origin + picture)}">`}
<title>${escape(page.path === '/' ? title : `${title} · ${name}`)}</title>
<style>${style}</style>
${hasCode ? '<script type="module" src="/copy.js"></script>' : ''}
</head>
<body>
<a class="skip" href="#main">${say(['Skip to the text', 'К тексту'])}</a>
<header>
<a class="home" href="${at('/')}">
<img src="/favicon.svg" alt="" width="24" height="24">${escape(name)}</a>
<nav aria-label="${escape(name)}">
${link(at('/models'), say(['Models', 'Модели']), part === 'models')}
${link('/studio', say(['Studio', 'Студия']))}
${link('/dashboard', say(['Dashboard', 'Кабинет']))}
${link('/docs', say(['Docs', 'Документация']), part === 'docs')}
</nav>
<div class="enter">${isKnown ? '' : entry(web, say)}</div>
</header>
${above(await banner.read(), speech)}${side === undefined ? `<main id="main" class="wide">${body}</main>` : columns(side, body)}
<footer>${[...web.site.links].map(([text, href]) => link(href, text)).join('\n')}
${page.speech === undefined ? '' : otherLanguage(speech, page.path)}</footer>
</body>
</html>
`;
}

/** The operator's text. It can be closed without a script. */
function above(banner: Banner | null, { language, say }: Speech): string {
  if (banner === null) return '';
  const { en, ru } = banner;
  const text = language === 'ru' ? (ru ?? en) : (en ?? ru);
  return `<aside class="banner" aria-label="${say(['Message', 'Объявление'])}"><p>${escape(text!)}</p>
<label><input type="checkbox" aria-label="${say(['Hide this message', 'Скрыть'])}">×</label></aside>
`;
}

function alternates(origin: string, path: string): string {
  return [english, russian]
    .map(({ language, at }) => {
      const href = escape(origin + at(path));
      return `<link rel="alternate" hreflang="${language}" href="${href}">`;
    })
    .join('\n');
}

/** A link to the same page in the other language, in that language's own word. */
function otherLanguage({ language }: Speech, path: string): string {
  const [other, word] = language === 'en' ? [russian, 'Русский'] : [english, 'English'];
  const code = other.language;
  return `<a href="${escape(other.at(path))}" hreflang="${code}" lang="${code}">${word}</a>`;
}

function entry({ signUp }: WebDeps['web'], say: Speech['say']): string {
  return `${link('/sign-in', say(['Sign in', 'Войти']))}\n${signUp === 'open' ? signUpButton(say) : ''}`;
}

export function signUpButton(say: Speech['say']): string {
  return `<a class="button" href="/sign-up">${say(['Create account', 'Создать аккаунт'])}</a>`;
}

function columns(side: string, body: string): string {
  return `<div class="columns">
<div class="side">${side}</div>
<main id="main">${body}</main>
</div>`;
}
