import { Anchor, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { usePathPart } from '../../address.ts';
import { AccountLink } from '../links.tsx';
import { Dimmed, Note, PlainButton, RowButton, Dot } from '../../components/styles.ts';
import type { OperatorRequest, UpstreamAttempt } from '../../api-types.ts';
import { Duration, Usd, usePercent, When } from '../../components/text.tsx';
import { Failure } from '../../components/Failure.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { SectionCard } from '../../components/frame/SectionCard.tsx';
import { Stat } from '../../components/Stat.tsx';
import { briefUsd, formatUsd } from '../../money.ts';
import { liveMs } from '../live.ts';
import { useOperatorQuery } from '../../queries.ts';
import { BackLink } from '../../components/frame/BackLink.tsx';
import {
  FactsCard,
  Loaded,
  RequestFrame,
  TimelineCard,
  WebhookCard,
  Why,
} from '../../requests/RequestPage.tsx';
import { isFinal } from '../../../../client/src/watch.ts';
import { leftToRefund, RefundDialog } from './RefundDialog.tsx';
import './request-texts.ts';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

/** One request of any account, with the operator's view of it. */
export function Request() {
  const request_id = usePathPart('request_id');
  const of = useOperatorQuery(
    'GET /requests/:request_id',
    { params: { request_id } },
    { refetchInterval: ({ state }) => (state.data && !isFinal(state.data) ? liveMs : false) },
  );
  return <Loaded of={of}>{(request) => <Whole request={request} />}</Loaded>;
}

function Whole({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const actions = useRightProps();
  const { status, account_id, account_name, email, key } = request;
  const [isRefunding, setRefunding] = useState(false);
  const [first, more] = useFacts(request);
  return (
    <>
      <RequestFrame
        request={request}
        back={
          <BackLink to={`/operator/accounts/${account_id}`} search={{ tab: 'requests' }}>
            {account_name ?? email}
          </BackLink>
        }
        actions={
          <>
            {status === 'IN_QUEUE' && (
              <PlainButton component={Link} to={`/operator/queue?account=${account_id}`}>
                {t('to_queue')}
              </PlainButton>
            )}
            {leftToRefund(request) > 0n && (
              <PlainButton onClick={() => setRefunding(true)} {...actions('money')}>
                {t('refund')}
              </PlainButton>
            )}
          </>
        }
        top={<Money request={request} />}
        state={
          <>
            <Cause request={request} />
            <Attempts request={request} />
          </>
        }
        aside={
          <>
            <FactsCard
              request={request}
              first={first}
              keyName={`${key.name} ${key.prefix}…${key.last4}`}
              more={more}
            />
            <TimelineCard request={request} />
            <WebhookCard request={request} text={t('webhook_text')} />
          </>
        }
      >
        <Input request={request} />
      </RequestFrame>
      {isRefunding && <RefundDialog request={request} onClose={() => setRefunding(false)} />}
    </>
  );
}

function Money({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const { quoted_usd_micro: quoted, charged_usd_micro: charged, quote } = request;
  const { refunded_usd_micro: refunded } = request;
  const known = (micro: string | null) =>
    micro === null ? t(isFinal(request) ? 'not_known' : 'not_yet') : <Usd micro={micro} />;
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
        note={refunded === '0' ? undefined : t('refunded', { amount: briefUsd(refunded) })}
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
function Cause({ request }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  const { error_code, error_cause, cost_usd_micro } = request;
  return (
    <Why
      request={request}
      beside={
        inDoubt.has(error_code) &&
        cost_usd_micro === null && (
          <Anchor component={Link} to="/operator/unknown" size="sm" underline="always">
            {t('resolve')}
          </Anchor>
        )
      }
    >
      {error_cause !== null && (
        <Text size="sm" mt={4} className="wrap">
          <Text span fz="sm" fw={600}>
            {t('cause')}:{' '}
          </Text>
          {error_cause}
        </Text>
      )}
    </Why>
  );
}

function Attempts({ request: { attempts, kind, completed_at } }: { request: OperatorRequest }) {
  const { t } = useTranslation('operator_request');
  // If an attempt's reply ended the request, the attempt has no outcome of its own.
  const none = completed_at === null ? 'under_way' : 'end';
  return (
    <SectionCard title={t('attempts')}>
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
    </SectionCard>
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
    <SectionCard
      title={t('request:input')}
      text={kind === 'text' ? t('request:chat_input') : t('input_text')}
    >
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
      {shown && data?.input && <JsonView value={data.input} what={t('request:input')} />}
    </SectionCard>
  );
}

type Rows = [name: string, value: ReactNode][];

/** The facts of a request that only the operator sees: before and after the others. */
function useFacts(request: OperatorRequest): [first: Rows, more: Rows] {
  const { t } = useTranslation('operator_request');
  const percent = usePercent();
  const { upstream, upstream_model: model, deadline_at, progress, tokens } = request;
  const { delivered_quantity: delivered, outputs_made: outputs } = request;
  const account = <AccountLink key="account" of={request} />;
  const more: Rows = [];
  if (progress !== null) more.push([t('progress'), percent(progress * 1_000_000)]);
  if (deadline_at !== null && !isFinal(request))
    more.push([t('deadline'), <When key="deadline" at={deadline_at} />]);
  if (tokens !== null) more.push([t('tokens'), <Tokens key="tokens" {...tokens} />]);
  else if (delivered !== null) more.push([t('delivered'), String(delivered)]);
  if (outputs > 0) more.push([t('outputs'), String(outputs)]);
  const first: Rows = [
    [t('common:account'), account],
    [t('common:upstream'), model === null ? upstream : `${upstream}, ${model}`],
  ];
  return [first, more];
}

function Tokens(counts: NonNullable<OperatorRequest['tokens']>) {
  const { t, language } = useTranslation('operator_request');
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = counts;
  const words = (name: string, tokens: number) =>
    t(name, { tokens: tokens.toLocaleString(language) });
  return [
    words('tokens_in', input_tokens),
    ...(cached_tokens > 0 ? [words('tokens_cached', cached_tokens)] : []),
    words('tokens_out', output_tokens),
    ...(reasoning_tokens > 0 ? [words('tokens_reasoning', reasoning_tokens)] : []),
  ].join(', ');
}
