import { ActionIcon, Anchor, Box, FileButton, Group, Textarea, Tooltip } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconArrowUp, IconPhotoPlus, IconPlayerStop, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import {
  useRef,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import { Note, QuietIcon } from '../../components/styles.ts';
import { messageOf } from '../../components/Failure.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccount, useMay } from '../../session.tsx';
import classes from './Chat.module.css';
import { bodyOf, type Conversation, type Picture } from './conversations.ts';
import { OnItsWay, useUploads } from '../form/MediaField.tsx';
import { Thumb } from './MessageView.tsx';
import type { Model } from '../../api-types.ts';
import { lacking, shortage, useAllowance } from '../price.ts';
import { previous, useAccountQuery } from '../../queries.ts';
import { fromJson } from '../../../../client/src/unknown.ts';
import type { AccountCalls } from '../../api.ts';
import { useTranslation } from '../../i18n.ts';

type Wanted = Omit<Conversation, 'id' | 'updated_at'>;

/** The next message, and the most that its reply can cost. */
export function Composer(props: {
  conversation: Wanted;
  model: Model | undefined;
  models: Model[];
  isWriting: boolean;
  /** Shown floating above the composer. */
  above: ReactNode;
  onSend: (text: string, pictures: Picture[]) => void;
  onStop: () => void;
}) {
  const { conversation, model, isWriting, onSend, onStop } = props;
  const { t } = useTranslation(['chat', 'studio']);
  const [text, setText] = useState('');
  const [pictures, setPictures] = useState<Picture[]>([]);
  const { coming, take, dismiss } = useUploads('image', (file_id, { name }) =>
    setPictures((before) => [...before, { file_id, name }]),
  );
  const isFilled = text.trim() !== '' || pictures.length > 0;
  const cost = useCost(conversation, text, pictures);
  const reason = useReason(model, cost);
  const writer =
    isWriting && props.models.find(({ id }) => id === conversation.messages.at(-1)?.model);
  const isUploading = coming.some(({ failure }) => failure === null);
  const maySend = isFilled && reason === null && !isWriting && !isUploading;

  // A held key or a double press must send only once.
  const isSent = useRef(false);
  const send = () => {
    if (!maySend || isSent.current) return;
    isSent.current = true;
    queueMicrotask(() => (isSent.current = false));
    onSend(text.trim(), pictures);
    setText('');
    setPictures([]);
  };
  const byKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat) send();
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length > 0) take([...event.clipboardData.files]);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    take([...event.dataTransfer.files]);
  };

  return (
    <Box className={classes.composer}>
      {props.above}
      <Box
        className={classes.box}
        onPaste={paste}
        onDrop={drop}
        onDragOver={(event) => event.preventDefault()}
      >
        {pictures.length > 0 && <Pictures pictures={pictures} onChange={setPictures} />}
        {coming.map((each) => (
          <OnItsWay key={each.id} coming={each} onDismiss={() => dismiss(each)} />
        ))}
        <Textarea
          className={classes.input}
          aria-label={t('say')}
          placeholder={t('say')}
          onKeyDown={byKey}
          autosize
          minRows={1}
          maxRows={12}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <FileButton
            accept="image/png,image/jpeg,image/webp,image/gif"
            multiple
            onChange={take}
            inputProps={{ 'aria-label': t('add_picture') }}
          >
            {(button) => (
              <Tooltip label={t('picture_text')} multiline w={240}>
                <QuietIcon {...button} size="lg" aria-label={t('add_picture')}>
                  <IconPhotoPlus size={20} stroke={1.6} />
                </QuietIcon>
              </Tooltip>
            )}
          </FileButton>
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
      <Cost
        {...cost}
        why={writer && writer.on_disconnect === 'finish' ? t('stop_finish') : reason}
      />
    </Box>
  );
}

function Pictures(props: { pictures: Picture[]; onChange: (pictures: Picture[]) => void }) {
  const { t } = useTranslation('studio');
  const { pictures, onChange } = props;
  return (
    <Group gap={8} p={4}>
      {pictures.map((picture, i) => (
        <Box key={picture.file_id} pos="relative">
          <Thumb picture={picture} />
          <ActionIcon
            size="xs"
            color="dark"
            variant="filled"
            pos="absolute"
            top={4}
            right={4}
            aria-label={t('remove_item', { what: picture.name })}
            onClick={() => onChange(pictures.toSpliced(i, 1))}
          >
            <IconX size={12} />
          </ActionIcon>
        </Box>
      ))}
    </Group>
  );
}

/** The most that the reply can cost, or why nothing can be sent; and the balance. */
function Cost(props: Costs & { why: string | null }) {
  const { price, short, allowance, why } = props;
  const { t } = useTranslation(['chat', 'studio']);
  return (
    <Group justify="space-between" gap="xs" mt={6} px={4}>
      <Note aria-live="polite">
        {why ?? (
          <>
            {t('at_most')} <span data-ceiling={price}>{price ? <Usd micro={price} /> : '…'}</span>
          </>
        )}{' '}
        {short === 'balance' && (
          <Anchor component={Link} to="/dashboard/money" size="xs">
            {t('studio:top_up')}
          </Anchor>
        )}
      </Note>
      {allowance && (
        <Note>
          {t('studio:balance')} <Usd micro={allowance.available_usd_micro} />
        </Note>
      )}
    </Group>
  );
}

type Costs = ReturnType<typeof useCost>;

function useCost(conversation: Wanted, text: string, pictures: Picture[]) {
  const allowance = useAllowance();
  const { data, error } = useCeiling(conversation, text, pictures);
  const price = data?.price_usd_micro;
  const short = price && allowance ? shortage(allowance, price, false) : null;
  return { allowance, price, short, error };
}

/** Why nothing can be sent; null if it can. */
function useReason(model: Model | undefined, { allowance, price, short, error }: Costs) {
  const { t } = useTranslation(['chat', 'studio']);
  const mayRun = useMay('build');
  const { status } = useAccount();
  if (status !== 'active') return t('studio:blocked.suspended');
  if (!mayRun) return t('studio:blocked.role');
  if (!model) return t('model_gone');
  if (error) return messageOf(error);
  if (short === 'balance')
    return t('studio:blocked.balance', { short: lacking(allowance!, price!) });
  return short === 'limit' ? t('limit') : null;
}

const pauseMs = 400;

/** The amount reserved for the next call, as the service estimates it. */
function useCeiling(conversation: Wanted, text: string, pictures: Picture[]) {
  const next = { id: '', role: 'user' as const, content: text || '…', pictures };
  const body = JSON.stringify(
    bodyOf({
      ...conversation,
      id: '',
      updated_at: '',
      messages: [...conversation.messages, next],
    }),
  );
  const [settled] = useDebouncedValue(body, pauseMs);
  return useAccountQuery(
    'POST /studio/chat-price',
    { body: fromJson<AccountCalls['POST /studio/chat-price']['body']>(settled) },
    { ...previous, staleTime: 60_000, gcTime: 30_000, retry: false },
  );
}
