import {
  Anchor,
  Badge,
  Button,
  Card,
  Group,
  Progress,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  useMatches,
} from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import './overview-texts.ts';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Dimmed, Note, Heading } from '../../components/styles.ts';
import type {
  KeyMonth,
  Overview as OverviewReply,
  RefusedCalls,
  RunningRequest,
} from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { StatusBadge, Usd, useMoment, usePercent } from '../../components/text.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { briefUsd } from '../../money.ts';
import { useMay } from '../../session.tsx';
import { FirstSteps } from './FirstSteps.tsx';
import { useOverview } from './overview-data.ts';
import { Refused } from '../keys/Refused.tsx';
import { Spend } from './Spend.tsx';
import { useTranslation } from '../../i18n.ts';

export function Overview() {
  const { t } = useTranslation('overview');
  const pays = useMay('pay');
  const overview = useOverview();
  const { data, error } = overview;
  return (
    <>
      <PageTitle title={t('common:nav.overview')}>
        {pays && (
          <Button
            component={Link}
            to="/dashboard/money/top-up"
            leftSection={<IconPlus size={16} />}
            variant={data && !data.steps.topped_up ? 'default' : 'filled'}
          >
            {t('top_up')}
          </Button>
        )}
      </PageTitle>
      <Stack gap="lg">
        {error && (
          <Failure
            error={error}
            retry={() => void overview.refetch()}
            since={overview.dataUpdatedAt}
          />
        )}
        <Figures data={data} />
        {data && data.refused.length > 0 && <RefusedLately refused={data.refused} />}
        {data && !data.steps.has_request && <FirstSteps steps={data.steps} />}
        {data?.steps.has_request && (
          <>
            <Spend />
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              <RunningNow running={data.running} />
              <KeysThisMonth month={data.month} />
            </SimpleGrid>
          </>
        )}
        {!data && !error && (
          <>
            <Skeleton h={400} radius="md" />
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              <Skeleton h={220} radius="md" />
              <Skeleton h={220} radius="md" />
            </SimpleGrid>
          </>
        )}
      </Stack>
    </>
  );
}

function Figures({ data }: { data: OverviewReply | undefined }) {
  const { t } = useTranslation('overview');
  const day = useMoment({ day: 'numeric', month: 'long', timeZone: 'UTC' });
  const resets = data?.month.resets_at;
  const date = resets && day(resets);
  return (
    <SimpleGrid cols={{ base: 2, sm: 3 }} spacing={{ base: 'sm', sm: 'lg' }}>
      <Figure
        name={t('common:available')}
        micro={data?.available_usd_micro}
        text={
          data && data.debt_usd_micro !== '0'
            ? t('debt_text', { amount: briefUsd(data.debt_usd_micro, 'up') })
            : t('available_text')
        }
        isFirst
      />
      <Figure
        name={t('common:reserved')}
        micro={data?.reserved_usd_micro}
        text={t('reserved_text')}
      />
      <Figure
        name={t('month')}
        micro={data?.month.spent_usd_micro}
        text={
          data?.month.spent_usd_micro === '0' || !date ? t('month_none') : t('month_text', { date })
        }
      />
    </SimpleGrid>
  );
}

function Figure(props: {
  name: string;
  micro: string | undefined;
  text: string;
  isFirst?: boolean;
}) {
  const isNarrow = useMatches({ base: true, sm: false });
  return (
    <Card
      withBorder
      padding={isNarrow ? 'md' : 'lg'}
      style={props.isFirst && isNarrow ? { gridColumn: '1 / -1' } : {}}
    >
      <Dimmed>{props.name}</Dimmed>
      <Text component="div" className="figure" fz={{ base: 22, sm: 28 }} fw={600} lh={1.4}>
        {props.micro === undefined ? (
          <Skeleton h={34} w={140} my={3} />
        ) : (
          <Usd micro={props.micro} />
        )}
      </Text>
      <Note>{props.text}</Note>
    </Card>
  );
}

function RefusedLately({ refused }: { refused: RefusedCalls[] }) {
  const { t } = useTranslation('refused');
  return (
    <Panel
      title={t('common:nav.overview')}
      more={
        <Anchor component={Link} to="/dashboard/keys" size="sm">
          {t('overview:keys_more')}
        </Anchor>
      }
    >
      <Stack gap={4}>
        <Refused refused={refused.slice(0, refusedShown)} named />
      </Stack>
    </Panel>
  );
}

const refusedShown = 5;

function Panel(props: { title: string; badge?: ReactNode; more: ReactNode; children: ReactNode }) {
  return (
    <Card withBorder padding="lg">
      <Group justify="space-between" mb="md">
        <Group gap="xs">
          <Heading>{props.title}</Heading>
          {props.badge}
        </Group>
        {props.more}
      </Group>
      {props.children}
    </Card>
  );
}

function RunningNow({ running }: { running: OverviewReply['running'] }) {
  const { t } = useTranslation('overview');
  const { total, data } = running;
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
      {data.length === 0 && <Dimmed>{t('running_none')}</Dimmed>}
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
          {job.model_id}
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

function KeysThisMonth({ month }: { month: OverviewReply['month'] }) {
  const { t } = useTranslation('overview');
  const builds = useMay('build');
  return (
    <Panel
      title={t('keys')}
      more={
        <Anchor component={Link} to="/dashboard/keys" size="sm">
          {month.keys_total === 0 && builds ? t('keys_make') : t('keys_more')}
        </Anchor>
      }
    >
      {month.keys.length === 0 && <Dimmed>{t('keys_none')}</Dimmed>}
      <Stack gap="md" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {month.keys.map((key) => (
          <KeyLine key={key.key_id} of={key} />
        ))}
      </Stack>
    </Panel>
  );
}

function KeyLine({ of: key }: { of: KeyMonth }) {
  const { t } = useTranslation('overview');
  const limit = key.monthly_limit_usd_micro;
  const percent = usePercent();
  const used = limit === null ? null : ppmOf(BigInt(key.spent_usd_micro), BigInt(limit));
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="md">
        <Text size="sm" truncate title={key.name}>
          {key.name}
          {key.revoked && (
            <Note span ml={6}>
              {t('revoked')}
            </Note>
          )}
        </Text>
        <Text size="sm" style={{ flexShrink: 0 }}>
          <Usd micro={key.spent_usd_micro} />{' '}
          <Note span>
            {limit === null ? t('no_limit') : t('of_limit', { limit: briefUsd(limit) })}
          </Note>
        </Text>
      </Group>
      {used !== null && (
        <Progress
          mt={6}
          size="sm"
          value={Math.min(100, used / 10_000)}
          color={used >= 900_000 ? 'red' : used >= 750_000 ? 'orange' : 'fare'}
          aria-label={t('limit_label', { name: key.name, percent: percent(used) })}
        />
      )}
    </li>
  );
}

/** The share of `part` in millionths. */
function ppmOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 1_000_000 : Number((part * 1_000_000n) / whole);
}
