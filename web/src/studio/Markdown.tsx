import { Anchor, Box, Code, Group, Table, Text } from '@mantine/core';
import { memo, useDeferredValue, useMemo, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Copy } from '../components/Copy.tsx';
import { parseMarkdown, type Block, type Inline } from './parse-markdown.ts';
import classes from './Markdown.module.css';

/** A text of a model. Only elements that stand here can come of it. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  // While it comes in, pieces that come faster than they are drawn are read together.
  const late = useDeferredValue(text);
  const blocks = useMemo(() => parseMarkdown(late), [late]);
  return <div className={classes.text}>{blocks.map(drawn)}</div>;
});

function drawn(block: Block, key: number): ReactNode {
  switch (block.as) {
    case 'heading':
      return (
        <Text key={key} fw={650} fz={block.level < 3 ? 'lg' : 'md'} mt="sm" component="p">
          {spans(block.text)}
        </Text>
      );
    case 'list': {
      const items = block.items.map((each, i) => <li key={i}>{spans(each)}</li>);
      return block.ordered ? (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(drawn)}</blockquote>;
    case 'code':
      return <CodeBlock key={key} language={block.language} code={block.code} />;
    case 'table':
      return <Grid key={key} head={block.head} rows={block.rows} />;
    case 'rule':
      return <hr key={key} />;
    default:
      return <p key={key}>{spans(block.text)}</p>;
  }
}

function spans(parts: Inline[]): ReactNode {
  return parts.map((part, i) => {
    switch (part.as) {
      case 'strong':
        return <strong key={i}>{spans(part.text)}</strong>;
      case 'emphasis':
        return <em key={i}>{spans(part.text)}</em>;
      case 'code':
        return <Code key={i}>{part.text}</Code>;
      case 'link':
        return (
          <Anchor key={i} href={part.href} target="_blank" rel="noopener noreferrer nofollow">
            {part.text}
          </Anchor>
        );
      default:
        return part.text;
    }
  });
}

function CodeBlock({ language, code }: { language: string; code: string }) {
  const { t } = useTranslation('chat');
  return (
    <Box className={classes.code}>
      <Group justify="space-between" className={classes.codeHead}>
        <Text size="xs" c="dimmed" ff="monospace">
          {language || t('code')}
        </Text>
        <Copy text={code} what={language || t('code')} />
      </Group>
      <pre tabIndex={0} role="group" aria-label={language || t('code')}>
        <code>{code}</code>
      </pre>
    </Box>
  );
}

function Grid({ head, rows }: { head: Inline[][]; rows: Inline[][][] }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table withTableBorder fz="sm">
        <Table.Thead>
          <Table.Tr>
            {head.map((cell, i) => (
              <Table.Th key={i}>{spans(cell)}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, i) => (
            <Table.Tr key={i}>
              {row.map((cell, j) => (
                <Table.Td key={j}>{spans(cell)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
