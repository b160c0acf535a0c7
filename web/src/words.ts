import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { commonTexts } from './texts/everywhere.ts';
import { keysOf } from './records.ts';
import type { Failed } from './texts/russian.ts';

/** The texts of the pages. Each part adds its own, in all languages, when it is loaded. */

export const languages = { en: 'English', ru: 'Русский' } as const;
export type Language = keyof typeof languages;
export const languageCodes = keysOf(languages);
/** A text in English and in Russian; either may be a list of its plural forms. */
type Said = readonly [
  english: string | readonly [one: string, other: string],
  russian: string | readonly [one: string, few: string, many: string, other?: string],
];
export interface Words {
  [name: string]: Said | Words;
}
interface Texts {
  [name: string]: string | Texts;
}

/** The endings of the names of plural forms; Russian has one more, for fractions. */
const plurals = { en: ['one', 'other'], ru: ['one', 'few', 'many', 'other'] };

const kept = 'farebox-language';

void i18next.use(initReactI18next).init({
  lng: chosenLanguage(),
  fallbackLng: 'en',
  interpolation: { escapeValue: false },
  resources: {},
  initAsync: false,
});

/** Adds the texts of a part under its name. */
export function addWords(part: string, words: Words): void {
  for (const language of languageCodes)
    i18next.addResourceBundle(language, part, textsOf(words, language), true, true);
}

function textsOf(words: Words, language: Language): Texts {
  const place = languageCodes.indexOf(language);
  const texts = Object.entries(words).flatMap(([name, said]): [string, string | Texts][] => {
    if (!isPair(said)) return [[name, textsOf(said, language)]];
    const text = said[place]!;
    if (typeof text === 'string') return [[name, text]];
    return [...text].map((each = '', i) => [`${name}_${plurals[language][i]}`, each]);
  });
  return Object.fromEntries(texts);
}

function isPair(said: Said | Words): said is Said {
  return Array.isArray(said);
}

addWords('common', commonTexts);

export function setLanguage(language: Language): void {
  localStorage.setItem(kept, language);
  document.documentElement.lang = language;
  void i18next.changeLanguage(language);
  learn(language);
}

let russian: typeof import('./texts/russian.ts') | undefined;

/** An error in the page language, or in the service's English if there is no translation. */
export function said(failed: Failed): string {
  return (i18next.language === 'ru' && russian?.inRussian(failed)) || failed.message;
}

/** Loads the Russian texts of errors, only for Russian pages. */
function learn(language: Language): void {
  if (language !== 'ru' || russian) return;
  void import('./texts/russian.ts').then((words) => {
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
