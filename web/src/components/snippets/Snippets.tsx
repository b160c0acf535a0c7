import { Box, Code, Tabs } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Copy } from '../Copy.tsx';
import {
  snippet,
  snippetLanguages,
  snippetNames,
  type SnippetCall,
  type SnippetLanguage,
} from './snippets.ts';
import { isOneOf } from '../../../../client/src/unknown.ts';

/** One call in several languages, to copy. */
export function Snippets({ shown }: { shown: SnippetCall }) {
  const { t } = useTranslation('common');
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  return (
    <Box pos="relative">
      <Box pos="absolute" top={4} right={0} style={{ zIndex: 1 }}>
        <Copy text={snippet(language, shown)} what={snippetNames[language]} />
      </Box>
      <Tabs
        value={language}
        onChange={(value) => isOneOf(snippetLanguages, value) && setLanguage(value)}
        keepMounted={false}
      >
        <Tabs.List aria-label={t('code')}>
          {snippetLanguages.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {snippetNames[each]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippetLanguages.map((each) => {
          return (
            <Tabs.Panel key={each} value={each} pt="sm">
              <Code block mah={420} tabIndex={0} role="region" aria-label={snippetNames[each]}>
                {snippet(each, shown)}
              </Code>
            </Tabs.Panel>
          );
        })}
      </Tabs>
    </Box>
  );
}
