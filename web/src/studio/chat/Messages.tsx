import { Box, Group, Stack } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import type { Model } from '../../api-types.ts';
import { Note, QuietIcon, RowButton } from '../../components/styles.ts';
import { versionOf } from './branches.ts';
import type { ConversationDraft, Message } from './conversations.ts';
import { Question } from './Question.tsx';
import { ReplyView } from './ReplyView.tsx';
import { useTranslation } from '../../i18n.ts';

/** The messages of one conversation. */
export function Messages(props: {
  conversation: ConversationDraft;
  models: Model[];
  label: string;
  isWriting: boolean;
  onAgain: (() => void) | null;
  onAnew: (message: Message, text: string) => void;
  onTurn: (before: string, to: number) => void;
}) {
  const { conversation, models, isWriting, onAgain } = props;
  const { t } = useTranslation('chat');
  const { messages } = conversation;
  const last = messages.at(-1);
  // A reload or a closed browser cut the reply off before it began.
  const isUnanswered = last?.role === 'user' && !isWriting;
  return (
    <Stack gap="lg" role="log" aria-label={props.label}>
      {messages.map((message, i) => (
        <Box key={message.id}>
          {message.role === 'user' ? (
            <Question
              message={message}
              edit={
                isWriting
                  ? null
                  : {
                      before: { ...conversation, messages: messages.slice(0, i) },
                      model: models.find(({ id }) => id === conversation.model),
                      onSend: (text) => props.onAnew(message, text),
                    }
              }
            />
          ) : (
            <ReplyView
              message={message}
              modelName={models.find(({ id }) => id === message.model)?.name ?? message.model ?? ''}
              isWriting={isWriting && i === messages.length - 1}
              onAgain={!isWriting && i === messages.length - 1 ? onAgain : null}
            />
          )}
          <Versions
            version={versionOf(conversation, i)}
            isOfUser={message.role === 'user'}
            isFixed={isWriting}
            onTurn={props.onTurn}
          />
        </Box>
      ))}
      {isUnanswered && onAgain && (
        <RowButton onClick={onAgain} style={{ alignSelf: 'start' }}>
          {t('ask_again')}
        </RowButton>
      )}
    </Stack>
  );
}

/** Leads to the other versions of a message. */
function Versions(props: {
  version: ReturnType<typeof versionOf>;
  isOfUser: boolean;
  isFixed: boolean;
  onTurn: (before: string, to: number) => void;
}) {
  const { version, isOfUser, isFixed, onTurn } = props;
  const { t } = useTranslation('chat');
  if (!version) return null;
  const { before, at, count } = version;
  return (
    <Group gap={2} justify={isOfUser ? 'flex-end' : 'flex-start'}>
      <QuietIcon
        aria-label={t('version_before')}
        disabled={isFixed || at === 0}
        onClick={() => onTurn(before, at - 1)}
      >
        <IconChevronLeft size={16} />
      </QuietIcon>
      <Note className="number">{t('version', { at: at + 1, count })}</Note>
      <QuietIcon
        aria-label={t('version_after')}
        disabled={isFixed || at === count - 1}
        onClick={() => onTurn(before, at + 1)}
      >
        <IconChevronRight size={16} />
      </QuietIcon>
    </Group>
  );
}
