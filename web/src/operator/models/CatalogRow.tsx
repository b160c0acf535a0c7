import {
  Alert,
  Badge,
  Card,
  Group,
  List,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { usePathPart } from '../../address.ts';
import { Dimmed, Note, RowName, Heading, Dot } from '../../components/styles.ts';
import type { CatalogRoute, CatalogRowDetail } from '../../api-types.ts';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Percent, Took, Usd } from '../../components/text.tsx';
import { Failure } from '../../components/Failure.tsx';
import { BackLink } from '../../components/frame/BackLink.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Snippet } from '../../components/Snippet.tsx';
import { Stat } from '../../components/Stat.tsx';
import './catalog-texts.ts';
import { History } from './History.tsx';
import { Sale } from './Sale.tsx';
import { MarginLines, needed, PriceLines, StateBadge } from '../margin.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

export function CatalogRow() {
  const { t } = useTranslation('operator_catalog');
  const id = usePathPart('_splat');
  const found = useOperatorQuery('GET /models/*', { params: { '*': id } });
  const { data: row, error } = found;
  return (
    <>
      <BackLink to="/operator/catalog">{t('back')}</BackLink>
      <PageTitle title={row?.name ?? id} {...(row && { text: row.description })}>
        {row && row.stopped === null && <StateBadge row={row} />}
      </PageTitle>
      {error && <Failure error={error} retry={() => void found.refetch()} />}
      {!row && !error && <Skeleton h={280} />}
      {row && (
        <Stack gap="lg">
          <Facts row={row} />
          <Sale row={row} reload={found.refetch} />
          <History row={row} />
          <RecentDays recent={row.recent} />
          <Routes row={row} />
          {row.rates.length > 0 && <Rates row={row} />}
          <Source row={row} />
          <Snippet
            what={row.id}
            code={{
              [t('example')]: JSON.stringify(row.example, null, 2),
              [t('schema')]: JSON.stringify(row.input_schema, null, 2),
            }}
          />
        </Stack>
      )}
    </>
  );
}

function Facts({ row }: { row: CatalogRowDetail }) {
  const { t } = useTranslation('operator_catalog');
  const { problem, reason, cost_may_exceed } = row;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Text ff="monospace" fz="sm" className="wrap">
          {row.id}
        </Text>
        <Badge variant="light" color="gray" c="var(--mantine-color-text)" fw={500}>
          {t(`common:kind.${row.kind}`)} · {row.task}
        </Badge>
        {row.uncensored && (
          <Badge variant="light" color="orange" c="var(--mantine-color-text)" fw={500}>
            {t('uncensored')}
          </Badge>
        )}
      </Group>
      <Dimmed>
        {row.line === null ? row.file : t('file', { file: row.file, line: row.line })}
        {' · '}
        {row.max > 0 ? t('max', { n: row.max, unit: row.max_unit }) : t('no_max')}
        {' · '}
        {t('age')} <Took ms={row.job_age_seconds * 1000} />
        {row.context_tokens !== undefined &&
          ` · ${t('window', { tokens: row.context_tokens, output: row.max_output_tokens })}`}
        {row.checked_on !== null && (
          <>
            {' · '}
            <Text
              span
              inherit
              style={{ whiteSpace: 'nowrap' }}
              {...(row.price_is_old && { c: 'orange' })}
            >
              {t('checked', { day: row.checked_on })}
            </Text>
          </>
        )}
      </Dimmed>
      {reason !== null && (
        <Alert color="gray" title={t('hidden')}>
          <Text size="sm">{needed(reason, (variables) => t('needs', { variables }))}</Text>
        </Alert>
      )}
      {cost_may_exceed !== null && (
        <Alert color="orange" title={t('may_exceed')}>
          <Text size="sm">{cost_may_exceed}</Text>
        </Alert>
      )}
      {problem !== null && (
        <Alert color="red" icon={<IconAlertTriangle />} title={t('stale')}>
          <Text size="sm">{t('stale_text')}</Text>
          <Text size="sm" className="wrap">
            {problem.line === null ? problem.file : `${problem.file}:${problem.line}`}:{' '}
            {problem.message}
          </Text>
        </Alert>
      )}
    </Stack>
  );
}

function RecentDays({ recent }: { recent: CatalogRowDetail['recent'] }) {
  const { t } = useTranslation('operator_catalog');
  const ended = recent.completed + recent.failed;
  return (
    <section>
      <Heading mb="sm">{t('recent', { n: recent.days })}</Heading>
      {ended === 0 ? (
        <Text c="dimmed">{t('no_requests')}</Text>
      ) : (
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm">
          <Stat label={t('requests')} note={t('failed', { n: recent.failed })}>
            <span className="number">{recent.completed}</span>
          </Stat>
          <Stat label={t('success')}>
            <Percent ppm={Math.floor((recent.completed * 1_000_000) / ended)} />
          </Stat>
          <Stat label={t('common:nav.revenue')}>
            <Usd micro={recent.charged_usd_micro} />
          </Stat>
          <Stat
            label={t('cost')}
            note={recent.uncosted > 0 ? t('uncosted', { n: recent.uncosted }) : undefined}
          >
            <Usd micro={recent.cost_usd_micro} />
          </Stat>
          <Stat label={t('margin')}>
            <Usd micro={recent.margin_usd_micro} />
          </Stat>
        </SimpleGrid>
      )}
    </section>
  );
}

