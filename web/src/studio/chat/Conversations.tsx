import {
  Button,
  FileButton,
  Group,
  Menu,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import {
  IconDots,
  IconDownload,
  IconFileText,
  IconPencil,
  IconSearch,
  IconTrash,
} from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { saveText } from '../../components/save.ts';
import { showFailure } from '../../components/Failure.tsx';
import { notice } from '../../components/frame/notice.ts';
import { useFields } from '../../components/Form.tsx';
import { Dimmed, Note, QuietIcon, RowButton } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccount } from '../../session.tsx';
import classes from './Chat.module.css';
import { costOf, everyMessage } from './branches.ts';
import { setsOf } from './columns.ts';
import type { Conversation } from './conversations.ts';
import { filesAsData, filesOf, keepData } from './files.ts';
import { edit, remove, take, type Talk } from './talk.ts';
import { asFile, asMarkdown, fileMax, fromFile } from './transfer.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { useTranslation } from '../../i18n.ts';

/** The conversations stored in this browser. */
export function Conversations(props: {
  talk: Talk;
  shown: string | undefined;
  goTo: (id: string | undefined) => void;
}) {
  const { talk, shown, goTo } = props;
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const [renamed, setRenamed] = useState<Conversation[] | null>(null);
  const [removed, setRemoved] = useState<Conversation[] | null>(null);
  const [asked, setAsked] = useState('');
  const found = setsOf(talk.list).filter((set) => set.some((each) => isAsked(each, asked)));
  return (
    <Stack gap={4} component="nav" aria-label={t('conversations')}>
      {talk.list.length > 0 && (
        <TextInput
          size="sm"
          mb={4}
          leftSection={<IconSearch size={16} />}
          aria-label={t('find')}
          placeholder={t('find')}
          value={asked}
          onChange={({ currentTarget }) => setAsked(currentTarget.value)}
        />
      )}
      {found.length === 0 && (
        <Dimmed>{t(talk.list.length === 0 ? 'none_kept' : 'common:nothing_found')}</Dimmed>
      )}
      {found.map((set) => (
        <Entry
          key={set[0]!.id}
          set={set}
          isShown={set.some(({ id }) => id === shown)}
          isWriting={set.some(({ id }) => talk.writing.has(id))}
          onOpen={() => goTo(set[0]!.id)}
          onRename={() => setRenamed(set)}
          onRemove={() => setRemoved(set)}
        />
      ))}
      <Transfer talk={talk} />
      {renamed && (
        <Rename
          title={renamed[0]!.title}
          onClose={() => setRenamed(null)}
          onName={(title) => {
            for (const { id } of renamed) edit(account_id, id, { title });
            setRenamed(null);
          }}
        />
      )}
      <Confirm
        opened={removed !== null}
        title={t('delete_title')}
        action={t('delete')}
        onClose={() => setRemoved(null)}
        onConfirm={async () => {
          for (const { id } of removed!) remove(account_id, id);
          if (removed!.some(({ id }) => id === shown)) goTo(undefined);
        }}
      >
        {t('delete_text', { title: removed?.[0]!.title ?? '' })}
      </Confirm>
    </Stack>
  );
}

/** A conversation, or several that stand side by side. */
function Entry(props: {
  set: Conversation[];
  isShown: boolean;
  isWriting: boolean;
  onOpen: () => void;
  onRename: () => void;
  onRemove: () => void;
}) {
  const { set, isShown } = props;
  const { t } = useTranslation('chat');
  const title = set[0]!.title || t('untitled');
  const cost = set.reduce((sum, each) => sum + costOf(each), 0n);
  const save = useSave();
  const read = () => set.map((each) => asMarkdown(each, t('you'))).join('\n');
  return (
    <div className={classes.entry} data-shown={isShown || undefined}>
      <UnstyledButton
        className={classes.title}
        onClick={props.onOpen}
        aria-current={isShown ? 'page' : undefined}
      >
        <Text size="sm" truncate title={title} fw={isShown ? 600 : 450}>
          {title}
        </Text>
        <Note>
          {props.isWriting ? t('writing') : <Usd micro={cost} />}
          {set.length > 1 && ` · ${t('models', { count: set.length })}`}
        </Note>
      </UnstyledButton>
      <Menu position="bottom-end">
        <Menu.Target>
          <QuietIcon aria-label={t('conversation_actions', { title })}>
            <IconDots size={16} />
          </QuietIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={props.onRename}>
            {t('common:rename')}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconFileText size={16} />}
            onClick={() => saveText(`${title}.md`, read(), markdown)}
          >
            {t('as_markdown')}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconDownload size={16} />}
            onClick={() => save(`${title}.json`, set)}
          >
            {t('as_json')}
          </Menu.Item>
          <Menu.Item leftSection={<IconTrash size={16} />} onClick={props.onRemove}>
            {t('delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

function Rename(props: { title: string; onName: (title: string) => void; onClose: () => void }) {
  const { onName, onClose } = props;
  const { t } = useTranslation('chat');
  const { values, field } = useFields({ title: props.title });
  const title = values.title.trim();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title !== '') onName(title);
  };
  return (
    <Modal opened onClose={onClose} title={t('common:rename')}>
      <form onSubmit={submit}>
        <TextInput label={t('name')} maxLength={100} data-autofocus {...field('title')} />
        <Group justify="flex-end" mt="md">
          <Button type="submit">{t('common:save')}</Button>
        </Group>
      </form>
    </Modal>
  );
}

/** Takes conversations to another browser, which the service cannot do: it stores none. */
function Transfer({ talk }: { talk: Talk }) {
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const [failure, setFailure] = useState<string | null>(null);
  const save = useSave();
  const read = async (file: File | null) => {
    if (!file) return;
    const taken = file.size > fileMax ? null : fromFile(await file.text());
    if (taken === null) return setFailure(t('no_chats', { name: file.name }));
    await keepData(account_id, taken.files);
    setFailure(take(account_id, taken.conversations) ? null : t('no_room'));
  };
  return (
    <Stack gap={6} px={10} pt="xs">
      <Note>{t('kept_here')}</Note>
      <Group gap={6} justify={talk.list.length === 0 ? 'center' : undefined}>
        {talk.list.length > 0 && (
          <RowButton onClick={() => save('chats.json', talk.list)}>{t('export')}</RowButton>
        )}
        <FileButton
          accept="application/json,.json"
          onChange={(file) => void read(file)}
          inputProps={{ 'aria-label': t('import') }}
        >
          {(button) => <RowButton {...button}>{t('import')}</RowButton>}
        </FileButton>
      </Group>
      {failure !== null && (
        <Note c="red" role="alert">
          {failure}
        </Note>
      )}
    </Stack>
  );
}

/** Saves conversations with their files; says so if this browser no longer has some. */
function useSave(): (name: string, conversations: Conversation[]) => void {
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const save = async (name: string, conversations: Conversation[]) => {
    const files = await filesAsData(account_id, conversations);
    const left = new Set(conversations.flatMap(filesOf).map(({ file_id }) => file_id));
    for (const file_id of Object.keys(files)) left.delete(file_id);
    saveText(name, asFile({ conversations, files }), json);
    if (left.size > 0) notice({ message: t('files_left_out', { count: left.size }) });
  };
  return (...given) => void save(...given).catch(showFailure);
}

const markdown = 'text/markdown';
const json = 'application/json';

/** Whether a conversation has all words of a search, in any of its versions. */
function isAsked(conversation: Conversation, asked: string): boolean {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const messages = everyMessage(conversation).map(({ content }) => content);
  const text = [conversation.title, ...messages].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}
