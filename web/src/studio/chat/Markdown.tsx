import { Anchor, Code, Table, Text } from '@mantine/core';
import type { Token, Tokens } from 'marked';
import { Fragment, lazy, memo, Suspense, useMemo, type ReactNode } from 'react';
import { BeingWritten, CodeBlock } from './CodeBlock.tsx';
import type { FormulaProps } from './Formula.ts';
import type { FormulaToken } from './formula-marks.ts';
import classes from './Markdown.module.css';
import { known, readMarkdown, safeAddress, type ReadToken } from './read-markdown.ts';
import { useTranslation } from '../../i18n.ts';

const asWritten = { default: ({ raw }: FormulaProps): ReactNode => raw };
const Formula = lazy(() => import('./Formula.ts').catch(() => asWritten));

/** A model's text as React nodes. HTML in it stays text. */
export default function Markdown({ text, isWriting }: { text: string; isWriting: boolean }) {
  const tokens = useMemo(() => readMarkdown(text, isWriting), [text, isWriting]);
  return (
    <div className={classes.text}>
      {tokens.map((token, i) => (
        <BeingWritten key={i} value={isWriting && i === tokens.length - 1}>
          <Block token={token} />
        </BeingWritten>
      ))}
    </div>
  );
}

/** Renders again only if its own text has changed, not at each chunk of a reply. */
const Block = memo(
  function Block({ token }: { token: ReadToken }) {
    return drawn(token);
  },
  (before, now) => before.token.type === now.token.type && before.token.raw === now.token.raw,
);

function all(tokens: Token[] | undefined): ReactNode {
  return known(tokens ?? []).map((token, i) => <Fragment key={i}>{drawn(token)}</Fragment>);
}

function drawn(token: ReadToken): ReactNode {
  switch (token.type) {
    case 'paragraph':
      return <p>{all(token.tokens)}</p>;
    case 'heading':
      return (
        <Text fw={600} fz={token.depth < 3 ? 'lg' : 'md'} mt="sm" component="p">
          {all(token.tokens)}
        </Text>
      );
    case 'list':
      return <List list={token} />;
    case 'checkbox':
      return <Task checked={token.checked} />;
    case 'blockquote':
      return <blockquote>{all(token.tokens)}</blockquote>;
    case 'code':
      return <CodeBlock line={token.lang ?? ''} code={token.text} />;
    case 'formula':
      return <Maths token={token} />;
    case 'table':
      return <Grid table={token} />;
    case 'hr':
      return <hr />;
    case 'strong':
      return <strong>{all(token.tokens)}</strong>;
    case 'em':
      return <em>{all(token.tokens)}</em>;
    case 'del':
      return <del>{all(token.tokens)}</del>;
    case 'codespan':
      return <Code>{token.text}</Code>;
    case 'br':
      return <br />;
    case 'link':
    case 'image':
      return <Address token={token} />;
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? (
        <br />
      ) : token.block ? (
        <p>{token.raw}</p>
      ) : (
        token.raw
      );
    case 'text':
      return token.tokens ? all(token.tokens) : decoded(token.text);
    case 'escape':
      return token.text;
    default:
      return null;
  }
}

/** Decodes entities, which the tokens keep as written. */
function decoded(text: string): string {
  return text.replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/gi, (entity) => {
    const { body } = new DOMParser().parseFromString(entity, 'text/html');
    return body.textContent || entity;
  });
}

/** Images become links: nothing is fetched from a URL that a model wrote. */
function Address({ token }: { token: Tokens.Link | Tokens.Image }) {
  const { href, text, tokens, raw } = token;
  const label = tokens.length > 0 ? all(tokens) : text || href;
  const address = safeAddress(decoded(href));
  if (address === null) return href.startsWith('streamdown:') ? label : raw;
  return (
    <Anchor href={address} target="_blank" rel="noopener noreferrer nofollow">
      {label}
    </Anchor>
  );
}

/** As it was written until the reader of formulas has come. */
function Maths({ token: { raw, text, isDisplay } }: { token: FormulaToken }) {
  const formula = (
    <Suspense fallback={raw}>
      <Formula tex={text} isDisplay={isDisplay} raw={raw} />
    </Suspense>
  );
  if (!isDisplay) return formula;
  return (
    <span className={classes.formula} tabIndex={0} role="group" aria-label={text}>
      {formula}
    </span>
  );
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, i) => (
    <li key={i} className={item.task ? classes.task : undefined}>
      {all(item.tokens)}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start)}>{items}</ol> : <ul>{items}</ul>;
}

function Task({ checked }: { checked: boolean }) {
  const { t } = useTranslation('chat');
  return <input type="checkbox" checked={checked} disabled aria-label={t(`task_${checked}`)} />;
}

function Grid({ table }: { table: Tokens.Table }) {
  const { header, rows } = table;
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table withTableBorder fz="sm">
        <Table.Thead>
          <Table.Tr>
            {header.map(({ tokens, align }, i) => (
              <Table.Th key={i} ta={align ?? undefined}>
                {all(tokens)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, i) => (
            <Table.Tr key={i}>
              {row.map(({ tokens, align }, j) => (
                <Table.Td key={j} ta={align ?? undefined}>
                  {all(tokens)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
