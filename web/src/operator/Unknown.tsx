import {
  Anchor,
  Badge,
  Button,
  Card,
  Code,
  Group,
  SegmentedControl,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Copy } from '../components/Copy.tsx';
import { Empty } from '../components/Empty.tsx';
import { Failure } from '../components/Failure.tsx';
import { More } from '../components/More.tsx';
import { PageTitle } from '../components/PageTitle.tsx';
import { Usd } from '../components/Usd.tsx';
import { When } from '../components/When.tsx';
import { usePages } from '../pages.ts';
import { liveMs } from './live.ts';
import { RequestLink } from './RequestLink.tsx';
import { ResolveDialog } from './ResolveDialog.tsx';
import { offered, useAddress } from './search.ts';
import './unknown-words.ts';
import { said } from '../words.ts';

export interface Doubt {
  request_id: string;
  account_id: string;
  email: string;
  model_id: string;
  upstream: string;
  status: string;
  error_code: string | null;
  quoted_usd_micro: string;
  charged_usd_micro: string | null;
  cost_usd_micro: string | null;
  error_message: string | null;
  attempt: number | null;
  class: string | null;
  handle: string | null;
  message: string | null;
  started_at: string;
  deadline_at: string | null;
  completed_at: string | null;
  attempted_at: string | null;
  /** Set: the outcome is that of the attempt, which was left then, not that of the request. */
  left_at: string | null;
  resolution: {
    outcome: 'ran' | 'did_not_run';
    note: string | null;
    by_email: string;
    resolved_at: string;
  } | null;
}

/** How many of an upstream are open. */
export interface DoubtSum {
  upstream: string;
  count: number;
  oldest_at: string;
}

