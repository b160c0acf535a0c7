import { useTranslation } from 'react-i18next';

/** The reader's own variant of the language that the pages speak. */
export function useLocale(): string {
  const { i18n } = useTranslation();
  const fits = (tag: string) => tag.startsWith(i18n.language) && isTag(tag);
  return navigator.languages.find(fits) ?? i18n.language;
}

/** A browser may name the system's locale as its language, such as `en-US@posix`. */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}
