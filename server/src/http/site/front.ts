import type { FastifyReply, FastifyRequest } from 'fastify';
import { page } from '../session/pages.ts';
import type { WebDeps } from '../session/visit.ts';
import { cardsOf } from './cards.ts';
import { escape, hasSession, link, sendPage } from './frame.ts';
import { kindLinks } from './models.ts';

/** As many cards as a first look takes; the others are one link away. */
const cardsMax = 12;

/** GET /: the front door for strangers; the app for browsers that have signed in. */
export async function front(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const { web } = deps;
  if (hasSession(req, deps)) return page(req, reply.header('vary', 'cookie'), deps);
  const models = [...deps.catalog().models.values()];
  const { name, line } = web.site;
  const isOpen = web.signUp === 'open';
  return sendPage(req, reply, deps, {
    title: name,
    description: line,
    path: '/',
    body: `<div class="hero"><h1>${escape(line)}</h1>
<p>The price is fixed before a job starts. A job that fails costs nothing.</p>
<form action="/models" role="search">
<input type="search" name="q" aria-label="Search the models" maxlength="100"
placeholder="What do you want to make?">
<button>Search</button>
${isOpen ? '<a class="button" href="/sign-up">Create account</a>' : ''}</form></div>
${kindLinks(models, null)}
${cardsOf(models.slice(0, cardsMax))}
${models.length > cardsMax ? `<p>${link('/models', `All ${models.length} models`)}</p>` : ''}`,
  });
}
