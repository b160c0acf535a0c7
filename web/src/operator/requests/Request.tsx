import { Alert, Anchor, Code, Grid, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { usePathPart } from '../../address.ts';
import { useTranslation } from 'react-i18next';
import { AccountLink } from '../links.tsx';
import { Dimmed, Note, PlainButton, RowButton, Dot } from '../../components/styles.ts';
import { ApiFailure } from '../../api.ts';
import type { OperatorRequest, UpstreamAttempt } from '../../api-types.ts';
import { Duration, formatDuration, Took, Usd, usePercent, When } from '../../components/text.tsx';
import { Failure } from '../../components/Failure.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { NothingHere } from '../../components/frame/NotFound.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { RequestHead } from '../../components/RequestHead.tsx';
import { Part } from '../../components/frame/Part.tsx';
import { Stat } from '../../components/Stat.tsx';
import { formatUsd } from '../../money.ts';
import { liveMs } from '../live.ts';
import { useOperatorQuery } from '../../queries.ts';
import { BackLink } from '../../components/frame/BackLink.tsx';
import {
  Facts as FactList,
  Moments,
  useCallNumbers,
  type Moment,
} from '../../components/Facts.tsx';
import { leftToRefund, RefundDialog } from './RefundDialog.tsx';
import './request-words.ts';

const isOpen = ({ status }: OperatorRequest) => status === 'IN_QUEUE' || status === 'IN_PROGRESS';

/** One request of any account, with the operator's view of it. */
export function Request() {
  const { t } = useTranslation('operator_request');
  const request_id = usePathPart('request_id');
  const { data, error, refetch } = useOperatorQuery(
    'GET /requests/:request_id',
    { params: { request_id } },
    { refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? liveMs : false) },
  );
  if (error instanceof ApiFailure && error.status === 404) return <NothingHere />;
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton h={420} role="status" aria-label={t('title')} />;
  return <Whole request={data} />;
}

