import { dateOf } from '../../components/date/days.ts';
import type { FilterChoice } from '../../components/list/FilterBar.tsx';
import {
  FilterBox,
  type NamedValue,
  offeredOf,
  QuickChoices,
  useDayChoices,
} from '../../components/list/filter-parts.tsx';
import { useLocale } from '../../components/text.tsx';
import { filterNames, idForm, metadataForm, shownStates, type Search } from './request-entries.ts';
import { useTranslation } from '../../i18n.ts';

export interface Choices {
  keys: NamedValue[];
  people: NamedValue[];
  models: NamedValue[];
}

interface Props {
  search: Search;
  choices: Choices;
  /** Called with the new filters; the list then starts again at the newest request. */
  onChange: (filters: Search) => void;
}

/** Chosen by one press; the others are among the choices of the box. */
const quickStates = ['IN_PROGRESS', 'FAILED', 'REFUSED'] as const;

/** The filters of the list: one box, and the states that are asked for most. */
export function RequestFilters({ search, choices, onChange }: Props) {
  const { t } = useTranslation('requests');
  const chips = useChips(search, choices);
  const choicesFor = useChoicesFor(choices);
  const set = (change: Search) => {
    const { cursor: _, ...filters } = search;
    const { code, ...wanted } = { ...filters, ...change };
    // The others have no code, so it would only hide that they are all shown.
    onChange(wanted.status === 'REFUSED' && code ? { ...wanted, code } : wanted);
  };
  return (
    <>
      <FilterBox
        label={t('find')}
        hint={t('find_hint')}
        chips={chips}
        choicesFor={choicesFor}
        from={search.from}
        to={search.to}
        onChange={set}
      />
      <QuickChoices
        label={t('status')}
        value={search.status}
        choices={quickStates.map((value) => ({ value, label: t(`state.${value}`) }))}
        onChange={(status) => set({ status: shownStates.find((each) => each === status) })}
      />
    </>
  );
}

/** The chosen filters in words. */
function useChips(search: Search, choices: Choices) {
  const { t } = useTranslation('requests');
  const format = new Intl.DateTimeFormat(useLocale(), { day: 'numeric', month: 'short' });
  const { from, to } = search;
  const labelOf = (of: NamedValue[], value: string) =>
    of.find((each) => each.value === value)?.label ?? value;
  const shown = (name: (typeof filterNames)[number], value: string) => {
    if (name === 'status') return t(`state.${value}`);
    if (name === 'key') return labelOf(choices.keys, value);
    if (name === 'person') return labelOf(choices.people, value);
    if (name === 'model') return labelOf(choices.models, value);
    return value;
  };
  const day = (value: string | undefined) => (value ? format.format(dateOf(value)) : '…');
  return [
    ...filterNames.flatMap((name) => {
      const value = search[name];
      if (value === undefined || name === 'from' || name === 'to') return [];
      return [{ name, text: `${t(name === 'id' ? 'find_id' : name)}: ${shown(name, value)}` }];
    }),
    ...(from || to ? [{ name: 'days', text: `${day(from)} – ${day(to)}` }] : []),
  ];
}

/** The choices that the box offers for a typed text. */
function useChoicesFor({ keys, people, models }: Choices): (typed: string) => FilterChoice[] {
  const { t } = useTranslation('requests');
  const listOf = (name: string, values: NamedValue[]) =>
    values.map((each) => ({ ...each, name, group: t(name) }));
  const states = shownStates.map((value) => ({ value, label: t(`state.${value}`) }));
  const days = useDayChoices();
  const lists = [
    listOf('status', states),
    days,
    listOf('key', keys),
    // One person makes no difference.
    listOf('person', people.length > 1 ? people : []),
    listOf('model', models),
  ];
  return (typed) => {
    const typedOf = (name: string, form: RegExp, group: string): FilterChoice[] =>
      form.test(typed) ? [{ name, value: typed, label: typed, group }] : [];
    const own = [
      ...typedOf('metadata', metadataForm, t('metadata')),
      ...typedOf('id', idForm, t('find_id')),
    ];
    return [...offeredOf(lists, typed), ...own];
  };
}
