import { useTranslation } from 'react-i18next';

/** The reader's own variant of the language that the pages speak. */
export function useLocale(): string {
  const { i18n } = useTranslation();
  return navigator.languages.find((each) => each.startsWith(i18n.language)) ?? i18n.language;
}