/** Requests, and starts that were left, of which nobody knows whether they ran, or at what cost. */
export function Unknown() {
  const { t } = useTranslation('operator_unknown');
  const { t: common } = useTranslation('common');
  const [{ state = 'open' }, setAddress] = useAddress();
  const [chosen, setChosen] = useState<Doubt | DoubtSum | null>(null);
  const found = usePages<Doubt, { waiting: Doubt[]; open: number; by_upstream: DoubtSum[] }>(
    ['operator', 'unknown'],
    '/api/operator/unknown',
    { state },
    liveMs,
  );
  const { rows, first } = found;
  const waiting = first?.waiting ?? [];
  return (
    <>
      <PageTitle title={common('nav.unknown')} text={t('text')}>
        <SegmentedControl
          aria-label={t('show')}
          value={state}
          onChange={(value) => setAddress({ state: value === 'open' ? undefined : value })}
          data={offered.doubts.map((value) => ({
            value,
            label: value === 'open' && first ? `${t('open')} · ${first.open}` : t(value),
          }))}
        />
      </PageTitle>
      {found.error && <Failure error={found.error} retry={found.retry} />}
      {!rows && !found.error && (
        <Stack gap="sm">
          <Skeleton h={150} />
          <Skeleton h={150} />
        </Stack>
      )}
      <Stack gap="xl">
        {waiting.length > 0 && (
          <section>
            <Title order={2} fz="lg">
              {t('waiting')}
            </Title>
            <Text size="sm" c="dimmed" mb="sm" maw={640}>
              {t('waiting_text')}
            </Text>
            <Doubts rows={waiting} label={t('waiting')} onResolve={null} />
          </section>
        )}
        {state === 'open' && first && first.open > 1 && (
          <Sums sums={first.by_upstream} onResolve={setChosen} />
        )}
        {rows?.length === 0 && (
          <Empty
            icon={<IconCircleCheck />}
            title={t(state === 'resolved' ? 'none_resolved' : 'none_title')}
            text={t('none_text')}
          />
        )}
        {rows && rows.length > 0 && (
          <section>
            <Title order={2} fz="lg" mb="sm">
              {t('ended')}
            </Title>
            <Doubts rows={rows} label={t('ended')} onResolve={setChosen} />
            <More more={found.more} loading={found.isLoadingMore} />
          </section>
        )}
      </Stack>
      {chosen && <ResolveDialog of={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function Sums(props: { sums: DoubtSum[]; onResolve: (sum: DoubtSum) => void }) {
  const { t } = useTranslation('operator_unknown');
  return (
    <section>
      <Title order={2} fz="lg" mb="sm">
        {t('by_upstream')}
      </Title>
      <Card withBorder padding="md">
        <Stack gap="sm" role="list" aria-label={t('by_upstream')}>
          {props.sums.map((sum) => (
            <Group key={sum.upstream} justify="space-between" gap="sm" role="listitem">
              <div style={{ minWidth: 0 }}>
                <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
                  {sum.upstream} · {t('outcomes', { count: sum.count })}
                </Text>
                <Text size="sm" c="dimmed">
                  {t('oldest')} <When at={sum.oldest_at} />
                </Text>
              </div>
              <Button size="xs" variant="default" onClick={() => props.onResolve(sum)}>
                {t('resolve_many')}
              </Button>
            </Group>
          ))}
        </Stack>
      </Card>
    </section>
  );
}

function Doubts(props: {
  rows: Doubt[];
  label: string;
  onResolve: ((doubt: Doubt) => void) | null;
}) {
  return (
    <Stack gap="sm" role="list" aria-label={props.label}>
      {props.rows.map((row) => (
        <DoubtCard
          key={`${row.request_id} ${row.left_at}`}
          doubt={row}
          onResolve={props.onResolve}
        />
      ))}
    </Stack>
  );
}

function DoubtCard(props: { doubt: Doubt; onResolve: ((doubt: Doubt) => void) | null }) {
  const { t } = useTranslation('operator_unknown');
  const { doubt, onResolve } = props;
  const { resolution } = doubt;
  return (
    <Card withBorder padding="lg" role="listitem">
      <Group justify="space-between" align="flex-start" gap="sm" mb="sm">
        <Stack gap={0} style={{ minWidth: 0 }}>
          <RequestLink id={doubt.request_id}>{doubt.model_id}</RequestLink>
          <Group gap={2} wrap="nowrap">
            <Text size="sm" c="dimmed" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
              {doubt.request_id}
            </Text>
            <Copy text={doubt.request_id} what={doubt.request_id} />
          </Group>
        </Stack>
        {onResolve && resolution === null && doubt.cost_usd_micro === null && (
          <Button size="xs" onClick={() => onResolve(doubt)}>
            {t('resolve')}
          </Button>
        )}
        {resolution && (
          <Badge
            variant="dot"
            color={resolution.outcome === 'ran' ? 'orange' : 'fare'}
            tt="none"
            fw={500}
          >
            {t(resolution.outcome)}
          </Badge>
        )}
      </Group>
      <Facts doubt={doubt} />
      {doubt.message !== null && (
        <Text size="sm" mt="sm" style={{ overflowWrap: 'anywhere' }}>
          <Text span fz="sm" c="dimmed">
            {t('message')}:{' '}
          </Text>
          {said(doubt.message)}
        </Text>
      )}
      {resolution && (
        <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
          <Text span fz="sm" c="dimmed">
            {t('by', { email: resolution.by_email })}, <When at={resolution.resolved_at} />
            {resolution.note !== null && ': '}
          </Text>
          {resolution.note}
        </Text>
      )}
    </Card>
  );
}

function Facts({ doubt }: { doubt: Doubt }) {
  const { t } = useTranslation('operator_unknown');
  const { left_at, completed_at, charged_usd_micro: charged } = doubt;
  const isOpen = completed_at === null;
  const end = isOpen ? doubt.deadline_at : completed_at;
  const why = doubt.error_code === 'timeout' ? 'why_timeout' : 'why_lost';
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="xs" verticalSpacing="xs">
      <Fact label={t('account')}>
        <Anchor
          component={Link}
          to={`/operator/accounts/${doubt.account_id}`}
          fz="sm"
          style={{ overflowWrap: 'anywhere' }}
        >
          {doubt.email}
        </Anchor>
      </Fact>
      <Fact label={t('upstream')}>
        {doubt.upstream}
        {doubt.class !== null && `, ${t('class', { name: doubt.class })}`}
      </Fact>
      <Fact label={t('why')}>{t(left_at === null ? why : 'why_left')}</Fact>
      <Fact label={t('started')}>
        <When at={(left_at === null ? null : doubt.attempted_at) ?? doubt.started_at} />
      </Fact>
      {left_at === null ? (
        <Fact label={t(isOpen ? 'deadline' : 'over')}>
          {end === null ? '—' : <When at={end} />}
        </Fact>
      ) : (
        <Fact label={t('left')}>
          <When at={left_at} />
        </Fact>
      )}
      <Fact label={doubt.attempt === null ? t('handle') : t('attempt', { n: doubt.attempt })}>
        {doubt.handle === null ? t('no_handle') : <Code>{doubt.handle}</Code>}
      </Fact>
      <Fact label={t(isOpen ? 'reserved_now' : 'reserved')}>
        <Usd micro={doubt.quoted_usd_micro} />
      </Fact>
      {charged !== null && (
        <Fact label={t('charged')}>
          <Usd micro={charged} />
        </Fact>
      )}
      <Fact label={t('cost')}>
        {doubt.cost_usd_micro === null ? t('cost_unknown') : <Usd micro={doubt.cost_usd_micro} />}
      </Fact>
    </SimpleGrid>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="div" size="sm" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  );
}
