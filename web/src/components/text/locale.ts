import { useTranslation } from 'react-i18next';

/** The user's regional variant of the page language. */
export function useLocale(): string {
  const { i18n } = useTranslation();
  const fits = (tag: string) => tag.startsWith(i18n.language) && isTag(tag);
  return navigator.languages.find(fits) ?? i18n.language;
}

/** A browser may report the system's locale, such as `en-US@posix`. */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}
