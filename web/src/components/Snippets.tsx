import { Box, Code, Tabs } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Copy } from './Copy.tsx';
import { snippet, snippetLanguages, type Shown, type SnippetLanguage } from './snippets.ts';

const names: Record<SnippetLanguage, string> = {
  curl: 'curl',
  javascript: 'JavaScript',
  python: 'Python',
};

/** The same call in some languages, ready to be copied. */
export function Snippets({ shown }: { shown: Shown }) {
  const { t } = useTranslation('common');
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  return (
    <Tabs
      value={language}
      onChange={(value) => setLanguage(value as SnippetLanguage)}
      keepMounted={false}
    >
      <Tabs.List aria-label={t('code')}>
        {snippetLanguages.map((each) => (
          <Tabs.Tab key={each} value={each}>
            {names[each]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippetLanguages.map((each) => {
        const text = snippet(each, shown);
        return (
          <Tabs.Panel key={each} value={each} pt="sm" pos="relative">
            <Box pos="absolute" top={18} right={6}>
              <Copy text={text} what={names[each]} />
            </Box>
            <Code block mah={420} tabIndex={0} role="region" aria-label={names[each]}>
              {text}
            </Code>
          </Tabs.Panel>
        );
      })}
    </Tabs>
  );
}