function Whole({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const { request_id, model_id, status, account_id, email } = request;
  const [isRefunding, setRefunding] = useState(false);
  return (
    <>
      <BackLink to={`/operator/accounts/${account_id}`} search={{ tab: 'requests' }}>
        {email}
      </BackLink>
      <PageTitle title={model_id}>
        {status === 'IN_QUEUE' && (
          <PlainButton component={Link} to={`/operator/queue?account=${account_id}`}>
            {t('to_queue')}
          </PlainButton>
        )}
        {leftToRefund(request) > 0n && (
          <PlainButton onClick={() => setRefunding(true)}>{t('refund')}</PlainButton>
        )}
      </PageTitle>
      {isRefunding && <RefundDialog request={request} onClose={() => setRefunding(false)} />}
      <RequestHead request_id={request_id} status={status} what={t('id')} />
      <Money request={request} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="lg">
            {request.error_code !== null && <Why request={request} />}
            <Attempts request={request} />
            <Input request={request} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="lg">
            <Facts request={request} />
            <Course request={request} />
            {request.webhook && <Webhook request={request} />}
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}

function Money({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const { quoted_usd_micro: quoted, charged_usd_micro: charged, quote } = request;
  const { refunded_usd_micro: refunded } = request;
  const known = (micro: string | null) =>
    micro === null ? t(isOpen(request) ? 'not_yet' : 'not_known') : <Usd micro={micro} />;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm" mb="lg">
      <Stat
        label={t('quoted')}
        note={quote.breakdown.map(({ label, quantity, unit_price_usd_micro }) => (
          <div key={label}>
            {label}: {quantity} × ${formatUsd(unit_price_usd_micro)}
          </div>
        ))}
      >
        <Usd micro={quoted} />
      </Stat>
      <Stat
        label={t('common:charged')}
        note={refunded === '0' ? undefined : t('refunded', { amount: `$${formatUsd(refunded)}` })}
      >
        {known(charged)}
      </Stat>
      <Stat label={t('cost')}>{known(request.cost_usd_micro)}</Stat>
      <Stat label={t('common:margin')}>{known(request.margin_usd_micro)}</Stat>
    </SimpleGrid>
  );
}

/**
 * Errors after which the request may still have cost something, so an operator may look the cost
 * up.
 */
const inDoubt = new Set<string | null>(['outcome_unknown', 'timeout']);

/** The error as the caller sees it, and the internal cause. */
function Why({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const { error_code, error, error_cause, cost_usd_micro } = request;
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle />} title={error?.message}>
      <Stack gap={6}>
        {error_cause !== null && (
          <Text size="sm" className="wrap">
            <Text span fz="sm" fw={600}>
              {t('cause')}:{' '}
            </Text>
            {error_cause}
          </Text>
        )}
        <Group gap="sm">
          <Code>{error_code}</Code>
          {inDoubt.has(error_code) && cost_usd_micro === null && (
            <Anchor component={Link} to="/operator/unknown" size="sm" underline="always">
              {t('resolve')}
            </Anchor>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

function Attempts({ request: { attempts, kind, completed_at } }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  // If an attempt's reply ended the request, the attempt has no outcome of its own.
  const none = completed_at === null ? 'under_way' : 'end';
  return (
    <Part title={t('attempts')}>
      {attempts.length === 0 && (
        <Dimmed>{t(kind === 'text' ? 'no_attempts_chat' : 'no_attempts')}</Dimmed>
      )}
      <Stack gap="md" role="list" aria-label={t('attempts')}>
        {attempts.map((each) => (
          <Stack key={each.attempt} gap={4} role="listitem">
            <Group gap="xs">
              <Text size="sm" fw={600}>
                {each.attempt}. {each.upstream}
              </Text>
              <Dot color={colors[each.outcome ?? ''] ?? 'gray'}>
                {t(`outcome.${each.outcome ?? none}`)}
              </Dot>
              <Note>
                <When at={each.at} />
                {each.answered_at !== null && (
                  <>
                    {' · '}
                    {t('answered')} <Duration from={each.at} to={each.answered_at} />
                  </>
                )}
                {' · '}
                {t('class', { name: each.class })}
                {each.key !== null && ` · ${t('with_key', { name: each.key })}`}
              </Note>
            </Group>
            {each.message !== null && (
              <Text size="sm" className="wrap">
                {each.message}
              </Text>
            )}
            {each.left_at !== null && <Left attempt={each} />}
            {each.handle !== null && (
              <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
                {each.handle}
              </Code>
            )}
          </Stack>
        ))}
      </Stack>
    </Part>
  );
}

/** The upstream may still have run this attempt. Shows its cost, or where to record it. */
function Left({ attempt: { cost_usd_micro: cost } }: { attempt: UpstreamAttempt }) {
  const { t } = useTranslation('operator_request');
  return (
    <Text size="sm">
      {t('left')}{' '}
      {cost === null ? (
        <Anchor component={Link} to="/operator/unknown" fz="sm" underline="always">
          {t('left_unknown')}
        </Anchor>
      ) : (
        <>
          {t('cost')}: <Usd micro={cost} />
        </>
      )}
    </Text>
  );
}

const colors: Record<string, string> = {
  accepted: 'fare',
  done: 'fare',
  rejected: 'red',
  not_accepted: 'orange',
  unknown: 'orange',
  missing: 'red',
};

/** The input belongs to the customer, so it is folded, and loaded only when opened. */
function Input({ request: { request_id, kind, cleared_at } }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const [shown, setShown] = useState(false);
  const { data, error, refetch } = useOperatorQuery(
    'GET /requests/:request_id/input',
    { params: { request_id } },
    { enabled: shown },
  );
  return (
    <Part title={t('input')} text={t(kind === 'text' ? 'input_chat' : 'input_text')}>
      {cleared_at !== null ? (
        <Text size="sm">
          {t('cleared')} <When at={cleared_at} />
        </Text>
      ) : (
        <RowButton
          aria-expanded={shown}
          mb={shown ? 'sm' : 0}
          style={{ alignSelf: 'flex-start' }}
          onClick={() => setShown(!shown)}
        >
          {t(shown ? 'hide' : 'show')}
        </RowButton>
      )}
      {shown && error && <Failure error={error} retry={() => void refetch()} />}
      {shown && data?.input && <JsonView value={data.input} what={t('input')} />}
    </Part>
  );
}

function Facts({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const percent = usePercent();
  const numbers = useCallNumbers(request);
  const { key, upstream, upstream_model: model, deadline_at, progress } = request;
  const { created_at, started_at, completed_at } = request;
  const rows: [string, ReactNode][] = [
    [
      t('common:account'),
      <AccountLink key="account" id={request.account_id}>
        {request.email}
      </AccountLink>,
    ],
    [t('key'), `${key.name} ${key.prefix}…${key.last4}`],
    [t('kind'), t(`common:kind.${request.kind}`)],
    [t('common:upstream'), model === null ? upstream : `${upstream}, ${model}`],
    [t('took'), <Duration key="took" from={started_at ?? created_at} to={completed_at} />],
  ];
  if (progress !== null) rows.push([t('progress'), percent(progress * 1_000_000)]);
  if (deadline_at !== null && completed_at === null)
    rows.push([t('deadline'), <When key="deadline" at={deadline_at} />]);
  if (request.tokens !== null)
    rows.push([t('tokens'), <Tokens key="tokens" {...request.tokens} />]);
  else if (request.delivered_quantity !== null)
    rows.push([t('delivered'), String(request.delivered_quantity)]);
  if (request.outputs_made > 0) rows.push([t('outputs'), String(request.outputs_made)]);
  rows.push(...numbers);
  return (
    <Part title={t('common:facts')}>
      <FactList rows={rows} />
    </Part>
  );
}

function Tokens(counts: NonNullable<OperatorRequest['tokens']>) {
  const { t, i18n } = useTranslation('operator_request');
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = counts;
  const words = (name: string, tokens: number) =>
    t(name, { tokens: tokens.toLocaleString(i18n.language) });
  return [
    words('tokens_in', input_tokens),
    ...(cached_tokens > 0 ? [words('tokens_cached', cached_tokens)] : []),
    words('tokens_out', output_tokens),
    ...(reasoning_tokens > 0 ? [words('tokens_reasoning', reasoning_tokens)] : []),
  ].join(', ');
}

function Course({ request }: { request: OperatorRequest }) {
  const { t, i18n } = useTranslation('operator_request');
  const { created_at, started_at, completed_at, status, attempts } = request;
  const moments: Moment[] = [
    { at: created_at, what: t('created') },
    ...attempts.map(({ at, upstream }) => ({ at, what: t('handed', { upstream }) })),
  ];
  if (started_at !== null && attempts.length === 0)
    moments.push({ at: started_at, what: t('started') });
  if (completed_at !== null) {
    const ran = Date.parse(completed_at) - Date.parse(created_at);
    const what = `${t(`common:status.${status}`)}, ${formatDuration(ran, i18n.language)}`;
    moments.push({ at: completed_at, what, color: status === 'FAILED' ? 'red' : 'fare' });
  }
  if (request.cleared_at !== null) moments.push({ at: request.cleared_at, what: t('gone') });
  return (
    <Part title={t('course')}>
      <Moments moments={moments} />
    </Part>
  );
}

function Webhook({ request: { webhook, deliveries } }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const state = webhook?.state ?? 'pending';
  const stateColors = { pending: 'gray', delivered: 'fare', failed: 'red' };
  return (
    <Part title={t('webhook')} text={t('webhook_text')}>
      <Stack gap="xs">
        <Text size="sm" ff="monospace" className="wrap">
          {webhook?.url}
        </Text>
        <Dot color={stateColors[state]}>{t(`state.${state}`)}</Dot>
        {deliveries.map(({ cause, status, error, duration_ms, at }) => (
          <div key={at}>
            <Text size="sm">
              {t(`sent.${cause}`)}: {status === null ? t('no_answer') : t('answer', { status })},{' '}
              <Took ms={duration_ms} />
            </Text>
            <Note>
              <When at={at} />
            </Note>
            {error !== null && <Note className="wrap">{error}</Note>}
          </div>
        ))}
      </Stack>
    </Part>
  );
}
