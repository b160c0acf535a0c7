import {
  Button,
  Card,
  Code,
  Group,
  SegmentedControl,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
} from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useState, type ReactNode } from 'react';
import { AccountLink, RequestLink } from '../links.tsx';
import { Dimmed, Note, Heading, RowButton, Dot } from '../../components/styles.ts';
import type { UnknownOutcome, UnknownOutcomes } from '../../api-types.ts';
import { Copy } from '../../components/Copy.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { More } from '../../components/list/More.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Usd, When } from '../../components/text.tsx';
import { liveMs } from '../live.ts';
import { ResolveDialog } from './ResolveDialog.tsx';
import { offered, useAddress } from '../search.ts';
import './unknown-texts.ts';
import { useOperatorPages } from '../../queries.ts';
import { useRightProps } from '../rights.ts';
import { ModelName } from '../../requests/model-names.tsx';
import { useTranslation } from '../../i18n.ts';

/** Requests and abandoned starts that may have run, at an unknown cost. */
export function Unknown() {
  const { t } = useTranslation('operator_unknown');
  const [{ state = 'open' }, setAddress] = useAddress('/operator/unknown');
  const [chosen, setChosen] = useState<UnknownOutcome | UnknownOutcomes | null>(null);
  const found = useOperatorPages('GET /unknown', { query: { state } }, liveMs);
  const { rows, first } = found;
  const waiting = first?.waiting ?? [];
  return (
    <>
      <PageTitle title={t('common:nav.unknown')} text={t('text')}>
        <SegmentedControl
          aria-label={t('show')}
          value={state}
          onChange={(value) => setAddress({ state: value === 'open' ? undefined : value })}
          data={offered.outcomes.map((value) => ({
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
            <Heading>{t('waiting')}</Heading>
            <Dimmed mb="sm" maw={640}>
              {t('waiting_text')}
            </Dimmed>
            <Outcomes rows={waiting} label={t('waiting')} onResolve={null} />
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
            <Heading mb="sm">{t('ended')}</Heading>
            <Outcomes rows={rows} label={t('ended')} onResolve={setChosen} />
            <More of={found} />
          </section>
        )}
      </Stack>
      {chosen && <ResolveDialog of={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function Sums(props: { sums: UnknownOutcomes[]; onResolve: (sum: UnknownOutcomes) => void }) {
  const { t } = useTranslation('operator_unknown');
  const actions = useRightProps();
  return (
    <section>
      <Heading mb="sm">{t('by_upstream')}</Heading>
      <Card withBorder padding="md">
        <Stack gap="sm" role="list" aria-label={t('by_upstream')}>
          {props.sums.map((sum) => (
            <Group key={sum.upstream} justify="space-between" gap="sm" role="listitem">
              <div style={{ minWidth: 0 }}>
                <Text fw={600} className="wrap">
                  {sum.upstream} · {t('outcomes', { count: sum.count })}
                </Text>
                <Dimmed>
                  {t('oldest')} <When at={sum.oldest_at} />
                </Dimmed>
              </div>
              <RowButton onClick={() => props.onResolve(sum)} {...actions('money')}>
                {t('resolve_many')}
              </RowButton>
            </Group>
          ))}
        </Stack>
      </Card>
    </section>
  );
}

function Outcomes(props: {
  rows: UnknownOutcome[];
  label: string;
  onResolve: ((outcome: UnknownOutcome) => void) | null;
}) {
  return (
    <Stack gap="sm" role="list" aria-label={props.label}>
      {props.rows.map((row) => (
        <OutcomeCard
          key={`${row.request_id} ${row.left_at}`}
          outcome={row}
          onResolve={props.onResolve}
        />
      ))}
    </Stack>
  );
}

function OutcomeCard(props: {
  outcome: UnknownOutcome;
  onResolve: ((outcome: UnknownOutcome) => void) | null;
}) {
  const { t } = useTranslation('operator_unknown');
  const { outcome, onResolve } = props;
  const actions = useRightProps();
  const { resolution } = outcome;
  return (
    <Card withBorder padding="lg" role="listitem">
      <Group justify="space-between" align="flex-start" gap="sm" mb="sm">
        <Stack gap={0} style={{ minWidth: 0 }}>
          <RequestLink id={outcome.request_id}>
            <ModelName id={outcome.model_id} />
          </RequestLink>
          <Group gap={2} wrap="nowrap">
            <Dimmed ff="monospace" className="wrap">
              {outcome.request_id}
            </Dimmed>
            <Copy text={outcome.request_id} what={outcome.request_id} />
          </Group>
        </Stack>
        {onResolve && resolution === null && outcome.cost_usd_micro === null && (
          <Button size="xs" onClick={() => onResolve(outcome)} {...actions('money')}>
            {t('resolve')}
          </Button>
        )}
        {resolution && (
          <Dot color={resolution.outcome === 'ran' ? 'orange' : 'fare'}>
            {t(resolution.outcome)}
          </Dot>
        )}
      </Group>
      <Facts outcome={outcome} />
      {outcome.message !== null && (
        <Text size="sm" mt="sm" className="wrap">
          <Text span fz="sm" c="dimmed">
            {t('message')}:{' '}
          </Text>
          {outcome.message}
        </Text>
      )}
      {resolution && (
        <Text size="sm" mt="xs" className="wrap">
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

function Facts({ outcome }: { outcome: UnknownOutcome }) {
  const { t } = useTranslation('operator_unknown');
  const { left_at, completed_at, charged_usd_micro: charged } = outcome;
  const isOpen = completed_at === null;
  const end = isOpen ? outcome.deadline_at : completed_at;
  const why = outcome.error_code === 'timeout' ? 'why_timeout' : 'why_lost';
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="xs" verticalSpacing="xs">
      <Fact label={t('common:account')}>
        <AccountLink of={outcome} />
      </Fact>
      <Fact label={t('common:upstream')}>
        {outcome.upstream}
        {outcome.class !== null && `, ${t('class', { name: outcome.class })}`}
      </Fact>
      <Fact label={t('why')}>{t(left_at === null ? why : 'why_left')}</Fact>
      <Fact label={t('started')}>
        <When at={(left_at === null ? null : outcome.attempted_at) ?? outcome.started_at} />
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
      <Fact label={outcome.attempt === null ? t('handle') : t('attempt', { n: outcome.attempt })}>
        {outcome.handle === null ? t('no_handle') : <Code>{outcome.handle}</Code>}
      </Fact>
      <Fact label={t(isOpen ? 'reserved_now' : 'reserved')}>
        <Usd micro={outcome.quoted_usd_micro} />
      </Fact>
      {charged !== null && (
        <Fact label={t('charged')}>
          <Usd micro={charged} />
        </Fact>
      )}
      <Fact label={t('cost')}>
        {outcome.cost_usd_micro === null ? (
          t('cost_unknown')
        ) : (
          <Usd micro={outcome.cost_usd_micro} />
        )}
      </Fact>
    </SimpleGrid>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div style={{ minWidth: 0 }}>
      <Note>{label}</Note>
      <Text component="div" size="sm" className="wrap">
        {children}
      </Text>
    </div>
  );
}
