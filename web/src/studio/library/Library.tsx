import './library-texts.ts';
import { Box, Button, Group, SegmentedControl, Skeleton } from '@mantine/core';
import { IconFilterOff, IconPhoto } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useQueryOf } from '../../address.ts';
import { DateField } from '../../components/date/DateField.tsx';
import { dayOfDate } from '../../components/date/days.ts';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { FilterSelect } from '../../components/list/FilterSelect.tsx';
import { More } from '../../components/list/More.tsx';
import { SearchField } from '../../components/list/SearchField.tsx';
import { PlainButton } from '../../components/styles.ts';
import { useMoment } from '../../components/text.tsx';
import { useModels } from '../price.ts';
import { librarySearch, parts, type LibrarySearch } from '../search.ts';
import { selectedMax, useLibrary, useUnexpired, type Entry } from './library-data.ts';
import { Lines } from './Lines.tsx';
import { Selection } from './Selection.tsx';
import { Viewed } from './Viewed.tsx';
import { Wall, type WallItem } from './Wall.tsx';
import { useTranslation } from '../../i18n.ts';

/** Everything that the account has made, over all models. */
export function Library() {
  const { t } = useTranslation('library');
  const search = useQueryOf(librarySearch);
  const navigate = useNavigate();
  const found = useLibrary(search);
  const entries = useUnexpired(found.rows ?? []);
  const items = entries.flatMap((entry) =>
    entry.outputs.map((output): WallItem => ({ entry, output })),
  );
  const gone = entries.filter(({ outputs }) => outputs.length === 0);
  const { chosen, setChosen, toggle } = useChosen();
  const [viewed, setViewed] = useState<WallItem | null>(null);
  const [clearings, setClearings] = useState(0);
  const change = (with_: LibrarySearch) =>
    void navigate({ to: '/studio/library', search: { ...search, ...with_ }, replace: true });
  const clear = () => {
    change({ q: undefined, show: undefined, model: undefined, day: undefined });
    setClearings(clearings + 1);
  };
  const living = new Set(items.map(({ entry }) => entry.request_id));
  const ids = [...living].filter((id) => chosen?.has(id));

  return (
    <>
      <PageTitle title={t('title')}>
        <PlainButton
          aria-pressed={chosen !== null}
          disabled={items.length === 0}
          onClick={() => setChosen(chosen === null ? new Set() : null)}
        >
          {t(chosen === null ? 'select' : 'done')}
        </PlainButton>
      </PageTitle>
      <Filters key={clearings} search={search} change={change} />
      {found.error && <Failure error={found.error} retry={found.retry} />}
      {!found.rows && !found.error && <Waiting />}
      {found.rows?.length === 0 && !found.error && (
        <Nothing
          search={search}
          clear={clear}
          lookedTo={found.first?.looked_to ?? null}
          more={found.more}
        />
      )}
      <div style={{ opacity: found.isOld ? 0.6 : 1 }} aria-busy={found.isOld}>
        {items.length > 0 && (
          <Wall items={items} choosing={{ chosen, toggle }} onOpen={setViewed} />
        )}
        {gone.length > 0 && <Lines entries={gone} />}
      </div>
      {entries.length > 0 && <More of={found} />}
      {chosen !== null && (
        <Selection
          ids={ids}
          onAll={() => setChosen(new Set([...living].slice(0, selectedMax)))}
          onChange={(left) => setChosen(new Set(left))}
          onDone={() => setChosen(null)}
        />
      )}
      {viewed !== null && (
        <Viewed item={viewed} items={items} onMove={setViewed} onClose={() => setViewed(null)} />
      )}
    </>
  );
}

function useChosen() {
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null);
  const toggle = ({ request_id }: Entry) =>
    setChosen((before) => {
      const next = new Set(before);
      if (!next.delete(request_id) && next.size < selectedMax) next.add(request_id);
      return next;
    });
  return { chosen, setChosen, toggle };
}

function Filters(props: { search: LibrarySearch; change: (with_: LibrarySearch) => void }) {
  const { search, change } = props;
  const { t } = useTranslation('library');
  const models = (useModels().data ?? []).filter(({ kind }) => kind !== 'text');
  return (
    <Group gap="sm" mb="lg" align="center">
      <Box flex={{ base: '1 1 100%', lg: '1 1 220px' }}>
        <SearchField
          label={t('search')}
          hint={t('search')}
          text={search.q ?? ''}
          onChange={(q) => change({ q: q || undefined })}
        />
      </Box>
      <SegmentedControl
        aria-label={t('show')}
        value={search.show ?? 'all'}
        onChange={(value) => change({ show: parts.find((each) => each === value) })}
        data={['all' as const, ...parts].map((value) => ({ value, label: t(value) }))}
      />
      <FilterSelect
        label={t('model')}
        all={t('any_model')}
        value={search.model}
        onChange={(model) => change({ model })}
        data={models.map(({ id, name }) => ({ value: id, label: name }))}
        searchable
        width={180}
        w={{ base: 'calc(50% - 6px)', xs: 180 }}
      />
      <DateField
        label={t('day')}
        isBare
        value={search.day ?? ''}
        max={dayOfDate(new Date())}
        onChange={(day) => change({ day: day || undefined })}
        w={{ base: 'calc(50% - 6px)', xs: 160 }}
      />
    </Group>
  );
}

function Waiting() {
  return (
    <Group gap={8} aria-busy="true" role="status">
      {[370, 220, 390, 160, 290, 300].map((width) => (
        <Skeleton key={width} h={220} w={width} maw="100%" radius="md" />
      ))}
    </Group>
  );
}

function Nothing(props: {
  search: LibrarySearch;
  clear: () => void;
  lookedTo: string | null;
  more: (() => void) | null;
}) {
  const { search, clear, lookedTo, more } = props;
  const { t } = useTranslation('library');
  const moment = useMoment();
  const isNarrowed = Object.values(search).some(Boolean);
  if (!isNarrowed && more === null) {
    return (
      <Empty icon={<IconPhoto />} title={t('empty_title')} text={t('empty_text')}>
        <Button component={Link} to="/studio">
          {t('empty_action')}
        </Button>
      </Empty>
    );
  }
  return (
    <Empty
      icon={<IconFilterOff />}
      title={t('none_title')}
      text={lookedTo ? t('further_text', { when: moment(lookedTo) }) : t('none_text')}
    >
      {more && <Button onClick={more}>{t('further')}</Button>}
      {isNarrowed && <PlainButton onClick={clear}>{t('clear')}</PlainButton>}
    </Empty>
  );
}
