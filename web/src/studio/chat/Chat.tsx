import { Box, Group, Select, Stack } from '@mantine/core';
import './chat-texts.ts';
import '../studio-texts.ts';
import { useDisclosure } from '@mantine/hooks';
import {
  IconArrowDown,
  IconList,
  IconMessage2,
  IconMessageOff,
  IconPlus,
} from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { chatSearch } from '../search.ts';
import { useEffect, useState, type Ref } from 'react';
import { Dimmed, PlainButton, RowButton } from '../../components/styles.ts';
import { Drawer } from '../../components/Dialog.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccount, useAccountPath } from '../../session.tsx';
import { errorText, useTranslation } from '../../i18n.ts';
import classes from './Chat.module.css';
import { ChatSettings } from './ChatSettings.tsx';
import { Composer } from './Composer.tsx';
import { costOf, type Conversation, type Picture } from './conversations.ts';
import { Conversations } from './Conversations.tsx';
import { useFollow } from './follow.ts';
import { MessageView } from './MessageView.tsx';
import type { Model } from '../../api-types.ts';
import { firstChoice } from '../models.ts';
import { useModels, useMoneyMoved } from '../price.ts';
import { Rate } from '../form/Rate.tsx';
import { again, begin, edit, say, settle, stop, useTalk, type Ask } from './talk.ts';

type Wanted = Omit<Conversation, 'id' | 'updated_at'>;

/** Chat with text models. */
export function Chat() {
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

function Talking({ models }: { models: Model[] }) {
  const { t } = useTranslation(['chat', 'studio']);
  const { account_id } = useAccount();
  const path = useAccountPath();
  const navigate = useNavigate();
  const moneyMoved = useMoneyMoved();
  const { c, model: wantedModel } = useQueryOf(chatSearch);
  const talk = useTalk(account_id);
  const [isListOpen, list] = useDisclosure(false);
  const [fresh, setFresh] = useState<Wanted>(() => empty(wantedModel ?? firstChoice(models)!.id));
  const kept = talk.list.find(({ id }) => id === c);
  const conversation: Wanted = kept ?? fresh;
  const model = models.find(({ id }) => id === conversation.model);
  const isWriting = kept !== undefined && talk.writing.has(kept.id);
  const { grows, isBehind, toEnd } = useFollow(kept?.id ?? null);

  useEffect(() => {
    if (wantedModel !== undefined) setFresh((before) => ({ ...before, model: wantedModel }));
  }, [wantedModel]);

  const set = (with_: Partial<Wanted>) => {
    if (kept) edit(account_id, kept.id, with_);
    else setFresh({ ...fresh, ...with_ });
  };
  const askIn = (id: string): Ask => ({
    account_id,
    id,
    path,
    words: {
      lost: t('lost'),
      broke: (error) => t(error.details?.reason ?? '', { defaultValue: said(error) }),
    },
    settled: moneyMoved,
  });
  useEffect(() => {
    // Looks up the costs of replies that were cut off before this page loaded.
    if (kept && !isWriting)
      for (const message of kept.messages) void settle(askIn(kept.id), message);
  }, [kept?.id, isWriting]);
  const send = (text: string, pictures: Picture[]) => {
    const id = kept?.id ?? begin(account_id, fresh);
    say(askIn(id), text, pictures);
    toEnd();
    if (!kept) {
      setFresh(empty(conversation.model));
      void navigate({ to: '/studio/chat', search: { c: id }, replace: true });
    }
  };
  const goTo = (id: string | undefined) => {
    list.close();
    void navigate({ to: '/studio/chat', search: { c: id } });
  };
  const side = <Conversations talk={talk} shown={kept?.id} goTo={goTo} />;
  const cost = kept ? costOf(kept) : 0n;

  return (
    <>
      <PageTitle title={t('common:nav.chat')}>
        <PlainButton hiddenFrom="md" leftSection={<IconList size={17} />} onClick={list.open}>
          {t('conversations')}
        </PlainButton>
        <PlainButton leftSection={<IconPlus size={17} />} onClick={() => goTo(undefined)}>
          {t('new')}
        </PlainButton>
      </PageTitle>
      <div className={classes.chat}>
        <Box visibleFrom="md" component="aside" className={classes.side}>
          {side}
        </Box>
        <Drawer opened={isListOpen} onClose={list.close} title={t('conversations')} size="85%">
          {side}
        </Drawer>
        <Stack gap="md" miw={0}>
          <Group justify="space-between" align="end" gap="sm">
            <Select
              label={t('common:model')}
              data={models.map(({ id, name }) => ({ value: id, label: name }))}
              value={model?.id ?? null}
              onChange={(id) => id !== null && set({ model: id })}
              allowDeselect={false}
              searchable
              w={{ base: '100%', xs: 280 }}
              placeholder={conversation.model}
              error={model ? undefined : t('model_gone')}
            />
            <Stack gap={2} align="flex-end" className={classes.figures}>
              {model && <Rate model={model} />}
              {cost > 0n && (
                <Dimmed data-conversation-cost={String(cost)}>
                  {t('conversation_cost')} <Usd micro={cost} />
                </Dimmed>
              )}
            </Stack>
          </Group>
          <ChatSettings conversation={conversation} model={model} set={set} />
          <Messages
            ref={grows}
            conversation={conversation}
            models={models}
            isWriting={isWriting}
            onAgain={kept ? () => again(askIn(kept.id)) : null}
          />
          <Composer
            key={kept?.id ?? 'new'}
            conversation={conversation}
            model={model}
            models={models}
            isWriting={isWriting}
            above={isBehind && <ToEnd onClick={toEnd} />}
            onSend={send}
            onStop={() => kept && stop(account_id, kept.id)}
          />
        </Stack>
      </div>
    </>
  );
}

function empty(model: string): Wanted {
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

function Messages(props: {
  ref: Ref<HTMLDivElement>;
  conversation: Wanted;
  models: Model[];
  isWriting: boolean;
  onAgain: (() => void) | null;
}) {
  const { conversation, models, isWriting, onAgain } = props;
  const { t } = useTranslation('chat');
  const { messages } = conversation;
  const last = messages.at(-1);
  // A reload or a closed browser cut the reply off before it began.
  const isUnanswered = last?.role === 'user' && !isWriting;
  return (
    <Stack
      ref={props.ref}
      gap="lg"
      className={classes.messages}
      role="log"
      aria-label={t('messages')}
    >
      {messages.length === 0 && (
        <Empty icon={<IconMessage2 />} title={t('empty_title')} text={t('empty_text')} />
      )}
      {messages.map((message, i) => (
        <MessageView
          key={message.id}
          message={message}
          modelName={models.find(({ id }) => id === message.model)?.name ?? message.model ?? ''}
          isWriting={isWriting && i === messages.length - 1}
          onAgain={!isWriting && i === messages.length - 1 ? onAgain : null}
        />
      ))}
      {isUnanswered && onAgain && (
        <RowButton onClick={onAgain} style={{ alignSelf: 'start' }}>
          {t('ask_again')}
        </RowButton>
      )}
    </Stack>
  );
}
