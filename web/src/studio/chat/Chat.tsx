import './chat-texts.ts';
import '../studio-texts.ts';
import { Box, Stack, Title, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconArrowDown, IconMessageOff } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { chatSearch } from '../search.ts';
import { useEffect, useState } from 'react';
import { PlainButton } from '../../components/styles.ts';
import { Drawer } from '../../components/Dialog.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { useTabTitle } from '../../components/frame/PageTitle.tsx';
import { useAccount, useAccountPath } from '../../session.tsx';
import { errorText, useTranslation } from '../../i18n.ts';
import classes from './Chat.module.css';
import { Bar } from './Bar.tsx';
import { addColumn, beginAll, closeColumn, columnsMax, columnsOf } from './columns.ts';
import { Columns } from './Columns.tsx';
import { Composer } from './Composer.tsx';
import type { ChatFile, Column, ConversationDraft } from './conversations.ts';
import { Conversations } from './Conversations.tsx';
import { renewFiles, sweepFiles } from './files.ts';
import { useFollow } from './follow.ts';
import type { Model } from '../../api-types.ts';
import { firstChoice } from '../models.ts';
import { useModels, useMoneyMoved } from '../price.ts';
import { edit, sendMessage, settle, stop, useTalk, type Ask, type BrokenReply } from './talk.ts';

/** Chat with text models. */
export function Chat() {
  const { t } = useTranslation('chat');
  return (
    <>
      <VisuallyHidden>
        <Title order={1}>{t('common:nav.chat')}</Title>
      </VisuallyHidden>
      <Loaded />
    </>
  );
}

function Loaded() {
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const models = useModels();
  if (models.error) return <Failure error={models.error} retry={() => void models.refetch()} />;
  const texts = models.data?.filter(({ kind }) => kind === 'text');
  if (texts?.length === 0) {
    return (
      <Empty icon={<IconMessageOff />} title={t('no_models_title')} text={t('no_models_text')} />
    );
  }
  return texts ? <Talking key={account_id} models={texts} /> : null;
}

/** The conversation that the address names, or a new one, and what is done to it. */
function useConversation(models: Model[]) {
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const navigate = useNavigate();
  const { c, model: wantedModel } = useQueryOf(chatSearch);
  const talk = useTalk(account_id);
  const askIn = useAskIn();
  const [isListOpen, list] = useDisclosure(false);
  const [fresh, setFresh] = useState<Column[]>(() => [
    empty(wantedModel ?? firstChoice(models)!.id),
  ]);
  const shown = talk.list.find(({ id }) => id === c);
  const kept = shown && columnsOf(talk.list, shown);
  const columns: Column[] = kept ?? fresh;
  const writing = kept?.filter(({ id }) => talk.writing.has(id)) ?? [];
  const follow = useFollow(shown?.id ?? null);
  useTabTitle(shown?.title || t('common:nav.chat'));

  useEffect(() => {
    void sweepFiles(account_id, talk.list);
  }, [account_id]);
  useEffect(() => {
    if (wantedModel !== undefined) setFresh([empty(wantedModel)]);
  }, [wantedModel]);
  useEffect(() => {
    // Looks up the costs of replies that were cut off before this page loaded.
    for (const { id, messages } of kept ?? [])
      if (!talk.writing.has(id)) for (const each of messages) void settle(askIn(id), each);
    for (const { id } of kept ?? []) void renewFiles(askIn(id));
  }, [kept?.map(({ id }) => id).join(), writing.length]);

  const goTo = (id: string | undefined, replace = false) => {
    list.close();
    void navigate({ to: '/studio/chat', search: { c: id }, replace });
  };
  const set = (with_: Partial<ConversationDraft>, only?: Column) => {
    const isMeant = (each: Column) => only === undefined || each === only;
    if (!kept) setFresh(fresh.map((each) => (isMeant(each) ? { ...each, ...with_ } : each)));
    else for (const each of kept.filter(isMeant)) edit(account_id, each.id, with_);
  };
  const add = () => {
    const model = (firstChoice(models.filter(({ id }) => !isAmong(columns, id))) ?? models[0]!).id;
    if (kept) addColumn(account_id, kept, model);
    else setFresh([...fresh, { ...fresh[0]!, model }]);
  };
  const close = (column: Column) => {
    if (!kept) return setFresh(fresh.filter((each) => each !== column));
    closeColumn(
      account_id,
      kept,
      kept.find((each) => each === column)!,
    );
    if (column.id === c) goTo(kept.find(({ id }) => id !== c)!.id, true);
  };
  const send = (text: string, files: ChatFile[]) => {
    const ids = kept?.map(({ id }) => id) ?? beginAll(account_id, fresh);
    for (const id of ids) sendMessage(askIn(id), text, files);
    follow.toEnd();
    if (kept) return;
    setFresh(fresh.map(({ model }) => empty(model)));
    goTo(ids[0], true);
  };
  const acts = { askIn, goTo, set, add, close, send };
  return { account_id, c, talk, columns, shown, writing, follow, list, isListOpen, ...acts };
}

function Talking({ models }: { models: Model[] }) {
  const { t } = useTranslation('chat');
  const conversation = useConversation(models);
  const { account_id, c, talk, columns, shown, writing, follow, list, isListOpen } = conversation;
  const { askIn, goTo, set, add, close, send } = conversation;
  const { grows, isBehind, toEnd } = follow;
  const side = <Conversations talk={talk} shown={c} goTo={goTo} />;
  // Without conversations their list would be an empty column.
  const isNew = talk.list.length === 0;
  const isAside = columns.length === 1 && !isNew;
  const place = shown?.set?.id ?? shown?.id ?? 'new';

  return (
    <div className={classes.chat} data-aside={isAside || undefined}>
      {isAside && (
        <Box visibleFrom="md" component="aside" className={classes.side}>
          {side}
        </Box>
      )}
      <Drawer opened={isListOpen} onClose={list.close} title={t('conversations')} size="85%">
        {side}
      </Drawer>
      <Stack gap="md" miw={0}>
        <Bar
          columns={columns}
          models={models}
          set={set}
          onAdd={columns.length < columnsMax ? add : null}
          onList={list.open}
          onNew={() => goTo(undefined)}
        />
        <Columns
          ref={grows}
          columns={columns}
          models={models}
          writing={writing}
          onModel={(column, model) => set({ model }, column)}
          onClose={close}
          askIn={askIn}
          first={isNew && side}
        />
        <Composer
          key={place}
          place={place}
          columns={columns}
          models={models}
          writing={writing}
          above={isBehind && <ToEnd onClick={toEnd} />}
          onSend={send}
          onStop={() => writing.forEach(({ id }) => stop(account_id, id))}
        />
      </Stack>
    </div>
  );
}

function isAmong(columns: Column[], model: string): boolean {
  return columns.some((each) => each.model === model);
}

/** How a reply in the conversation with this id is asked for. */
function useAskIn(): (id: string) => Ask {
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const path = useAccountPath();
  const settled = useMoneyMoved();
  const broke = (error: BrokenReply) =>
    t(error.details?.reason ?? '', { defaultValue: errorText(error) });
  return (id) => ({ account_id, id, path, words: { lost: t('lost'), broke }, settled });
}

function empty(model: string): Column {
  return { title: '', model, system: '', messages: [] };
}

function ToEnd({ onClick }: { onClick: () => void }) {
  const { t } = useTranslation('chat');
  return (
    <PlainButton
      className={classes.toEnd}
      size="compact-sm"
      radius="xl"
      leftSection={<IconArrowDown size={15} />}
      onClick={onClick}
    >
      {t('to_end')}
    </PlainButton>
  );
}
