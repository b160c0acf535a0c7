import type { FastifyReply, FastifyRequest } from 'fastify';
import { page } from '../session/pages.ts';
import type { WebDeps } from '../session/session-request.ts';
import { cardsOf, promise } from './cards.ts';
import { escape, hasSession, link, sendPage, signUpButton } from './frame.ts';
import { kindLinks, searchForm } from './models.ts';
import { speechOf, type Words } from './speech.ts';

const ownLine: Words = [
  'Every picture, film and text model. One key, one balance, the price before you press.',
  'Все модели картинок, видео и текста. Один ключ, один баланс, цена до нажатия.',
];

/** As many cards as a first look takes; the others are one link away. */
const cardsMax = 12;

/** GET / and /ru: the front door for strangers; at / the app for browsers that have signed in. */
export async function front(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const { web } = deps;
  const speech = speechOf(req);
  const { say, at, language } = speech;
  if (language === 'en' && hasSession(req, deps))
    return page(req, reply.header('vary', 'cookie'), deps);
  const models = [...deps.catalog().models.values()];
  const { name } = web.site;
  const line = web.site.line ?? say(ownLine);
  const isOpen = web.signUp === 'open';
  const all = [`All ${models.length} models`, `Все модели (${models.length})`] as const;
  return sendPage(req, reply, deps, {
    title: name,
    description: line,
    path: '/',
    speech,
    body: `<div class="hero"><h1>${escape(line)}</h1>
<p>${say(promise)}</p>
${searchForm(speech, '', isOpen ? signUpButton(say) : '')}</div>
${kindLinks(speech, models, null)}
${cardsOf(models.slice(0, cardsMax), speech, await deps.runTimes())}
${models.length > cardsMax ? `<p>${link(at('/models'), say(all))}</p>` : ''}`,
  });
}
