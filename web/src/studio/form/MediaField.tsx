import {
  Box,
  Button,
  FileButton,
  Group,
  Image,
  Progress,
  Stack,
  Text,
  TextInput,
  ThemeIcon,
} from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import {
  IconFile,
  IconHistory,
  IconLink,
  IconMovie,
  IconMusic,
  IconPhoto,
  IconUpload,
  IconX,
} from '@tabler/icons-react';
import {
  lazy,
  Suspense,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type ReactNode,
} from 'react';
import { Note, QuietIcon, RowButton } from '../../components/styles.ts';
import { messageOf } from '../../components/Failure.tsx';
import { useAccountPath } from '../../session.tsx';
import type { ControlProps } from './control.ts';
import classes from './MediaField.module.css';
import type { Media } from './schema.ts';
import { useAllowance } from '../price.ts';
import {
  acceptOf,
  fits,
  nameOf,
  remember,
  uploadedName,
  typeOf,
  upload,
  type UploadedFile,
} from './upload.ts';
import { useTranslation } from '../../i18n.ts';

/** An image, video or audio input: dropped, pasted, chosen, by URL, or a recent output. */

const RecentOutputs = lazy(() => import('./RecentOutputs.tsx'));

type Props = ControlProps & { media: Media; many: boolean; max: number };

interface PendingUpload {
  id: number;
  name: string;
  /** Sent share, from 0 to 1. */
  share: number;
  failure: string | null;
  cancel: () => void;
}

export function MediaField({ label, media, many, max, value, onChange, error }: Props) {
  const { t } = useTranslation('studio');
  const values = listOf(value);
  const { coming, take, dismiss } = useUploads(
    (type) => (fits(media, type) ? null : t(`wrong_file.${media}`)),
    ({ file_id }) => add(file_id),
  );
  const [isOver, setOver] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const [isTyping, setTyping] = useState(false);
  const isFull = values.length >= max;

  // Uploads finish in any order, so each is appended to the list as it is at that time.
  const add = (next: string) =>
    onChange((before: unknown) => (many ? [...listOf(before), next].slice(0, max) : next));
  const remove = (i: number) => {
    const rest = values.toSpliced(i, 1);
    onChange(many && rest.length > 0 ? rest : undefined);
  };
  const takeAll = (files: File[]) => take(files.slice(0, many ? max - values.length : 1));
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    takeAll([...event.dataTransfer.files]);
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    takeAll(files);
  };
  // A file pasted outside the fields goes to the first one with room for its kind.
  useWindowEvent('paste', (event) => {
    const given = [...(event.clipboardData?.files ?? [])];
    const files = given.filter(({ type }) => media === 'any' || type.startsWith(`${media}/`));
    if (event.defaultPrevented || files.length === 0 || isFull) return;
    event.preventDefault();
    takeAll(files);
  });
  return (
    <Stack
      gap={8}
      className={classes.field}
      data-over={isOver || undefined}
      data-wrong={Boolean(error) || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      onPaste={paste}
      role="group"
      aria-label={label}
    >
      {(values.length > 0 || coming.length > 0) && (
        <div className={many ? classes.many : undefined}>
          {values.map((each, i) => (
            <Chosen
              key={`${each} ${i}`}
              value={each}
              media={media}
              label={many ? `${label} ${i + 1}` : label}
              onRemove={() => remove(i)}
            />
          ))}
          {coming.map((each) => (
            <OnItsWay key={each.id} coming={each} onDismiss={() => dismiss(each)} />
          ))}
        </div>
      )}
      {!isFull && coming.every(({ failure }) => failure !== null) && !isTyping && (
        <Ways label={label} media={media} many={many} onFiles={takeAll}>
          <WayButton icon={IconLink} onClick={() => setTyping(true)}>
            {t('common:address')}
          </WayButton>
          <WayButton icon={IconHistory} onClick={() => setChoosing(true)}>
            {t('my_results')}
          </WayButton>
        </Ways>
      )}
      {isTyping && (
        <AddressInput
          label={t('address_of', { field: label })}
          onDone={(address) => {
            if (address) add(address);
            setTyping(false);
          }}
        />
      )}
      {isChoosing && (
        <Suspense>
          <RecentOutputs
            media={media}
            onClose={() => setChoosing(false)}
            onChoose={(url) => {
              add(url);
              setChoosing(false);
            }}
          />
        </Suspense>
      )}
    </Stack>
  );
}

function Ways(props: {
  label: string;
  media: Media;
  many: boolean;
  onFiles: (files: File[]) => void;
  children: ReactNode;
}) {
  const { label, media, many, onFiles, children } = props;
  const { t } = useTranslation('studio');
  const name = { 'aria-label': t('choose_file_for', { field: label }) };
  return (
    <Group gap={6}>
      <FileButton
        accept={acceptOf(media)}
        multiple={many}
        onChange={(files: File | File[] | null) => onFiles([files ?? []].flat())}
        inputProps={name}
      >
        {(button) => (
          <Button
            {...button}
            {...name}
            variant="light"
            size="xs"
            leftSection={<IconUpload size={15} />}
          >
            {t('choose_file')}
          </Button>
        )}
      </FileButton>
      {children}
      <Note visibleFrom="sm">{t('drop_or_paste')}</Note>
    </Group>
  );
}

function WayButton(props: { icon: typeof IconLink; onClick: () => void; children: ReactNode }) {
  const { icon: Icon, ...button } = props;
  return <Button variant="subtle" size="xs" leftSection={<Icon size={15} />} {...button} />;
}