function Routes({ row }: { row: CatalogRowDetail }) {
  const { t } = useTranslation('operator_catalog');
  const columns: Column<CatalogRoute>[] = [
    column.plain(t('common:upstream'), (route) => (
      <Stack gap={0}>
        <RowName>
          {row.upstreams.length > 1 && `${row.upstreams.indexOf(route) + 1}. `}
          {route.upstream}
        </RowName>
        {route.weight !== null && <Note fw={400}>{t('weight', { n: route.weight })}</Note>}
      </Stack>
    )),
    column.plain(t('theirs'), (route) => (
      <Text fz="sm" ff="monospace" className="wrap">
        {route.model}
      </Text>
    )),
    column.plain(t('state'), (route) => (
      <Stack gap={2} align="flex-start">
        <Dot color={route.set_up ? 'fare' : 'gray'}>
          {t(route.set_up ? 'set_up' : 'not_set_up')}
        </Dot>
        {route.reason !== null && (
          <Note>{needed(route.reason, (variables) => t('needs', { variables }))}</Note>
        )}
      </Stack>
    )),
    column.figure(t('price'), (route) => <PriceLines of={route} unit={row.unit} />),
    column.figure(t('cost'), (route) => <MarginLines of={route} what="cost" />),
    column.figure(t('margin'), (route) => <MarginLines of={route} what="margin" />),
  ];
  return (
    <Card withBorder padding="lg">
      <Heading mb="sm">{t('routes')}</Heading>
      <DataList
        label={t('routes')}
        columns={columns}
        rows={row.upstreams}
        keyOf={(route) => `${route.upstream} ${route.model}`}
      />
    </Card>
  );
}

function Rates({ row }: { row: CatalogRowDetail }) {
  const { t } = useTranslation('operator_catalog');
  const columns: Column<CatalogRowDetail['rates'][number]>[] = [
    column.plain(t('rate'), (rate) => rate.resolution ?? t('any')),
    column.figure(`${t('price')}, ${t(`per.${row.unit}`)}`, (rate) => (
      <Usd micro={rate.price_usd_micro} />
    )),
    column.figure(t('cost'), (rate) => (
      <MarginLines of={{ margins: [rate], rates: [] }} what="cost" />
    )),
    column.figure(t('margin'), (rate) => (
      <MarginLines of={{ margins: [rate], rates: [] }} what="margin" />
    )),
  ];
  return (
    <Card withBorder padding="lg">
      <Heading mb="sm">{t('rates')}</Heading>
      <Dimmed mb="sm">{t('rates_text')}</Dimmed>
      <DataList
        label={t('rates')}
        columns={columns}
        rows={row.rates}
        keyOf={(rate) => rate.resolution ?? ''}
      />
      {row.extras.length > 0 && (
        <>
          <Title order={3} fz="sm" mt="md" mb={4}>
            {t('extras')}
          </Title>
          <List size="sm" spacing={4}>
            {row.extras.map((extra) => (
              <List.Item key={extra.label}>
                <span className="number">+${extra.add_usd}</span>{' '}
                {extra.per_item
                  ? t('per_item', { field: extra.field, free: extra.free ?? 0 })
                  : t('when', { field: extra.field, value: JSON.stringify(extra.equals) })}
                {': '}
                {extra.label}
              </List.Item>
            ))}
          </List>
        </>
      )}
    </Card>
  );
}

function Source({ row }: { row: CatalogRowDetail }) {
  const { t } = useTranslation('operator_catalog');
  const said = [
    [t('source_row'), row.note],
    [t('source_file', { file: row.file }), row.file_note],
  ].filter(([, text]) => text !== '');
  return (
    <Card withBorder padding="lg">
      <Heading mb="sm">{t('source')}</Heading>
      {said.length === 0 && <Text c="dimmed">{t('source_none')}</Text>}
      <Stack gap="sm">
        {said.map(([place, text]) => (
          <div key={place}>
            <Dimmed>{place}</Dimmed>
            <Text size="sm" className="wrap">
              {text!.split('\n\n').map((paragraph, i) => (
                <Text key={i} span display="block" fz="sm" mb={4}>
                  {paragraph.replaceAll('\n', ' ')}
                </Text>
              ))}
            </Text>
          </div>
        ))}
      </Stack>
    </Card>
  );
}
