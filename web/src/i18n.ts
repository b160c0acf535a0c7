import { useSyncExternalStore } from 'react';
import { commonTexts } from './texts/everywhere.ts';
import { keysOf } from './records.ts';
import type { ServiceFault } from './texts/russian.ts';
import { type Language, type TextPair, type Translate, formatText } from './texts/format.ts';

/** The texts of the pages. Each part adds its own, in all languages, when it is loaded. */

export const languages: Record<Language, string> = { en: 'English', ru: 'Русский' };
export const languageCodes = keysOf(languages);
export interface Texts {
  [name: string]: TextPair | Texts;
}

const storageKey = 'farebox-language';
const parts: Record<string, Texts> = { common: commonTexts };
const listeners = new Set<() => void>();
let locale = localeOf(chosenLanguage());

export function addTexts(part: string, texts: Texts): void {
  parts[part] = { ...parts[part], ...texts };
}

export function namesBelow(part: string, name: string): string[] {
  return Object.keys(textAt(part, name) ?? {});
}

/** The language of the pages, and `t`, which gives the texts of a part in it. */
export function useTranslation(part = 'common'): { language: Language; t: Translate } {
  const { language, translatorOf } = useSyncExternalStore(subscribe, () => locale);
  return { language, t: translatorOf(part) };
}

/** Translates outside of components. */
export const translate: Translate = (name, values) => locale.translatorOf('common')(name, values);

/** Each part keeps its function until the language changes, so that components can depend on it. */
function localeOf(language: Language) {
  const translators: Record<string, Translate> = {};
  const translatorOf = (part: string) =>
    (translators[part] ??= (name, values = {}) => {
      const [from, path] = name.includes(':')
        ? (name.split(':') as [string, string])
        : [part, name];
      const text = (values.count === 0 && textAt(from, `${path}_zero`)) || textAt(from, path);
      return isPair(text) ? formatText(language, text, values) : (values.defaultValue ?? name);
    });
  return { language, translatorOf };
}

function textAt(part: string, path: string): TextPair | Texts | undefined {
  let found: TextPair | Texts | undefined = parts[part];
  for (const name of path.split('.')) found = isPair(found) ? undefined : found?.[name];
  return found;
}

function isPair(text: TextPair | Texts | undefined): text is TextPair {
  return Array.isArray(text);
}

function subscribe(onChange: () => void): () => void {
  listeners.add(onChange);
  return () => void listeners.delete(onChange);
}

/** Renders all mounted components again. */
function setLocale(language: Language): void {
  locale = localeOf(language);
  for (const onChange of listeners) onChange();
}

export function setLanguage(language: Language): void {
  localStorage.setItem(storageKey, language);
  document.documentElement.lang = language;
  setLocale(language);
  loadErrorTexts(language);
}

let russian: typeof import('./texts/russian.ts') | undefined;

/** An error in the page language, or in the service's English if there is no translation. */
export function errorText(error: ServiceFault): string {
  return (locale.language === 'ru' && russian?.inRussian(error)) || error.message;
}

/** Loads the Russian texts of errors, only for Russian pages. */
function loadErrorTexts(language: Language): void {
  if (language !== 'ru' || russian) return;
  void import('./texts/russian.ts').then((texts) => {
    russian = texts;
    setLocale(locale.language);
  });
}

export function chosenLanguage(): Language {
  const wanted = localStorage.getItem(storageKey) ?? navigator.language.slice(0, 2);
  return languageCodes.find((code) => code === wanted) ?? 'en';
}

document.documentElement.lang = chosenLanguage();
loadErrorTexts(chosenLanguage());
