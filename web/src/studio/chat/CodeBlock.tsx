import { Box, Button, Group } from '@mantine/core';
import { createContext, lazy, Suspense, useContext, useState, type ReactNode } from 'react';
import { Copy } from '../../components/Copy.tsx';
import { Note } from '../../components/styles.ts';
import { languageOf } from './code-languages.ts';
import type { CodeProps } from './ColouredCode.ts';
import classes from './Markdown.module.css';
import { useTranslation } from '../../i18n.ts';

/** In lines. Longer code is folded to its first lines. */
const longest = 30;
const foldedTo = 20;

/** Whether the block is still being written: colours would change with each chunk. */
export const BeingWritten = createContext(false);

const plain = { default: ({ code }: CodeProps): ReactNode => code };
const ColouredCode = lazy(() => import('./ColouredCode.ts').catch(() => plain));

export function CodeBlock({ line, code }: { line: string; code: string }) {
  const { t } = useTranslation('chat');
  const [isOpen, setOpen] = useState(false);
  const lines = code.split('\n');
  const isLong = lines.length > longest;
  const shown = isLong && !isOpen ? lines.slice(0, foldedTo).join('\n') : code;
  const language = languageOf(line, shown);
  const isColoured = !useContext(BeingWritten) && language !== null;
  return (
    <Box className={classes.code}>
      <Group justify="space-between" className={classes.codeHead}>
        <Note ff="monospace">{line || t('code')}</Note>
        <Copy text={code} what={line || t('code')} />
      </Group>
      <pre tabIndex={0} role="group" aria-label={line || t('code')}>
        <code>
          <Suspense fallback={shown}>
            {isColoured ? <ColouredCode language={language} code={shown} /> : shown}
          </Suspense>
        </code>
      </pre>
      {isLong && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          fullWidth
          radius={0}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? t('fewer_lines') : t('all_lines', { count: lines.length })}
        </Button>
      )}
    </Box>
  );
}
