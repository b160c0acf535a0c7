import {
  Accordion,
  Alert,
  Badge,
  Box,
  Code,
  Group,
  List,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
} from '@mantine/core';
import { IconAlertTriangle, IconBook } from '@tabler/icons-react';
import { useState } from 'react';
import { RowLink } from '../links.tsx';
import { Dimmed, Heading, Note, RowButton, RowName, Tag } from '../../components/styles.ts';
import type { CatalogProblem, CatalogRow } from '../../api-types.ts';
import { type Column, column } from '../../components/list/DataList.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { SearchField } from '../../components/list/SearchField.tsx';
import './catalog-texts.ts';
import { Drawer } from '../../components/Dialog.tsx';
import { Failure } from '../../components/Failure.tsx';
import { History } from './History.tsx';
import { Sale } from './Sale.tsx';
import { MarginLines, needed, PriceLines, Reason, StateBadge } from '../margin.tsx';
import { liveQuery } from '../live.ts';
import { useOperatorQuery } from '../../queries.ts';
import { kinds } from '../../studio/form/gallery-filter.ts';
import { offered, useAddress } from '../search.ts';
import { FilterSelect } from '../../components/list/FilterSelect.tsx';
import { type PagedRows, PagedList } from '../../components/list/PagedList.tsx';
import { useTranslation } from '../../i18n.ts';

/** More rows in one table are slow to render. */
const pageSize = 50;

/** Every row of the catalog files. */
export function Catalog() {
  const { t } = useTranslation('operator_catalog');
  const [{ q, kind, state, upstream }, setAddress] = useAddress('/operator/catalog');
  const found = useOperatorQuery('GET /models', {}, liveQuery);
  const rows = found.data?.data.filter((row) => fits(row, { q, kind, state, upstream }));
  const all = found.data?.data.length ?? 0;
  const names = new Set(found.data?.data.flatMap((row) => row.upstreams.map((u) => u.upstream)));
  return (
    <>
      <PageTitle title={t('common:nav.catalog')} text={t('text')} />
      {found.data && found.data.problems.length > 0 && <Problems problems={found.data.problems} />}
      <Group mb="md" gap="sm">
        <SearchField
          label={t('find')}
          hint={t('find_hint')}
          text={q ?? ''}
          onChange={(text) => setAddress({ q: text })}
        />
        <FilterSelect
          label={t('kind')}
          all={t('all_kinds')}
          data={kinds.map((value) => ({ value, label: t(`common:kind.${value}`) }))}
          value={kind}
          onChange={(value) => setAddress({ kind: value })}
          width={150}
        />
        <FilterSelect
          label={t('common:upstream')}
          all={t('all_upstreams')}
          data={[...new Set([...names, ...(upstream ? [upstream] : [])])].toSorted()}
          searchable
          value={upstream}
          onChange={(value) => setAddress({ upstream: value })}
          width={180}
        />
        <SegmentedControl
          aria-label={t('state')}
          value={state ?? 'sold'}
          onChange={(value) => setAddress({ state: value === 'sold' ? undefined : value })}
          data={offered.rows.map((value) => ({ value, label: t(value) }))}
        />
      </Group>
      <Rows
        key={`${q} ${kind} ${state} ${upstream}`}
        of={{ rows, error: found.error, retry: () => void found.refetch(), more: null }}
        all={all}
      />
      {!state && found.data && (
        <Hidden
          rows={found.data.data.filter((row) => fits(row, { q, kind, state: 'hidden', upstream }))}
        />
      )}
    </>
  );
}

type CatalogFilter = Record<'q' | 'kind' | 'state' | 'upstream', string | undefined>;

function fits(row: CatalogRow, { q, kind, state, upstream }: CatalogFilter): boolean {
  const names = row.upstreams.map((each) => each.upstream);
  if (kind && row.kind !== kind) return false;
  if (upstream && !names.includes(upstream)) return false;
  if (state === 'problem' && row.problem === null) return false;
  if (!state && row.state === 'hidden') return false;
  if (state && state !== 'problem' && state !== 'all' && row.state !== state) return false;
  const said = [row.id, row.name, row.task, row.file, ...names].join(' ').toLowerCase();
  const words = (q ?? '').toLowerCase().split(/\s+/);
  return words.every((word) => said.includes(word));
}

