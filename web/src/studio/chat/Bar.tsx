import { Box, Collapse, Group, Select, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAdjustmentsHorizontal, IconColumns, IconList, IconPlus } from '@tabler/icons-react';
import { Note, PlainButton, QuietIcon } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import classes from './Chat.module.css';
import { costOf } from './branches.ts';
import { ChatSettings, settingsIn } from './ChatSettings.tsx';
import type { Column, ConversationDraft } from './conversations.ts';
import type { Model } from '../../api-types.ts';
import { Rate } from '../form/Rate.tsx';
import { useTranslation } from '../../i18n.ts';

/** The model, the cost so far, and the settings, which are folded by default. */
export function Bar(props: {
  columns: Column[];
  models: Model[];
  set: (with_: Partial<ConversationDraft>, only?: Column) => void;
  /** Null if no more models fit beside these. */
  onAdd: (() => void) | null;
  onList: () => void;
  onNew: () => void;
}) {
  const { columns, models, set, onAdd } = props;
  const { t } = useTranslation('chat');
  const [isSet, settings] = useDisclosure(false);
  const first = columns[0]!;
  const isSeveral = columns.length > 1;
  const chosen = columns.flatMap(({ model }) => models.find(({ id }) => id === model) ?? []);
  const cost = columns.reduce((sum, each) => sum + costOf(each), 0n);
  const changed = settingsIn(first).map((name) => t(name));
  const listShownFrom = isSeveral ? undefined : 'md';
  return (
    <>
      <Group gap="xs" wrap="nowrap" className={classes.bar}>
        <QuietIcon
          hiddenFrom={listShownFrom}
          size="lg"
          aria-label={t('conversations')}
          onClick={props.onList}
        >
          <IconList size={20} />
        </QuietIcon>
        {isSeveral ? (
          <Text size="sm" fw={600} truncate>
            {t('models', { count: columns.length })}
          </Text>
        ) : (
          <>
            <ModelSelect
              models={models}
              chosen={first.model}
              onChange={(model) => set({ model })}
            />
            <Box visibleFrom="xl" className={classes.rate}>
              {chosen[0] && <Rate model={chosen[0]} />}
            </Box>
          </>
        )}
        <Group gap="xs" wrap="nowrap" ml="auto" flex="none">
          {cost > 0n && (
            <Note data-conversation-cost={String(cost)}>
              <Text span inherit visibleFrom="sm">
                {t('conversation_cost')}{' '}
              </Text>
              <Usd micro={cost} />
            </Note>
          )}
          <PlainButton
            size="sm"
            px={8}
            aria-label={t('add_model')}
            title={t('add_model_text')}
            disabled={onAdd === null}
            onClick={() => onAdd?.()}
          >
            <IconColumns size={18} />
            <Text span inherit ml={6} visibleFrom={isSeveral ? 'sm' : 'xl'}>
              {t('add_model')}
            </Text>
          </PlainButton>
          <PlainButton
            size="sm"
            variant={changed.length > 0 ? 'light' : 'default'}
            px={8}
            aria-label={t('common:nav.settings')}
            aria-expanded={isSet}
            title={changed.join(' · ')}
            onClick={settings.toggle}
          >
            <IconAdjustmentsHorizontal size={18} />
          </PlainButton>
          <PlainButton size="sm" px={8} aria-label={t('new')} onClick={props.onNew}>
            <IconPlus size={18} />
          </PlainButton>
        </Group>
      </Group>
      <Collapse expanded={isSet}>
        <ChatSettings conversation={first} models={chosen} set={set} />
      </Collapse>
    </>
  );
}

export function ModelSelect(props: {
  models: Model[];
  chosen: string;
  onChange: (model: string) => void;
}) {
  const { models, chosen, onChange } = props;
  const { t } = useTranslation('chat');
  const isOffered = models.some(({ id }) => id === chosen);
  return (
    <Select
      aria-label={t('common:model')}
      data={useOffered(models)}
      value={isOffered ? chosen : null}
      onChange={(id) => id !== null && onChange(id)}
      allowDeselect={false}
      searchable
      className={classes.model}
      placeholder={chosen}
      error={isOffered ? undefined : t('model_gone')}
    />
  );
}

/** The models to choose from; stopped ones say so. */
function useOffered(models: Model[]) {
  const { t } = useTranslation('chat');
  return models.map(({ id, name, status }) => {
    const isStopped = status === 'stopped';
    return {
      value: id,
      label: isStopped ? t('stopped_model', { name }) : name,
      disabled: isStopped,
    };
  });
}
