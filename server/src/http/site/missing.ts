import type { FastifyReply, FastifyRequest } from 'fastify';
import { noPage } from '../session/pages.ts';
import type { WebDeps } from '../session/session-request.ts';
import { codeBlock } from './code.ts';
import { hasSession, link, sendMissing } from './frame.ts';
import { russian, speechOf } from './speech.ts';

/** Sends the page of an address that has none. Its language is also that of the browser. */
export function sendMissingPage(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const isRussian = /^ru\b/i.test(req.headers['accept-language'] ?? '');
  const speech = isRussian ? russian : speechOf(req);
  const { say, at } = speech;
  const title = say(['Page not found', 'Такой страницы нет']);
  const find = say(['Find a model', 'Найти модель']);
  return sendMissing(req, reply, deps, {
    title,
    description: title,
    // Its other language is at the same address.
    path: /^(?:\/ru(?=\/))?((?:\/[\w.~-]+)+)(?:\?|$)/.exec(req.url)?.[1] ?? '/',
    speech,
    body: `<div class="missing"><h1>${title}</h1>
<p>${say([
      'Check the address for typos. The page may have been removed.',
      'Возможно, в адресе ошибка или здесь уже ничего нет.',
    ])}</p>
<form action="${at('/models')}" role="search">
<input type="search" name="q" aria-label="${find}" placeholder="${find}" maxlength="100">
<button>${say(['Search', 'Искать'])}</button></form>
<p>${link(at('/'), say(['Front page', 'На главную']))} ·
${link(at('/models'), say(['Models and prices', 'Модели и цены']))} ·
${link('/docs', say(['Docs', 'Документация']))}</p>
<p class="dim">${say([
      'If a link of this site led here, send the operator this number:',
      'Если сюда привела ссылка этого сайта, сообщите оператору номер:',
    ])}</p>
${codeBlock(req.id)}</div>`,
  });
}

/** Answers a browser at an unknown address: people who are signed in get the app. */
export function sendNoRoute(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  return (hasSession(req, deps) ? noPage : sendMissingPage)(req, reply, deps);
}