/** Reports the address, without spaces around it; null if it is given up. */
function AddressInput(props: { label: string; onDone: (address: string | null) => void }) {
  const { t } = useTranslation('studio');
  const [address, setAddress] = useState('');
  const take = () => props.onDone(address.trim());
  return (
    <Group gap={6} wrap="nowrap">
      <TextInput
        flex={1}
        size="xs"
        autoFocus
        aria-label={props.label}
        placeholder="https://"
        value={address}
        onChange={(event) => setAddress(event.currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            take();
          }
          if (event.key === 'Escape') props.onDone(null);
        }}
      />
      <RowButton onClick={take}>{t('take')}</RowButton>
    </Group>
  );
}

function listOf(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

let uploads = 0;

/**
 * Uploads of files. `wrongWith` says why a file of this type is not taken, null if it is; `arrived`
 * is called with each file the service has received.
 */
export function useUploads(
  wrongWith: (type: string | null, file: File) => string | null,
  arrived: (uploaded: UploadedFile, file: File) => void,
  ownMaxBytes = Infinity,
) {
  const { t } = useTranslation('studio');
  const path = useAccountPath();
  const maxBytes = Math.min(ownMaxBytes, useAllowance()?.upload_max_bytes ?? Infinity);
  const [coming, setComing] = useState<PendingUpload[]>([]);
  const drop = (id: number) => setComing((all) => all.filter((each) => each.id !== id));
  const change = (id: number, with_: Partial<PendingUpload>) =>
    setComing((all) => all.map((each) => (each.id === id ? { ...each, ...with_ } : each)));
  /** The reason why the file cannot be sent, as text; null if it can. */
  const refusal = (file: File, type: string | null): string | null => {
    const wrong = wrongWith(type, file);
    if (wrong !== null) return wrong;
    if (file.size <= maxBytes) return null;
    const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20);
    return t('too_large', { size: mib(file.size), max: mib(maxBytes) });
  };
  const take = (files: File[]) => {
    setComing((all) => all.filter(({ failure }) => failure === null));
    files.forEach((file) => void send(file));
  };
  const send = async (file: File) => {
    const id = ++uploads;
    const type = await typeOf(file);
    const failure = refusal(file, type);
    const one = { id, name: file.name, share: 0, failure, cancel: () => {} };
    if (failure !== null) return setComing((all) => [...all, one]);
    const sentAs = type ?? (file.type || 'application/octet-stream');
    const sent = upload(path('/v1/files'), file, sentAs, (share) => change(id, { share }));
    setComing((all) => [...all, { ...one, cancel: sent.cancel }]);
    sent.done.then(
      (uploaded) => {
        remember(uploaded.file_id, file);
        drop(id);
        arrived(uploaded, file);
      },
      (error: unknown) => {
        if (error instanceof DOMException) drop(id);
        else change(id, { failure: messageOf(error) });
      },
    );
  };
  const dismiss = ({ id, failure, cancel }: PendingUpload) =>
    failure === null ? cancel() : drop(id);
  return { coming, take, dismiss };
}

export function OnItsWay({ coming, onDismiss }: { coming: PendingUpload; onDismiss: () => void }) {
  const { t } = useTranslation('studio');
  const { name, share, failure } = coming;
  return (
    <Group gap="sm" wrap="nowrap" className={classes.item} role={failure ? 'alert' : undefined}>
      <Box flex={1} miw={0}>
        <Text size="sm" truncate>
          {name}
        </Text>
        {failure === null ? (
          <Progress.Root size="sm" mt={6}>
            <Progress.Section value={share * 100} aria-label={t('uploading', { name })} />
          </Progress.Root>
        ) : (
          <Text size="xs" c="red">
            {failure}
          </Text>
        )}
      </Box>
      <QuietIcon aria-label={t('remove_item', { what: name })} onClick={onDismiss}>
        <IconX size={16} />
      </QuietIcon>
    </Group>
  );
}

const icons = { image: IconPhoto, video: IconMovie, audio: IconMusic, any: IconFile };

function Chosen(props: { value: string; media: Media; label: string; onRemove: () => void }) {
  const { value, media, label, onRemove } = props;
  const { t } = useTranslation('studio');
  const Icon = icons[media];
  const source = useSource(value);
  return (
    <Group gap="sm" wrap="nowrap" className={classes.item}>
      {source !== null && media === 'image' ? (
        <Image src={source} alt="" className={classes.thumb} fit="cover" />
      ) : source !== null && media === 'video' ? (
        <video src={source} className={classes.thumb} muted preload="metadata" />
      ) : (
        <ThemeIcon variant="light" size={56} radius="md">
          <Icon size={26} stroke={1.5} />
        </ThemeIcon>
      )}
      <Box flex={1} miw={0}>
        {source !== null && media === 'audio' ? (
          <audio src={source} controls className={classes.sound} aria-label={label} />
        ) : null}
        {(source === null || media !== 'audio' || nameOf(value) !== null) && (
          <Text size="sm" truncate title={value}>
            {titleOf(value, t)}
          </Text>
        )}
      </Box>
      <QuietIcon aria-label={t('remove_item', { what: label })} onClick={onRemove}>
        <IconX size={16} />
      </QuietIcon>
    </Group>
  );
}

/** The URL from which the page may load the file; null if that is on another server. */
export function useSource(value: string): string | null {
  const path = useAccountPath();
  if (value.startsWith('file_')) return uploadedName(value) ?? path(`/v1/files/${value}`);
  if (value.startsWith('data:')) return value;
  return /\/v1\/requests\/[0-9a-f-]{36}\/output\/\d+\?/.test(value) ? value : null;
}

function titleOf(value: string, t: (name: string) => string): string {
  if (value.startsWith('file_')) return nameOf(value) ?? t('your_file');
  if (value.startsWith('data:')) return t('embedded');
  if (value.startsWith('sandbox:')) return `${t('sample')}: ${value}`;
  if (/\/output\/\d+\?/.test(value)) return t('your_result');
  return value;
}
