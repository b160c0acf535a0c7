import { Alert, Code, Grid, Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { ApiFailure } from '../api.ts';
import type { OperatorRequest, RequestDetail } from '../api-types.ts';
import { useModelNames } from './model-names.tsx';
import { Copy } from '../components/Copy.tsx';
import { Facts, Moments, useCallNumbers, type Moment } from '../components/Facts.tsx';
import { Failure } from '../components/Failure.tsx';
import { NothingHere } from '../components/frame/NotFound.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { SectionCard } from '../components/frame/SectionCard.tsx';
import { useIsNarrow } from '../components/narrow.ts';
import { Dimmed, Dot, Note } from '../components/styles.ts';
import { Duration, formatDuration, StatusBadge, Took, When } from '../components/text.tsx';
import { errorText, useTranslation } from '../i18n.ts';
import './request-texts.ts';

/** The page of one request, as the people of its account and the operator see it. */

/** One request in full; the operator's has upstreams and costs, the account's input and output. */
type AnyDetail = RequestDetail | OperatorRequest;

/** Shows the request once it is loaded. */
export function Loaded<Request>(props: {
  of: { data: Request | undefined; error: Error | null; refetch: () => Promise<unknown> };
  children: (request: Request) => ReactNode;
}) {
  const { data, error, refetch } = props.of;
  if (error instanceof ApiFailure && error.status === 404) return <NothingHere error={error} />;
  if (data) return props.children(data);
  return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
}

function Loading() {
  const { t } = useTranslation('common');
  return (
    <Grid gap="lg" role="status" aria-label={t('loading')}>
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Skeleton h={34} w="60%" mb="lg" />
        <Skeleton h={380} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <Skeleton h={220} mt={56} />
      </Grid.Col>
    </Grid>
  );
}

/** The head of a request and two columns; in one column, `aside` comes after `state`. */
export function RequestFrame(props: {
  request: AnyDetail;
  back: ReactNode;
  actions: ReactNode;
  /** Above both columns. */
  top?: ReactNode;
  state: ReactNode;
  aside: ReactNode;
  children: ReactNode;
}) {
  const { t } = useTranslation('request');
  const nameOf = useModelNames();
  const { request_id, model_id, status } = props.request;
  const isNarrow = useIsNarrow('62em');
  const prompt = 'input' in props.request ? props.request.input.prompt : null;
  const words = typeof prompt === 'string' ? prompt.trim() : '';
  return (
    <>
      {props.back}
      <PageTitle title={words || nameOf(model_id)}>{props.actions}</PageTitle>
      <Group gap="xs" mt={-8} mb="lg">
        <StatusBadge status={status} />
        <Dimmed ff="monospace" className="wrap">
          {model_id}
        </Dimmed>
        <Group gap={2} wrap="nowrap" miw={0}>
          <Dimmed ff="monospace" className="wrap">
            {request_id}
          </Dimmed>
          <Copy text={request_id} what={t('id')} />
        </Group>
      </Group>
      {props.top}
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="lg">
            {props.state}
            {isNarrow && props.aside}
            {props.children}
          </Stack>
        </Grid.Col>
        {!isNarrow && (
          <Grid.Col span={4}>
            <Stack gap="lg">{props.aside}</Stack>
          </Grid.Col>
        )}
      </Grid>
    </>
  );
}

/** The reason why the request failed; nothing if it did not. `beside`: next to its code. */
export function Why(props: { request: AnyDetail; beside?: ReactNode; children: ReactNode }) {
  const { t } = useTranslation('request');
  const { error } = props.request;
  if (error === null) return null;
  return (
    <Alert color="red" icon={<IconAlertTriangle />} title={t('error_title')} role="alert">
      <Text size="sm" fw={500}>
        {errorText(error)}
      </Text>
      {props.children}
      <Group gap="sm" mt="xs">
        <Code>{error.code}</Code>
        {props.beside}
      </Group>
    </Alert>
  );
}

export function TimelineCard({ request }: { request: AnyDetail }) {
  const { t } = useTranslation('request');
  const moments = useMoments(request);
  return (
    <SectionCard title={t('timeline')}>
      <Moments moments={moments} />
    </SectionCard>
  );
}

function useMoments(request: AnyDetail): Moment[] {
  const { t, language } = useTranslation('request');
  const { created_at, started_at, completed_at, cleared_at, expires_at, status } = request;
  const between = (from: string, to: string) =>
    formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)), language);
  const moments: Moment[] = [{ at: created_at, what: t('created') }];
  for (const [i, attempt] of request.attempts.entries()) {
    const { at, outcome } = attempt;
    const isBad = outcome === 'rejected' || outcome === 'missing';
    moments.push({
      at,
      what:
        'upstream' in attempt
          ? t('handed', { upstream: String(attempt.upstream) })
          : t(`attempt.${outcome ?? 'under_way'}`),
      more: i === 0 ? t('waited', { time: between(created_at, at) }) : undefined,
      ...(isBad && { color: 'red' }),
    });
  }
  if (started_at && request.attempts.length === 0)
    moments.push({ at: started_at, what: t('started') });
  if (completed_at) {
    moments.push({
      at: completed_at,
      what: t(`end.${status}`),
      more: started_at ? t('ran', { time: between(started_at, completed_at) }) : undefined,
      color: status === 'FAILED' ? 'red' : status === 'CANCELLED' ? 'gray' : 'fare',
    });
  }
  for (const { at, status: answered } of request.deliveries) {
    const isGood = answered !== null && answered >= 200 && answered < 300;
    const what = answered === null ? t('not_notified') : t('notified', { status: answered });
    moments.push({ at, what, color: isGood ? 'fare' : 'red' });
  }
  const outputs = 'outputs' in request ? request.outputs : [];
  if (expires_at && outputs.length > 0 && outputs.every(({ url }) => url === null))
    moments.push({ at: expires_at, what: t('expired'), color: 'gray' });
  if (cleared_at) moments.push({ at: cleared_at, what: t('cleared_at'), color: 'gray' });
  return moments;
}

