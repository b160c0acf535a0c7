import type { FastifyRequest } from 'fastify';

/** Public pages in English and Russian. The address tells the language. */

export type Words = readonly [en: string, ru: string];

export interface Speech {
  language: 'en' | 'ru';
  say(words: Words): string;
  /** The address of a page in this language; `path` is that of the English page. */
  at(path: string): string;
}

export const english: Speech = { language: 'en', say: ([en]) => en, at: (path) => path };

export const russian: Speech = {
  language: 'ru',
  say: ([, ru]) => ru,
  at: (path) => (path === '/' ? '/ru' : `/ru${path}`),
};

export function speechOf({ url }: Pick<FastifyRequest, 'url'>): Speech {
  return /^\/ru(?:[/?]|$)/.test(url) ? russian : english;
}
