import { ActionIcon, Box, FileButton, Group, Textarea } from '@mantine/core';
import { IconArrowUp, IconPaperclip, IconPlayerStop, IconX } from '@tabler/icons-react';
import {
  useRef,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import { QuietIcon } from '../../components/styles.ts';
import { useAccount } from '../../session.tsx';
import classes from './Chat.module.css';
import { Attachment } from './Attachment.tsx';
import type { ChatFile, Column, Conversation } from './conversations.ts';
import { Cost, useCost, useReason } from './Cost.tsx';
import { keepFile } from './files.ts';
import { useNext } from './next.ts';
import { acceptOf, fileMaxBytes, acceptedBy, useFileFault } from './accepted-files.ts';
import { OnItsWay, useUploads } from '../form/MediaField.tsx';
import type { Model } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';

/** The next message, and the most that its replies can cost. */
export function Composer(props: {
  /** Names the conversation, whose next message is kept while another is shown. */
  place: string;
  columns: Column[];
  models: Model[];
  writing: Conversation[];
  /** Shown floating above the composer. */
  above: ReactNode;
  onSend: (text: string, files: ChatFile[]) => void;
  onStop: () => void;
}) {
  const { columns, models, onSend, onStop } = props;
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const { text, files, change } = useNext(`farebox-next ${account_id} ${props.place}`);
  const chosen = columns.map(({ model }) => models.find(({ id }) => id === model));
  const known = chosen.filter((model) => model !== undefined);
  const wrongWith = useFileFault(known);
  const { coming, take, dismiss } = useUploads(
    wrongWith,
    ({ file_id, content_type: type, expires_at }, file) => {
      void keepFile(account_id, file_id, file.slice(0, file.size, type));
      change((now) => ({ files: [...now.files, { file_id, name: file.name, type, expires_at }] }));
    },
    fileMaxBytes,
  );
  const isWriting = props.writing.length > 0;
  const cost = useCost(columns, text, files);
  // The model may have been changed after the file was added.
  const wrong = files.map(({ type }) => wrongWith(type));
  const reason = useReason(chosen, cost) ?? wrong.find((each) => each !== null) ?? null;
  const finishes = props.writing.some(
    ({ messages }) =>
      models.find(({ id }) => id === messages.at(-1)?.model)?.on_disconnect === 'finish',
  );
  const isUploading = coming.some(({ failure }) => failure === null);
  const isFilled = text.trim() !== '' || files.length > 0;
  const maySend = isFilled && reason === null && !isWriting && !isUploading;

  // A held key or a double press must send only once.
  const isSent = useRef(false);
  const send = () => {
    if (!maySend || isSent.current) return;
    isSent.current = true;
    queueMicrotask(() => (isSent.current = false));
    onSend(text.trim(), files);
    change(() => ({ text: '', files: [] }));
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length > 0) take([...event.clipboardData.files]);
  };
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take([...event.dataTransfer.files]);
  };

  return (
    <Box className={classes.composer}>
      {props.above}
      <Box
        className={classes.box}
        data-over={isOver || undefined}
        onPaste={paste}
        onDrop={drop}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
      >
        {files.length > 0 && (
          <Files files={files} onChange={(left) => change(() => ({ files: left }))} />
        )}
        {coming.map((each) => (
          <OnItsWay key={each.id} coming={each} onDismiss={() => dismiss(each)} />
        ))}
        <Textarea
          className={classes.input}
          aria-label={t('say')}
          placeholder={t('say')}
          onKeyDown={byEnter(send)}
          autosize
          minRows={1}
          maxRows={12}
          value={text}
          onChange={({ currentTarget }) => {
            const { value } = currentTarget;
            change(() => ({ text: value }));
          }}
        />
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <ChooseFiles models={known} take={take} />
          {isWriting ? (
            <ActionIcon size="lg" radius="xl" color="dark" onClick={onStop} aria-label={t('stop')}>
              <IconPlayerStop size={18} />
            </ActionIcon>
          ) : (
            <ActionIcon
              size="lg"
              radius="xl"
              onClick={send}
              disabled={!maySend}
              aria-label={t('common:send')}
            >
              <IconArrowUp size={20} />
            </ActionIcon>
          )}
        </Group>
      </Box>
      <Cost {...cost} models={chosen} why={finishes ? t('stop_finish') : reason} />
    </Box>
  );
}

/** The button for files; says what is taken. Nothing if that is nothing. */
function ChooseFiles(props: { models: Model[]; take: (files: File[]) => void }) {
  const { t, language } = useTranslation('chat');
  const taken = acceptedBy(props.models);
  if (taken.length === 0) return <span />;
  const names = taken.map((each) => t(`takes.${each}`));
  const label = t('add_file', { taken: new Intl.ListFormat(language).format(names) });
  return (
    <FileButton
      accept={acceptOf(taken)}
      multiple
      onChange={props.take}
      inputProps={{ 'aria-label': label }}
    >
      {(button) => (
        <QuietIcon {...button} size="lg" aria-label={label} title={label}>
          <IconPaperclip size={20} stroke={1.6} />
        </QuietIcon>
      )}
    </FileButton>
  );
}

/** Enter sends, Shift and Enter begin a line. */
export function byEnter(send: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat) send();
  };
}

function Files(props: { files: ChatFile[]; onChange: (files: ChatFile[]) => void }) {
  const { t } = useTranslation('studio');
  const { files, onChange } = props;
  return (
    <Group gap={8} p={4}>
      {files.map((file, i) => (
        <Box key={file.file_id} pos="relative" maw="100%">
          <Attachment file={file} />
          <ActionIcon
            size="xs"
            color="dark"
            variant="filled"
            pos="absolute"
            top={4}
            right={4}
            aria-label={t('remove_item', { what: file.name })}
            onClick={() => onChange(files.toSpliced(i, 1))}
          >
            <IconX size={12} />
          </ActionIcon>
        </Box>
      ))}
    </Group>
  );
}
