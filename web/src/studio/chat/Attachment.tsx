import { Text } from '@mantine/core';
import { IconFile, IconMusic } from '@tabler/icons-react';
import { Note } from '../../components/styles.ts';
import classes from './Chat.module.css';
import { modalityOf, type ChatFile } from './conversations.ts';
import { useSource } from '../form/MediaField.tsx';
import { useTranslation } from '../../i18n.ts';

/** A file of a message: an image small, anything else by its name. */
export function Attachment({ file }: { file: ChatFile }) {
  const { t } = useTranslation('chat');
  const { name, gone } = file;
  const source = useSource(file.file_id);
  const modality = modalityOf(file.type);
  if (modality === 'image' && !gone)
    return <img src={source ?? undefined} alt={name} className={classes.thumb} />;
  const Icon = modality === 'audio' ? IconMusic : IconFile;
  return (
    <span className={classes.file}>
      <Icon size={18} stroke={1.6} />
      <Text component="span" size="sm" truncate title={name}>
        {gone || source === null ? (
          name
        ) : (
          <a href={source} target="_blank" rel="noreferrer">
            {name}
          </a>
        )}
      </Text>
      {gone && <Note component="span">{t('file_gone')}</Note>}
    </span>
  );
}