/** Rows that are not sold because their upstreams are not set up, folded by upstream. */
function Hidden({ rows }: { rows: CatalogRow[] }) {
  const { t } = useTranslation('operator_catalog');
  if (rows.length === 0) return null;
  const groups = Map.groupBy(rows, ({ upstreams: [first] }) => first?.upstream ?? '');
  return (
    <Box component="section" mt="xl" aria-label={t('hidden_rows')}>
      <Heading mb={4}>{t('hidden_rows')}</Heading>
      <Dimmed mb="sm">{t('hidden_text')}</Dimmed>
      <Accordion variant="default" chevronPosition="left" order={3}>
        {[...groups].toSorted().map(([name, of]) => (
          <Accordion.Item key={name} value={name}>
            <Accordion.Control>
              <Text size="sm" className="wrap">
                <Text span inherit fw={500}>
                  {name}
                </Text>
                {' · '}
                {t('rows', { count: of.length })}
                {of[0]!.reason !== null && (
                  <Note span className="wrap">
                    {' · '}
                    {needed(of[0]!.reason, (variables) => t('needs', { variables }))}
                  </Note>
                )}
              </Text>
            </Accordion.Control>
            <Accordion.Panel>
              <Stack gap={6}>
                {of.map((row) => (
                  <RowLink key={row.id} to={`/operator/catalog/row/${row.id}`}>
                    {row.id}
                  </RowLink>
                ))}
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Box>
  );
}

const problemsShown = 12;

/** The problems of the files, as `farebox catalog check` reports them. */
function Problems({ problems }: { problems: CatalogProblem[] }) {
  const { t } = useTranslation('operator_catalog');
  const shown = problems.slice(0, problemsShown);
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle />}
      title={t('problems_title', { count: problems.length })}
      mb="lg"
      role="alert"
    >
      <Stack gap="sm">
        <List size="sm" spacing={6}>
          {shown.map((problem) => (
            <List.Item key={`${problem.file} ${problem.path} ${problem.message}`}>
              <Place problem={problem} />{' '}
              <Text span fz="sm" className="wrap">
                {problem.message}
              </Text>
            </List.Item>
          ))}
        </List>
        {problems.length > shown.length && (
          <Text fz="sm">{t('more_problems', { n: problems.length - shown.length })}</Text>
        )}
        <Text fz="sm">{t('problems_text')}</Text>
      </Stack>
    </Alert>
  );
}

function Place({ problem: { file, line } }: { problem: CatalogProblem }) {
  const { t } = useTranslation('operator_catalog');
  const name = file === '' ? t('folder') : file;
  return <Code>{line === null ? name : `${name}:${line}`}</Code>;
}

function Rows({ of, all }: { of: PagedRows<CatalogRow>; all: number }) {
  const { rows } = of;
  const { t } = useTranslation('operator_catalog');
  const [shown, setShown] = useState(pageSize);
  const [edited, setEdited] = useState<CatalogRow | null>(null);
  const more = rows && rows.length > shown ? () => setShown(shown + pageSize) : null;
  const columns: Column<CatalogRow>[] = [
    column.plain(t('common:model'), (row) => <Named row={row} />),
    column.plain(t('state'), (row) => <State row={row} />),
    column.figure(t('price'), (row) =>
      row.unit === null ? null : <PriceLines of={row} unit={row.unit} />,
    ),
    column.figure(t('cost'), (row) =>
      row.unit === null ? null : <MarginLines of={row} what="cost" />,
    ),
    column.figure(t('margin'), (row) =>
      row.unit === null ? null : <MarginLines of={row} what="margin" />,
    ),
    column.plain(t('upstreams'), (row) =>
      row.upstreams.length === 0 ? null : <Upstreams row={row} />,
    ),
    column.actions((row) =>
      row.unit === null ? null : (
        <RowButton onClick={() => setEdited(row)} aria-label={t('edit_row', { name: row.name })}>
          {t('edit')}
        </RowButton>
      ),
    ),
  ];
  return (
    <>
      {rows && rows.length > 0 && !of.error && (
        <Dimmed mb="xs" aria-live="polite">
          {t('shown', { shown: rows.length, all })}
        </Dimmed>
      )}
      <PagedList
        of={{ ...of, rows: rows?.slice(0, shown), more }}
        empty={{
          icon: <IconBook />,
          title: t(all > 0 ? 'nothing_title' : 'none_title'),
          text: t(all > 0 ? 'nothing_text' : 'none_text'),
        }}
        label={t('common:nav.catalog')}
        columns={columns}
        keyOf={(row) => `${row.file} ${row.id}`}
      />
      {edited && <EditColumn row={edited} onClose={() => setEdited(null)} />}
    </>
  );
}

/** How one row is sold, in a column beside the list. */
function EditColumn({ row, onClose }: { row: CatalogRow; onClose: () => void }) {
  const { t } = useTranslation('operator_catalog');
  const found = useOperatorQuery('GET /models/*', { params: { '*': row.id } });
  const { data: detail, error } = found;
  return (
    <Drawer opened onClose={onClose} title={row.name ?? row.id} position="right" size="lg">
      {error && <Failure error={error} retry={() => void found.refetch()} />}
      {!detail && !error && <Skeleton h={280} />}
      {detail && (
        <Stack gap="xl">
          <Sale row={detail} reload={found.refetch} />
          <History row={detail} />
          <RowLink to={`/operator/catalog/row/${row.id}`}>{t('whole_row')}</RowLink>
        </Stack>
      )}
    </Drawer>
  );
}

function Named({ row }: { row: CatalogRow }) {
  const { t } = useTranslation('common');
  if (row.kind === null) {
    return <RowName className="wrap">{row.id}</RowName>;
  }
  return (
    <Group gap="0 8px" title={`${t(`kind.${row.kind}`)} · ${row.task}`}>
      <RowLink to={`/operator/catalog/row/${row.id}`}>{row.name}</RowLink>
      <Note ff="monospace" className="wrap">
        {row.id}
      </Note>
    </Group>
  );
}

function State({ row }: { row: CatalogRow }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Group gap="2px 8px">
      <StateBadge row={row} />
      {row.override && <Tag>{t('set_here')}</Tag>}
      <Reason row={row} />
    </Group>
  );
}

function Upstreams({ row }: { row: CatalogRow }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Group gap={4}>
      {row.upstreams.map(({ upstream, model, set_up }, i) => (
        <Badge
          key={`${upstream} ${model}`}
          variant={set_up ? 'light' : 'outline'}
          color={set_up ? 'fare' : 'gray'}
          {...(!set_up && { c: 'var(--mantine-color-dimmed)' })}
          fw={500}
          title={`${model} · ${t(set_up ? 'set_up' : 'not_set_up')}`}
        >
          {row.upstreams.length > 1 ? `${i + 1}. ${upstream}` : upstream}
        </Badge>
      ))}
    </Group>
  );
}
