import { Chip, Group } from '@mantine/core';
import { type ComponentProps, useState } from 'react';
import { DateField } from '../date/DateField.tsx';
import { dayOfDate, addToDay } from '../date/days.ts';
import { FilterBar, type FilterChoice } from './FilterBar.tsx';
import { useTranslation } from '../../i18n.ts';

/** Choices of a filter that are offered before anything is typed. */
const fewMax = 6;
const manyMax = 20;

/** A value and its words. */
export interface NamedValue {
  value: string;
  label: string;
}

/** The choices that a box offers for a typed text: some of each list. */
export function offeredOf(lists: readonly FilterChoice[][], typed: string): FilterChoice[] {
  const wanted = typed.toLowerCase();
  return lists.flatMap((list) =>
    typed === ''
      ? list.slice(0, fewMax)
      : list.filter(({ label }) => label.toLowerCase().includes(wanted)).slice(0, manyMax),
  );
}

/** The days that a list is filtered by most. */
export function useDayChoices(): FilterChoice[] {
  const { t } = useTranslation('common');
  return ['1', '7', '30', 'own'].map((value) => ({
    name: 'days',
    value,
    label: t(`days.${value}`),
    group: t('days.name'),
  }));
}

/**
 * A list's filters in one box. Days are two of them: `from` and `to`, which have fields of their own
 * once they are picked.
 */
export function FilterBox({
  from,
  to,
  onChange,
  ...bar
}: {
  from: string | undefined;
  to: string | undefined;
  onChange: (change: Record<string, string | undefined>) => void;
} & Omit<ComponentProps<typeof FilterBar>, 'onChoose' | 'onRemove'>) {
  const [picksDays, setPicksDays] = useState(false);
  const choose = ({ name, value }: FilterChoice) => {
    if (name !== 'days') return onChange({ [name]: value });
    if (value === 'own') return setPicksDays(true);
    onChange({ from: firstOf(value), to: undefined });
  };
  const remove = (name: string) => {
    if (name === 'days') setPicksDays(false);
    onChange(name === 'days' ? { from: undefined, to: undefined } : { [name]: undefined });
  };
  return (
    <>
      <FilterBar {...bar} onChoose={choose} onRemove={remove} />
      {picksDays && <DayFields from={from} to={to} onChange={onChange} />}
    </>
  );
}

/** The first of so many days, the last of which is today. */
function firstOf(days: string): string {
  return addToDay(dayOfDate(new Date()), { days: 1 - Number(days) });
}

/** The first and the last day of a list. */
function DayFields(props: {
  from: string | undefined;
  to: string | undefined;
  onChange: (change: Record<string, string | undefined>) => void;
}) {
  const { t } = useTranslation('common');
  return (
    <Group gap="sm" mb="sm">
      {(['from', 'to'] as const).map((name) => (
        <DateField
          key={name}
          label={t(`days.${name}`)}
          value={props[name] ?? ''}
          onChange={(day) => props.onChange({ [name]: day || undefined })}
          w={{ base: 'calc(50% - 6px)', xs: 180 }}
        />
      ))}
    </Group>
  );
}

/** Values of a filter that are chosen by one press; the first one shows all. */
export function QuickChoices(props: {
  label: string;
  value: string | undefined;
  choices: readonly NamedValue[];
  onChange: (value: string | undefined) => void;
}) {
  const { t } = useTranslation('common');
  return (
    <Chip.Group
      value={props.value ?? ''}
      onChange={(chosen) => props.onChange(chosen || undefined)}
    >
      <Group gap={6} mb="md" role="group" aria-label={props.label}>
        {[{ value: '', label: t('any') }, ...props.choices].map(({ value, label }) => (
          <Chip key={value} value={value} size="sm" variant="outline">
            {label}
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}
