import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebDeps } from '../session/session-request.ts';
import { escape, link, sendPage, sendText } from './frame.ts';
import { entries, manual } from './entries.ts';
import { manualPage, type ManualPage } from './manual.ts';
import { sendMissingPage } from './missing.ts';
import { findHits, type Hit } from './search.ts';
import { startBody } from './start.ts';

/** Most characters of a search. */
const queryMax = 100;
/** A page of at least this many parts begins with links to them. */
const longPageParts = 8;

/** GET /docs: the quick start, or with `q` the sections and models that hold all of its words. */
export async function start(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const { q } = req.query as { q?: unknown };
  const asked = typeof q === 'string' ? q.trim().slice(0, queryMax) : '';
  const { baseUrl } = deps.links;
  const catalog = deps.catalog();
  const body =
    asked === ''
      ? startBody(catalog, baseUrl)
      : resultsBody(asked, await findHits(asked, catalog, baseUrl));
  return sendPage(req, reply, deps, {
    title: asked === '' ? 'Quick start' : 'Search',
    description: 'From a key to a finished image, video or chat reply.',
    path: '/docs',
    side: sideOf('', asked),
    body,
  });
}

/** GET /docs/{page}, and its source at GET /docs/{page}.md */
export async function page(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const path = (req.params as { '*': string })['*'];
  const name = path.replace(/\.md$/, '');
  const shown = await manualPage(name, deps.links.baseUrl);
  // The same address has two forms, which caches must not mix up.
  reply.header('vary', 'accept');
  if (!shown) return sendMissingPage(req, reply, deps);
  if (path.endsWith('.md') || /\btext\/markdown\b/.test(req.headers.accept ?? ''))
    return sendText(req, reply, 'markdown', shown.source);
  return sendPage(req, reply, deps, {
    title: shown.title,
    description: `Farebox: ${shown.title}.`,
    path: `/docs/${name}`,
    side: sideOf(name),
    body: `${withContents(shown)}${neighbours(name)}`,
  });
}

/** Begins a long page with links to its parts. */
function withContents({ html, sections }: ManualPage): string {
  const parts = sections.filter(({ depth }) => depth === 2);
  if (parts.length < longPageParts) return html;
  const items = parts.map(({ anchor, heading }) => link(`#${anchor}`, heading));
  const contents = `<nav class="contents" aria-label="On this page">${listOf(items)}</nav>`;
  return html.replace('</h1>', `</h1>\n${contents}`);
}

/** The list of pages. `current` is the name of the open page; '' is the quick start. */
export function sideOf(current: string | null, asked = ''): string {
  const lists = Object.entries(manual).map(([group, list]) => {
    const items = list.map(({ name, title }) => link(`/docs/${name}`, title, name === current));
    return `<h2>${group}</h2>${listOf(items)}`;
  });
  const machine = [link('/llms.txt', 'llms.txt'), link('/v1/openapi.json', 'openapi.json')];
  return `<form action="/docs" role="search">
<input type="search" name="q" aria-label="Search the docs" placeholder="Search"
value="${escape(asked)}" maxlength="${queryMax}">
<button>Search</button></form>
<nav aria-label="Pages"><h2>Start</h2>
${listOf([
  link('/docs', 'Quick start', current === '' && asked === ''),
  link('/models', 'Models and prices'),
])}
${lists.join('\n')}
<h2>For programs</h2>${listOf(machine)}</nav>`;
}

function listOf(items: string[]): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`;
}

function neighbours(name: string): string {
  const at = entries.findIndex((entry) => entry.name === name);
  const [before, after] = [entries[at - 1], entries[at + 1]];
  const back = before
    ? link(`/docs/${before.name}`, `← ${before.title}`)
    : link('/docs', '← Quick start');
  const on = after ? link(`/docs/${after.name}`, `${after.title} →`) : '';
  const source = link(`/docs/${name}.md`, 'This page as Markdown');
  return `<nav class="turn" aria-label="Next pages">${back}${source}${on}</nav>`;
}

function resultsBody(asked: string, hits: Hit[]): string {
  const head = `<h1>Search: ${escape(asked)}</h1>`;
  if (hits.length === 0) return `${head}<p>No page has all of these words. Try fewer words.</p>`;
  const shown = hits.map(
    ({ href, title, heading, excerpt }) =>
      `<li><p>${link(href, heading)} <span class="dim">${escape(title)}</span><br>${escape(excerpt)}</p></li>`,
  );
  return `${head}<ol>${shown.join('\n')}</ol>`;
}
