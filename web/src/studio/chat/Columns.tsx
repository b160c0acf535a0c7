import { Box, Group, SegmentedControl } from '@mantine/core';
import { IconMessage2, IconX } from '@tabler/icons-react';
import { useState, type ReactNode, type Ref } from 'react';
import type { Model } from '../../api-types.ts';
import { Empty } from '../../components/list/Empty.tsx';
import { QuietIcon } from '../../components/styles.ts';
import { useAccount } from '../../session.tsx';
import classes from './Chat.module.css';
import { ModelSelect } from './Bar.tsx';
import { switchedTo } from './branches.ts';
import type { Column, Conversation } from './conversations.ts';
import { Messages } from './Messages.tsx';
import { askAgain, editQuestion, edit, type Ask } from './talk.ts';
import { useTranslation } from '../../i18n.ts';

/** One conversation, or several side by side; where they have no room, one at a time. */
export function Columns(props: {
  ref: Ref<HTMLDivElement>;
  columns: Column[];
  models: Model[];
  writing: Conversation[];
  onModel: (column: Column, model: string) => void;
  onClose: (column: Column) => void;
  askIn: (id: string) => Ask;
  /** Stands below the first words on a wide screen. */
  first: ReactNode;
}) {
  const { columns, models } = props;
  const { t } = useTranslation('chat');
  const [chosen, setChosen] = useState(0);
  const inFront = Math.min(chosen, columns.length - 1);
  const count = columns.length;
  const names = columns.map(({ model }) => models.find(({ id }) => id === model)?.name ?? model);
  return (
    <div ref={props.ref} className={classes.columns} data-count={count}>
      {count > 1 && (
        <SegmentedControl
          className={classes.switch}
          aria-label={t('common:model')}
          fullWidth
          data={names.map((label, i) => ({ value: String(i), label }))}
          value={String(inFront)}
          onChange={(value) => setChosen(Number(value))}
        />
      )}
      <div className={classes.side_by_side}>
        {columns.map((column, i) => (
          <section
            key={column.id ?? i}
            className={classes.column}
            data-in-front={i === inFront || undefined}
            aria-label={names[i]}
          >
            {count > 1 && (
              <Group gap={4} wrap="nowrap" className={classes.head}>
                <ModelSelect
                  models={models}
                  chosen={column.model}
                  onChange={(model) => props.onModel(column, model)}
                />
                <QuietIcon
                  aria-label={t('close_column', { name: names[i] })}
                  onClick={() => props.onClose(column)}
                >
                  <IconX size={16} />
                </QuietIcon>
              </Group>
            )}
            <Replies {...props} column={column} name={names[i]!} />
          </section>
        ))}
      </div>
      {columns.every(({ messages }) => messages.length === 0) && (
        <Empty
          icon={<IconMessage2 />}
          title={t('empty_title')}
          text={t(count > 1 ? 'empty_several' : 'empty_text')}
        >
          {count === 1 && <Box visibleFrom="md">{props.first}</Box>}
        </Empty>
      )}
    </div>
  );
}

function Replies(props: {
  column: Column;
  name: string;
  models: Model[];
  writing: Conversation[];
  askIn: (id: string) => Ask;
}) {
  const { column, askIn } = props;
  const { t } = useTranslation('chat');
  const { account_id } = useAccount();
  const { id } = column;
  return (
    <Messages
      conversation={column}
      models={props.models}
      label={`${t('messages')}: ${props.name}`}
      isWriting={props.writing.some((each) => each.id === id)}
      onAgain={id === undefined ? null : () => askAgain(askIn(id))}
      onAnew={(message, text) => id !== undefined && editQuestion(askIn(id), message, text)}
      onTurn={(before, to) =>
        id !== undefined && edit(account_id, id, (now) => switchedTo(now, before, to))
      }
    />
  );
}
