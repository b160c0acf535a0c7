/** A text in the languages of the pages, with its plural forms and its values. */

export type Language = 'en' | 'ru';

/** A text in English and in Russian; either may be a list of its plural forms. */
export type TextPair = readonly [
  english: string | readonly [one: string, other: string],
  russian: string | readonly [one: string, few: string, many: string, other?: string],
];

/** Fill `{{name}}` and `{{name, number}}`; `count` also chooses the plural form. */
type Values = Record<string, string | number | null | undefined>;

/**
 * Gives a text by its name, which may name another part: `common:close`. With a count of 0, a text
 * named `…_zero` comes first. Without a text, gives `defaultValue`, or else the name.
 */
export type Translate = (
  name: string,
  values?: Values & { count?: number; defaultValue?: string },
) => string;

/** The plural forms; Russian has one more, for fractions. */
const plurals = {
  en: { place: 0, forms: ['one', 'other'], rules: new Intl.PluralRules('en') },
  ru: { place: 1, forms: ['one', 'few', 'many', 'other'], rules: new Intl.PluralRules('ru') },
} as const;

/** Where a value goes; a number may be written as its language groups digits. */
const valuePlace = /\{\{(\w+)(, number)?\}\}/g;

export function formatText(language: Language, pair: TextPair, values: Values): string {
  const { place, forms, rules } = plurals[language];
  const text = pair[place];
  const form = forms.findIndex((name) => name === rules.select(Number(values.count)));
  const chosen = typeof text === 'string' ? text : (text[form] ?? text.at(-1)!);
  return chosen.replaceAll(valuePlace, (_, name: string, isNumber?: string) => {
    const value = values[name] ?? '';
    return isNumber ? Number(value).toLocaleString(language) : String(value);
  });
}
