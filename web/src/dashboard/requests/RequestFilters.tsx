import { Button, Collapse, Group, Select, SimpleGrid, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { IconFilter, IconSearch, IconX } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { PlainButton, QuietIcon } from '../../components/styles.ts';
import { filterNames, idForm, metadataForm, statuses, type Search } from './request-entries.ts';
import { useTranslation } from '../../i18n.ts';

export interface Choices {
  keys: { value: string; label: string }[];
  models: string[];
}

interface Props {
  search: Search;
  choices: Choices;
  /** Called with the new filters; the list then starts again at the newest request. */
  onChange: (filters: Search) => void;
  isPhone: boolean;
}

/** The filters of the list. */
export function RequestFilters(props: Props) {
  const { search, isPhone, onChange } = props;
  const { t } = useTranslation('requests');
  const [open, { toggle }] = useDisclosure(false);
  const set = (change: Search) => {
    const { cursor: _, ...filters } = search;
    onChange({ ...filters, ...change });
  };
  const fields = <Fields {...props} set={set} />;
  return (
    <>
      {isPhone ? (
        <>
          <PlainButton
            fullWidth
            mb="sm"
            leftSection={<IconFilter size={16} />}
            onClick={toggle}
            aria-expanded={open}
          >
            {t('filters')}
          </PlainButton>
          <Collapse expanded={open}>{fields}</Collapse>
        </>
      ) : (
        fields
      )}
      <Chips {...props} set={set} />
    </>
  );
}

function Fields({ search, choices, set }: Props & { set: (change: Search) => void }) {
  const { t } = useTranslation('requests');
  const choice = (name: 'status' | 'model' | 'key') => ({
    label: t(name),
    placeholder: t('any'),
    clearable: true,
    clearButtonProps: { 'aria-label': t('remove', { what: t(name) }) },
    value: search[name] ?? null,
    onChange: (chosen: string | null) => set({ [name]: chosen ?? undefined }),
  });
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 7 }} spacing="sm" verticalSpacing="xs" mb="sm">
      <TypedField
        label={t('find_id')}
        hint={t('find_id_hint')}
        wrong={t('bad_id')}
        form={idForm}
        value={search.id}
        onType={(id) => set({ id })}
      />
      <Select
        {...choice('status')}
        data={statuses.map((value) => ({ value, label: t(`common:status.${value}`) }))}
      />
      <Select
        {...choice('model')}
        searchable
        limit={100}
        nothingFoundMessage={t('common:nothing_found')}
        data={choices.models}
        comboboxProps={{ width: 320, position: 'bottom-start' }}
      />
      <Select {...choice('key')} data={choices.keys} />
      <TypedField
        label={t('metadata')}
        hint={t('metadata_hint')}
        wrong={t('bad_metadata')}
        form={metadataForm}
        value={search.metadata}
        onType={(metadata) => set({ metadata })}
      />
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={t(name)}
          value={search[name] ?? ''}
          onChange={({ currentTarget }) => set({ [name]: currentTarget.value || undefined })}
        />
      ))}
    </SimpleGrid>
  );
}

interface TypedProps {
  label: string;
  hint: string;
  /** Shown while the text does not match `form`. */
  wrong: string;
  form: RegExp;
  value: string | undefined;
  onType: (text: string | undefined) => void;
}

/** A text that filters as it is typed. */
function TypedField({ label, hint, wrong, form, value, onType }: TypedProps) {
  const [typed, setTyped] = useState(value ?? '');
  useEffect(() => setTyped(value ?? ''), [value]);
  const isFit = (text: string) => text === '' || form.test(text);
  const tell = useDebouncedCallback((text: string) => onType(text || undefined), 300);
  return (
    <TextInput
      label={label}
      placeholder={hint}
      leftSection={<IconSearch size={16} />}
      value={typed}
      error={!isFit(typed) && wrong}
      onChange={({ currentTarget }) => {
        const text = currentTarget.value.trim();
        setTyped(text);
        if (isFit(text)) tell(text);
      }}
      spellCheck={false}
      autoComplete="off"
    />
  );
}

function Chips({ search, choices, set }: Props & { set: (change: Search) => void }) {
  const { t } = useTranslation('requests');
  const given = filterNames.filter((name) => search[name] !== undefined);
  if (given.length === 0) return null;
  const shown = (name: (typeof given)[number]) => {
    const value = search[name]!;
    if (name === 'status') return t(`common:status.${value}`);
    if (name === 'key') return choices.keys.find((key) => key.value === value)?.label ?? value;
    return value;
  };
  return (
    <Group gap={6} mb="md">
      {given.map((name) => {
        const what = `${t(name === 'id' ? 'find_id' : name)}: ${shown(name)}`;
        return (
          <Group
            key={name}
            gap={2}
            pl="xs"
            pr={2}
            fz="sm"
            wrap="nowrap"
            bg="var(--mantine-color-default-hover)"
            style={{ borderRadius: 999, maxWidth: '100%' }}
          >
            <span style={{ overflow: 'hidden', textOverflow: 'ellipsis' }}>{what}</span>
            <QuietIcon
              size={24}
              radius="xl"
              onClick={() => set({ [name]: undefined })}
              aria-label={t('remove', { what })}
            >
              <IconX size={14} />
            </QuietIcon>
          </Group>
        );
      })}
      <Button
        size="compact-sm"
        variant="subtle"
        onClick={() => set(Object.fromEntries(filterNames.map((name) => [name, undefined])))}
      >
        {t('clear')}
      </Button>
    </Group>
  );
}
