import './overview-texts.ts';
import { Anchor, Badge, Group, Skeleton, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import type { Overview as OverviewReply, RunningRequest } from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { Home } from '../../components/Home.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Dimmed, Note } from '../../components/styles.ts';
import { StatusBadge, Usd } from '../../components/text.tsx';
import { useModelNames } from '../../requests/model-names.tsx';
import { spendSearch } from '../money/money-search.ts';
import { Attention } from './Attention.tsx';
import { Balance } from './Balance.tsx';
import { FirstSteps } from './FirstSteps.tsx';
import { breakDown, useOverview, usePace, useSpend } from './overview-data.ts';
import { Panel } from './Panel.tsx';
import { Spend } from './Spend.tsx';
import { KeyShares, ModelShares, PeopleShares } from './WhereItWent.tsx';
import { useTranslation } from '../../i18n.ts';

/** Balance, spending, and what needs attention. */
export function Overview() {
  const { t } = useTranslation('overview');
  const overview = useOverview();
  const { data, error } = overview;
  const pace = usePace(data);
  const isNew = data !== undefined && !data.steps.has_request;
  const head = (
    <>
      <PageTitle title={t('common:nav.overview')} />
      {error && (
        <Failure
          error={error}
          retry={() => void overview.refetch()}
          since={overview.dataUpdatedAt}
        />
      )}
    </>
  );
  // Without data the parts would wait for ever.
  if (error && !data) return head;
  return (
    <>
      {head}
      <Home
        main={
          <>
            <Balance data={data} pace={pace} />
            {isNew ? <FirstSteps steps={data.steps} /> : <Spend />}
          </>
        }
        aside={
          <>
            <Attention data={data} pace={pace ?? null} />
            {!isNew && <Went month={data?.month} />}
          </>
        }
        whole={
          !isNew && (
            <>
              <RunningNow running={data?.running} />
              <PeopleShares />
            </>
          )
        }
      />
    </>
  );
}

/** Where the money of the shown period went. */
function Went({ month }: { month: OverviewReply['month'] | undefined }) {
  const { days = 30 } = useQueryOf(spendSearch);
  const { data } = useSpend(days);
  return (
    <>
      <ModelShares series={data && breakDown(data, 'model').series} from={data?.days[0] ?? ''} />
      <KeyShares month={month} />
    </>
  );
}

function RunningNow({ running }: { running: OverviewReply['running'] | undefined }) {
  const { t } = useTranslation('overview');
  const { total, data } = running ?? { total: 0, data: [] };
  return (
    <Panel
      title={t('running')}
      badge={total > 0 && <Badge variant="light">{total}</Badge>}
      more={
        <Anchor component={Link} to="/dashboard/requests" size="sm">
          {total > data.length ? t('running_more', { total }) : t('all_requests')}
        </Anchor>
      }
    >
      {running === undefined && <Skeleton h={60} />}
      {running?.data.length === 0 && <Dimmed>{t('running_none')}</Dimmed>}
      <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {data.map((job) => (
          <Job key={job.request_id} job={job} />
        ))}
      </Stack>
    </Panel>
  );
}

function Job({ job }: { job: RunningRequest }) {
  const { t } = useTranslation('overview');
  const nameOf = useModelNames();
  const time = elapsed(job.started_at ?? job.created_at);
  return (
    <Group component="li" justify="space-between" wrap="nowrap" gap="md">
      <Stack gap={0} miw={0}>
        <Anchor
          component={Link}
          to={`/dashboard/requests/${job.request_id}`}
          size="sm"
          truncate
          title={job.model_id}
        >
          {nameOf(job.model_id)}
        </Anchor>
        <Note>
          {job.status === 'IN_QUEUE' ? t('waits', { time }) : t('runs', { time })}
          {' · '}
          <Usd micro={job.quoted_usd_micro} />
        </Note>
      </Stack>
      <Group style={{ flexShrink: 0 }}>
        <StatusBadge status={job.status} />
      </Group>
    </Group>
  );
}

/** The time since a moment, such as `3:05`, computed at each render. */
function elapsed(since: string): string {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1000));
  const [hours, rest] = [Math.floor(seconds / 3600), seconds % 3600];
  const minutes = String(Math.floor(rest / 60)).padStart(hours > 0 ? 2 : 1, '0');
  return `${hours > 0 ? `${hours}:` : ''}${minutes}:${String(rest % 60).padStart(2, '0')}`;
}
