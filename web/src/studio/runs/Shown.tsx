import { Stack, Text, UnstyledButton } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import { useState } from 'react';
import { Playable } from '../../components/Media.tsx';
import { isShrunk } from '../../components/shrunk.ts';
import { useAccountPath } from '../../session.tsx';
import classes from './Runs.module.css';
import { shownAs, type Medium } from './runs.ts';

/** An output by its kind. An image is shown in full, or with `onView` as a thumbnail to click. */
export function Shown({ medium, onView }: { medium: Medium; onView?: () => void }) {
  const { t } = useTranslation('studio');
  const { url, file_name, content_type } = medium;
  if (onView && shownAs(medium) === 'image') {
    return (
      <UnstyledButton
        className={classes.open}
        onClick={onView}
        aria-label={t('open_file', { name: file_name })}
      >
        <Small medium={medium} alt={file_name} className={classes.medium} />
      </UnstyledButton>
    );
  }
  const player = (
    <Playable url={url} content_type={content_type} alt={file_name} className={classes.medium} loop>
      <Stack className={classes.center} gap={4}>
        <IconFile size={32} stroke={1.4} />
        <Text size="sm">{file_name}</Text>
      </Stack>
    </Playable>
  );
  return shownAs(medium) === 'audio' ? <Stack className={classes.center}>{player}</Stack> : player;
}
import { useTranslation } from '../../i18n.ts';

/** A thumbnail; the full image if the service makes none. */
export function Small(props: { medium: Medium; alt: string; className: string | undefined }) {
  const { medium, ...shown } = props;
  const path = useAccountPath();
  const [isBroken, setBroken] = useState(false);
  const [, id, index] = /\/requests\/([^/]+)\/output\/(\d+)\?/.exec(medium.url) ?? [];
  const small = `/requests/${id}/thumbnail?index=${index}&size=card`;
  const isSmall = id !== undefined && isShrunk(medium) && !isBroken;
  return (
    <img
      src={isSmall ? path(small) : medium.url}
      {...shown}
      loading="lazy"
      decoding="async"
      onError={() => setBroken(true)}
    />
  );
}

/** Fields that a model returned besides, or instead of, files. */
export function Words({ fields }: { fields: Record<string, unknown> }) {
  const { t } = useTranslation('studio');
  const { text, ...rest } = fields;
  const shown = typeof text === 'string' ? text : JSON.stringify(rest, null, 2);
  return (
    <pre
      className={classes.text}
      role="group"
      tabIndex={0}
      aria-label={t('said')}
      style={{ fontFamily: typeof text === 'string' ? 'inherit' : undefined }}
    >
      {shown}
    </pre>
  );
}