const stateColors = { pending: 'gray', delivered: 'fare', failed: 'red' } as const;

/** The webhook and its deliveries; nothing if the request has none. */
export function WebhookCard(props: { request: AnyDetail; text?: string }) {
  const { t } = useTranslation('request');
  const { webhook, deliveries } = props.request;
  if (webhook === null) return null;
  const state = webhook.state ?? 'pending';
  return (
    <SectionCard title={t('webhook')} text={props.text}>
      <Stack gap="xs">
        <Text size="sm" ff="monospace" className="wrap">
          {webhook.url}
        </Text>
        <Dot color={stateColors[state]}>{t(`webhook_state.${state}`)}</Dot>
        {deliveries.map(({ cause, status, error, duration_ms, at }) => (
          <div key={at}>
            <Text size="sm">
              {t(`sent.${cause}`)}: {status === null ? t('no_answer') : t('answer', { status })},{' '}
              <Took ms={duration_ms} />
            </Text>
            <Note>
              <When at={at} as="exact" />
            </Note>
            {error !== null && <Note className="wrap">{error}</Note>}
          </div>
        ))}
      </Stack>
    </SectionCard>
  );
}

type FactRow = [name: string, value: ReactNode];

export function FactsCard(props: {
  request: AnyDetail;
  keyName: ReactNode;
  first?: FactRow[];
  more?: FactRow[];
}) {
  const { t } = useTranslation('request');
  const { request, keyName, first = [], more = [] } = props;
  const { kind, created_at, started_at, completed_at } = request;
  const numbers = useCallNumbers(request);
  const rows: FactRow[] = [
    ...first,
    [t('kind'), t(`common:kind.${kind}`)],
    [t('key'), keyName],
    [t('duration'), <Duration key="took" from={started_at ?? created_at} to={completed_at} />],
    ...more,
    ...numbers,
  ];
  return (
    <SectionCard title={t('common:facts')}>
      <Facts rows={rows} />
    </SectionCard>
  );
}
