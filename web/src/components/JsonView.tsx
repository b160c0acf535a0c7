import { Anchor, Box } from '@mantine/core';
import { useState } from 'react';
import { isLong } from '../exact-json.ts';
import { Copy } from './Copy.tsx';
import classes from './JsonView.module.css';
import { useTranslation } from '../i18n.ts';

/** Longer texts, such as a file in a data URL, are folded. */
const textMax = 300;
const depthOpen = 3;

/** JSON with copying and folding. */
export function JsonView({ value, what }: { value: unknown; what: string }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <Box pos="relative">
      <Box pos="absolute" top={6} right={6} style={{ zIndex: 1 }}>
        <Copy text={text} what={what} />
      </Box>
      <Box className={classes.box} tabIndex={0} role="region" aria-label={what}>
        <Value value={value} depth={0} />
      </Box>
    </Box>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value === 'string') return <Words text={value} />;
  if (isLong(value)) return <span className={classes.plain}>{value.rawJSON}</span>;
  if (typeof value !== 'object' || value === null)
    return <span className={classes.plain}>{String(value)}</span>;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? '[]' : '{}';
  if (entries.length === 0) return <span>{`${open}${close}`}</span>;
  return <Members isList={isList} open={open!} close={close!} entries={entries} depth={depth} />;
}

function Members(props: {
  isList: boolean;
  open: string;
  close: string;
  entries: [string, unknown][];
  depth: number;
}) {
  const { isList, open, close, entries, depth } = props;
  const [folded, setFolded] = useState(depth >= depthOpen);
  return (
    <>
      <button
        type="button"
        className={classes.fold}
        onClick={() => setFolded(!folded)}
        aria-expanded={!folded}
      >
        {folded ? `${open} … ${entries.length} ${close}` : open}
      </button>
      {!folded && (
        <>
          <div className={classes.members}>
            {entries.map(([name, item], i) => (
              <div key={name}>
                {!isList && <span className={classes.name}>{JSON.stringify(name)}: </span>}
                <Value value={item} depth={depth + 1} />
                {i < entries.length - 1 && ','}
              </div>
            ))}
          </div>
          {close}
        </>
      )}
    </>
  );
}

function Words({ text }: { text: string }) {
  const { t } = useTranslation('common');
  const [whole, setComplete] = useState(false);
  const isLong = text.length > textMax;
  return (
    <>
      <span className={classes.text}>
        {JSON.stringify(isLong && !whole ? `${text.slice(0, textMax)}…` : text)}
      </span>
      {isLong && (
        <Anchor
          component="button"
          type="button"
          size="xs"
          ml={6}
          onClick={() => setComplete(!whole)}
        >
          {whole ? t('less') : t('whole', { count: text.length })}
        </Anchor>
      )}
    </>
  );
}
