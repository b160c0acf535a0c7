import { Stack, Text, UnstyledButton } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import classes from './Runs.module.css';
import { shownAs, type Medium } from './runs.ts';

/** An output as what it is. Pictures open in full where `onView` is given. */
export function Shown({ medium, onView }: { medium: Medium; onView?: () => void }) {
  const { t } = useTranslation('studio');
  const kind = shownAs(medium);
  const { url, file_name } = medium;
  if (kind === 'image') {
    const still = <img src={url} alt={file_name} className={classes.medium} loading="lazy" />;
    if (!onView) return still;
    return (
      <UnstyledButton
        className={classes.open}
        onClick={onView}
        aria-label={t('open_file', { name: file_name })}
      >
        {still}
      </UnstyledButton>
    );
  }
  if (kind === 'video') {
    return (
      <video
        src={url}
        controls
        loop
        playsInline
        preload="metadata"
        className={classes.medium}
        aria-label={file_name}
      />
    );
  }
  if (kind === 'audio') {
    return (
      <Stack className={classes.center}>
        <audio src={url} controls style={{ width: '100%' }} aria-label={file_name} />
      </Stack>
    );
  }
  return (
    <Stack className={classes.center} gap={4}>
      <IconFile size={32} stroke={1.4} />
      <Text size="sm">{file_name}</Text>
    </Stack>
  );
}

/** What a model said beside, or in place of, files. */
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
