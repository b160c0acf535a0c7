import {
  Badge,
  Box,
  Card,
  Code,
  Group,
  SegmentedControl,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
} from '@mantine/core';
import { IconPlugConnected } from '@tabler/icons-react';
import { Dimmed, RowName, Heading } from '../../components/styles.ts';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import type { Upstream } from '../../api-types.ts';
import { liveQuery } from '../live.ts';
import { useOperatorQuery } from '../../queries.ts';
import { needed } from '../margin.tsx';
import { offered, useAddress } from '../search.ts';
import { isPaused, UpstreamCard } from './UpstreamCard.tsx';
import { useTranslation } from '../../i18n.ts';
import './upstreams-texts.ts';

type Filter = (typeof offered.upstreams)[number];

/** The services that run the models. */
export function Upstreams() {
  const { t, language } = useTranslation('operator_upstreams');
  const [{ only = 'all' }, setAddress] = useAddress('/operator/upstreams');
  const found = useOperatorQuery('GET /upstreams', {}, liveQuery);
  const shown = found.data?.data.filter((each) => fits(each, only));
  const usable = shown?.filter(isShownInFull);
  const missing = shown?.filter((each) => !isShownInFull(each)) ?? [];
  return (
    <>
      <PageTitle title={t('common:nav.upstreams')} text={t('text')}>
        <SegmentedControl
          aria-label={t('show')}
          value={only}
          onChange={(value) => setAddress({ only: value === 'all' ? undefined : value })}
          data={offered.upstreams.map((value) => ({ value, label: t(value) }))}
        />
      </PageTitle>
      {found.error && (
        <Box mb="md">
          <Failure
            error={found.error}
            retry={() => void found.refetch()}
            since={found.dataUpdatedAt}
          />
        </Box>
      )}
      {!found.data && !found.error && (
        <SimpleGrid cols={1}>
          {[1, 2, 3].map((n) => (
            <Skeleton key={n} h={190} />
          ))}
        </SimpleGrid>
      )}
      {shown?.length === 0 && (
        <Empty icon={<IconPlugConnected />} title={t('none_title')} text={t('none_text')} />
      )}
      <Stack gap="md">
        {usable?.map((each) => (
          <UpstreamCard key={each.name} upstream={each} />
        ))}
        {usable && usable.length > 0 && (
          <Dimmed>
            {t('counted', {
              n: new Intl.NumberFormat(language).format(found.data!.counted_max),
            })}
          </Dimmed>
        )}
        {missing.length > 0 && <NotSetUp upstreams={missing} />}
      </Stack>
    </>
  );
}

/** An upstream is shown in full if it is set up, or if it has work although it is not set up. */
function isShownInFull(each: Upstream): boolean {
  return each.set_up || each.waiting > 0 || each.in_use > 0;
}

function fits(each: Upstream, only: Filter): boolean {
  if (only === 'not_set_up') return !each.set_up;
  if (only === 'trouble') return isInTrouble(each);
  return true;
}

function isInTrouble(each: Upstream): boolean {
  const { failures, paused_models, last_hour, set_up, waiting } = each;
  if (isPaused(each) || failures > 0 || paused_models.length > 0) return true;
  return (last_hour.error_ppm ?? 0) >= 50_000 || (!set_up && waiting > 0);
}

function NotSetUp({ upstreams }: { upstreams: Upstream[] }) {
  const { t } = useTranslation('operator_upstreams');
  const columns: Column<Upstream>[] = [
    column.plain(t('common:upstream'), (row) => (
      <Group gap={8}>
        <RowName>{row.name}</RowName>
        <Badge variant="light" color="gray" c="var(--mantine-color-text)" fw={500}>
          {row.adapter ?? t('built_in')}
        </Badge>
      </Group>
    )),
    column.plain(t('missing_head'), (row) => {
      const name = row.reason === null ? '' : needed(row.reason, (variables) => variables);
      return /^[A-Z0-9_=on, ]+$/.test(name) ? (
        <Code>{name}</Code>
      ) : (
        <Text fz="sm" className="wrap">
          {name}
        </Text>
      );
    }),
    column.figure(t('common:nav.catalog'), (row) => t('rows', { count: row.rows })),
  ];
  return (
    <Card withBorder padding="lg">
      <Heading mb={4}>{t('not_set_up')}</Heading>
      <Dimmed mb="sm">{t('not_set_up_text')}</Dimmed>
      <DataList
        label={t('not_set_up')}
        columns={columns}
        rows={upstreams}
        keyOf={(row) => row.name}
      />
    </Card>
  );
}
