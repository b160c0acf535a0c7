import { Button, Group, Menu, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconDots, IconPencil, IconTrash } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { useFields } from '../../components/Form.tsx';
import { Dimmed, Note, QuietIcon } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccount } from '../../session.tsx';
import classes from './Chat.module.css';
import { costOf, type Conversation } from './conversations.ts';
import { edit, remove, type Talk } from './talk.ts';
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
  const [renamed, setRenamed] = useState<Conversation | null>(null);
  const [removed, setRemoved] = useState<Conversation | null>(null);
  return (
    <Stack gap={4} component="nav" aria-label={t('conversations')}>
      {talk.list.length === 0 && <Dimmed>{t('none_kept')}</Dimmed>}
      {talk.list.map((each) => (
        <div key={each.id} className={classes.entry} data-shown={each.id === shown || undefined}>
          <UnstyledButton
            className={classes.title}
            onClick={() => goTo(each.id)}
            aria-current={each.id === shown ? 'page' : undefined}
          >
            <Text size="sm" truncate fw={each.id === shown ? 600 : 450}>
              {each.title || t('untitled')}
            </Text>
            <Note>{talk.writing.has(each.id) ? t('writing') : <Usd micro={costOf(each)} />}</Note>
          </UnstyledButton>
          <Menu position="bottom-end">
            <Menu.Target>
              <QuietIcon aria-label={t('conversation_actions', { title: each.title })}>
                <IconDots size={16} />
              </QuietIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => setRenamed(each)}>
                {t('common:rename')}
              </Menu.Item>
              <Menu.Item leftSection={<IconTrash size={16} />} onClick={() => setRemoved(each)}>
                {t('delete')}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </div>
      ))}
      {talk.list.length > 0 && (
        <Note px={10} pt="xs">
          {t('kept_here')}
        </Note>
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
          conversation={renamed}
          onClose={() => setRenamed(null)}
          onName={(title) => {
            edit(account_id, renamed.id, { title });
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
          remove(account_id, removed!.id);
          if (removed!.id === shown) goTo(undefined);
        }}
      >
        {t('delete_text', { title: removed?.title ?? '' })}
      </Confirm>
    </Stack>
  );
}

function Rename(props: {
  conversation: Conversation;
  onName: (title: string) => void;
  onClose: () => void;
}) {
  const { conversation, onName, onClose } = props;
  const { t } = useTranslation('chat');
  const { values, field } = useFields({ title: conversation.title });
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
