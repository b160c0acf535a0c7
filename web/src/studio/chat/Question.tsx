import { Button, Group, Stack, Textarea } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import { useState } from 'react';
import { PlainButton, QuietIcon } from '../../components/styles.ts';
import classes from './Chat.module.css';
import { Attachment } from './Attachment.tsx';
import { byEnter } from './Composer.tsx';
import type { ConversationDraft, Message } from './conversations.ts';
import { Cost, useCost, useReason } from './Cost.tsx';
import type { Model } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';

/** A message of the user. `edit` is null while a reply is written. */
export function Question(props: { message: Message; edit: Edit | null }) {
  const { message, edit } = props;
  const { t } = useTranslation('chat');
  const [isEdited, setEdited] = useState(false);
  return (
    <Stack gap={6} component="article" aria-label={t('you')}>
      {message.files && (
        <div className={classes.thumbs}>
          {message.files.map((file) => (
            <Attachment key={file.file_id} file={file} />
          ))}
        </div>
      )}
      {isEdited && edit ? (
        <Rewrite message={message} edit={edit} onClose={() => setEdited(false)} />
      ) : (
        <Group gap={4} justify="flex-end" align="flex-end" wrap="nowrap" className={classes.asked}>
          {edit && (
            <QuietIcon aria-label={t('rewrite')} onClick={() => setEdited(true)}>
              <IconPencil size={16} />
            </QuietIcon>
          )}
          {message.content !== '' && <div className={classes.said}>{message.content}</div>}
        </Group>
      )}
    </Stack>
  );
}

export interface Edit {
  /** The conversation before the message. */
  before: ConversationDraft;
  model: Model | undefined;
  onSend: (content: string) => void;
}

function Rewrite(props: { message: Message; edit: Edit; onClose: () => void }) {
  const { message, edit, onClose } = props;
  const { t } = useTranslation('chat');
  const [text, setText] = useState(message.content);
  const files = message.files ?? [];
  const cost = useCost([edit.before], text, files);
  const reason = useReason([edit.model], cost);
  const maySend = reason === null && (text.trim() !== '' || files.length > 0);
  const send = () => {
    if (!maySend) return;
    onClose();
    edit.onSend(text.trim());
  };
  return (
    <div className={classes.box}>
      <Textarea
        className={classes.input}
        aria-label={t('rewrite')}
        autosize
        maxRows={12}
        autoFocus
        value={text}
        onKeyDown={byEnter(send)}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Group justify="flex-end" gap="xs">
        <PlainButton size="xs" onClick={onClose}>
          {t('common:cancel')}
        </PlainButton>
        <Button size="xs" disabled={!maySend} onClick={send}>
          {t('common:send')}
        </Button>
      </Group>
      <Cost {...cost} models={[edit.model]} why={reason} />
    </div>
  );
}
