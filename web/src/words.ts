import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { everywhere } from './words/everywhere.ts';
import { keysOf } from './records.ts';
import type { Failed } from './words/russian.ts';

/** The texts of the pages. Each part adds its own, in all languages, when it is loaded. */

export const languages = { en: 'English', ru: 'Русский' } as const;
export type Language = keyof typeof languages;
export const languageCodes = keysOf(languages);
type Texts = { [name: string]: string | Texts };
/** The same texts in Russian, which has three plural forms, and one for fractions. */
type Russian<T> = {
  [
    K in keyof T as K extends `${infer Name}_${'one' | 'other'}`
      ? `${Name}_${'one' | 'few' | 'many'}`
      : K
  ]: T[K] extends string ? string : Russian<T[K]>;
} & { [K in keyof T as K extends `${string}_other` ? K : never]?: string };

const kept = 'farebox-language';

void i18next.use(initReactI18next).init({
  lng: chosenLanguage(),
  fallbackLng: 'en',
  interpolation: { escapeValue: false },
  resources: {},
  initAsync: false,
});

/** Adds the texts of a part under its name. A missing text would be shown in English. */
export function addWords<T extends Texts>(part: string, texts: { en: T; ru: Russian<T> }): void {
  for (const [language, words] of Object.entries(texts)) {
    i18next.addResourceBundle(language, part, words, true, true);
  }
}

addWords('common', everywhere);

export function setLanguage(language: Language): void {
  localStorage.setItem(kept, language);
  document.documentElement.lang = language;
  void i18next.changeLanguage(language);
  learn(language);
}

let russian: typeof import('./words/russian.ts') | undefined;

/** An error in the page language, or in the service's English if there is no translation. */
export function said(failed: Failed): string {
  return (i18next.language === 'ru' && russian?.inRussian(failed)) || failed.message;
}

/** Loads the Russian texts of errors, only for Russian pages. */
function learn(language: Language): void {
  if (language !== 'ru' || russian) return;
  void import('./words/russian.ts').then((words) => {
    russian = words;
    // Renders again what is already on the page.
    return i18next.changeLanguage(i18next.language);
  });
}

export function chosenLanguage(): Language {
  const wanted = localStorage.getItem(kept) ?? navigator.language.slice(0, 2);
  return languageCodes.find((code) => code === wanted) ?? 'en';
}

document.documentElement.lang = chosenLanguage();
learn(chosenLanguage());
