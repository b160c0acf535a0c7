import {
  Badge,
  Button,
  Card,
  Code,
  Group,
  Progress,
  SimpleGrid,
  Stack,
  Text,
  Tooltip,
} from '@mantine/core';
import { IconPlayerPlay, IconStethoscope } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CardFoot, Dimmed, Heading, RowButton, Dot } from '../../components/styles.ts';
import type { Upstream, UpstreamFigures, UpstreamKey } from '../../api-types.ts';
import { Percent, Took, Usd, When } from '../../components/text.tsx';
import { useAction, usePress } from '../action.ts';
import { useRightProps } from '../rights.ts';
import { Figure } from '../Figure.tsx';
import { PlainLink } from '../links.tsx';
import './upstreams-texts.ts';
import { UpstreamTest } from './UpstreamTest.tsx';
import { useTranslation } from '../../i18n.ts';
import type { Translate } from '../../texts/format.ts';

/** One upstream: its state and its actions. */
export function UpstreamCard({ upstream }: { upstream: Upstream }) {
  const { t } = useTranslation('operator_upstreams');
  const actions = useRightProps();
  const [isTesting, setTesting] = useState(false);
  return (
    <Card withBorder padding="lg" component="article" aria-label={upstream.name}>
      <Group justify="space-between" align="flex-start" gap="sm" mb="md">
        <Head upstream={upstream} />
        <Group gap="xs">
          {isPaused(upstream) && <Wake name={upstream.name} label="wake" />}
          {upstream.set_up && (
            <RowButton
              leftSection={<IconStethoscope size={16} />}
              onClick={() => setTesting(true)}
              {...actions('catalog')}
            >
              {t('test')}
            </RowButton>
          )}
        </Group>
      </Group>
      <Figures upstream={upstream} />
      <Troubles upstream={upstream} />
      {upstream.keys.length > 0 && <Keys keys={upstream.keys} />}
      {isTesting && <UpstreamTest name={upstream.name} onClose={() => setTesting(false)} />}
    </Card>
  );
}

/** Whether the upstream itself or one of its keys is paused. */
export function isPaused({ paused_until, keys }: Upstream): boolean {
  return paused_until !== null || keys.some(isKeyPaused);
}

function isKeyPaused({ paused_until, paused_models }: UpstreamKey): boolean {
  return paused_until !== null || paused_models.length > 0;
}

function Head({ upstream }: { upstream: Upstream }) {
  const { t } = useTranslation('operator_upstreams');
  const { name, adapter, url, has_credential, paused_until, set_up } = upstream;
  const models = upstream.paused_models.length;
  const keys = upstream.keys.filter(isKeyPaused).length;
  const works = models > 0 ? 'partly' : keys > 0 ? 'keys_paused' : 'working';
  const state = !set_up ? 'not_set_up' : paused_until === null ? works : 'paused';
  const color = state === 'working' ? 'fare' : state === 'not_set_up' ? 'red' : 'orange';
  return (
    <Stack gap={4} style={{ minWidth: 0 }}>
      <Group gap="xs">
        <Heading>
          <PlainLink to={`/operator/upstreams/${name}`} fw={600}>
            {name}
          </PlainLink>
        </Heading>
        {upstream.state !== 'on' && (
          <Dot color={upstream.state === 'off' ? 'red' : 'orange'}>
            {t(`state.${upstream.state}`)}
          </Dot>
        )}
        <Dot color={color}>{t(state, { count: state === 'keys_paused' ? keys : models })}</Dot>
        {upstream.class !== null && (
          <Tooltip label={t(`classes.${upstream.class}`)} multiline w={280} events={allEvents}>
            <Badge variant="light" color="gray" c="var(--mantine-color-text)" fw={500} tabIndex={0}>
              {t('class', { name: upstream.class })}
            </Badge>
          </Tooltip>
        )}
      </Group>
      <Dimmed className="wrap">
        {adapter === null ? t('built_in') : `${adapter} · ${url ?? ''}`}
        {adapter !== null && !has_credential && ` · ${t('no_credential')}`}
        {' · '}
        <Text
          component={Link}
          to={`/operator/catalog?upstream=${name}`}
          inherit
          td="underline"
          c="inherit"
        >
          {t('rows', { count: upstream.rows })}
        </Text>
      </Dimmed>
    </Stack>
  );
}

const allEvents = { hover: true, focus: true, touch: true };

function Wake(props: { name: string; model?: string; label: 'wake' | 'wake_model' }) {
  const { name, model, label } = props;
  const { t } = useTranslation('operator_upstreams');
  const actions = useRightProps();
  const act = useAction();
  const wake = usePress(() => {
    const given = { params: { upstream: name }, body: { model } };
    return act('POST /upstreams/:upstream/resume', given, t('woken', { name: model ?? name }));
  });
  return (
    <Button
      size="xs"
      variant={model === undefined ? 'filled' : 'default'}
      leftSection={<IconPlayerPlay size={16} />}
      onClick={() => wake.mutate()}
      {...actions('catalog')}
      loading={wake.isPending}
    >
      {t(label)}
    </Button>
  );
}

function Figures({ upstream }: { upstream: Upstream }) {
  const { t } = useTranslation('operator_upstreams');
  const { last_hour: hour, last_day: day, concurrency, in_use, waiting } = upstream;
  const share = concurrency ? (in_use * 100) / concurrency : 0;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="md">
      <Figure label={t('slots')}>
        {concurrency === null ? in_use : t('of', { used: in_use, all: concurrency })}
        <Progress
          value={Math.min(100, share)}
          size="sm"
          mt={6}
          color={share >= 100 ? 'orange' : 'fare'}
          aria-label={t('slots')}
        />
      </Figure>
      <Figure
        label={t('waiting')}
        note={
          upstream.oldest_seconds !== null && (
            <>
              {t('oldest')} <Took ms={upstream.oldest_seconds * 1000} />
            </>
          )
        }
      >
        {upstream.waiting_more ? t('or_more', { n: waiting }) : waiting}
      </Figure>
      <Figure
        label={t('errors')}
        note={
          <>
            {ended(hour, t)}
            <br />
            {t('errors_day')}: {day.error_ppm === null ? '—' : <Percent ppm={day.error_ppm} />}
          </>
        }
      >
        <Text span inherit {...((hour.error_ppm ?? 0) >= 50_000 && { c: 'red' })}>
          {hour.error_ppm === null ? '—' : <Percent ppm={hour.error_ppm} />}
        </Text>
      </Figure>
      <Figure label={t('starts')} note={<Spread hour={hour} day={day} of="start" />}>
        <Ms ms={hour.start_median_ms ?? day.start_median_ms} />
      </Figure>
      <Figure label={t('runs')} note={<Spread hour={hour} day={day} of="run" />}>
        <Ms ms={hour.run_median_ms ?? day.run_median_ms} />
      </Figure>
      <Figure
        label={t('spend')}
        note={
          <>
            <Usd micro={upstream.cost_month_usd_micro} /> {t('month')}
            {upstream.uncosted_month > 0 && (
              <>
                <br />
                {t('uncosted', { n: upstream.uncosted_month })}
              </>
            )}
          </>
        }
      >
        <Usd micro={upstream.cost_today_usd_micro} />
      </Figure>
    </SimpleGrid>
  );
}

function ended({ completed, failed }: UpstreamFigures, t: Translate): string {
  const all = completed + failed;
  return all === 0 ? t('none_ended') : t('ended', { failed, all });
}

/** The last hour's 95th percentile and the day's median; or else the day's 95th percentile. */
function Spread({
  hour,
  day,
  of,
}: {
  hour: UpstreamFigures;
  day: UpstreamFigures;
  of: 'start' | 'run';
}) {
  const { t } = useTranslation('operator_upstreams');
  const hasHour = hour[`${of}_median_ms`] !== null;
  if (day[`${of}_median_ms`] === null && !hasHour) return null;
  return (
    <>
      {t('p95')}: <Ms ms={(hasHour ? hour : day)[`${of}_p95_ms`]} />, {t(hasHour ? 'hour' : 'day')}
      {hasHour && (
        <>
          <br />
          {t('day')}: <Ms ms={day[`${of}_median_ms`]} />
        </>
      )}
    </>
  );
}

function Ms({ ms }: { ms: number | null }) {
  return ms === null ? <>—</> : <Took ms={ms} />;
}

function Troubles({ upstream }: { upstream: Upstream }) {
  const { t } = useTranslation('operator_upstreams');
  const { paused_until, failures, last_error, last_error_at, paused_models, last_day } = upstream;
  if (paused_until === null && last_error === null && paused_models.length === 0) return null;
  const isSaidBelow = paused_models.some((each) => each.last_error === last_error);
  return (
    <CardFoot>
      {(paused_until !== null || failures > 0) && (
        <Text size="sm" fw={500}>
          {paused_until !== null && (
            <>
              {t('until')} <When at={paused_until} />
              {failures > 0 && ' · '}
            </>
          )}
          {failures > 0 && t('failures', { count: failures })}
        </Text>
      )}
      {last_error !== null && !isSaidBelow && (
        <Text size="sm" className="wrap">
          <Text span c="dimmed" fz="sm">
            {t('last_error')}
            {last_error_at !== null && (
              <>
                , <When at={last_error_at} />
              </>
            )}
            {': '}
          </Text>
          {last_error}
        </Text>
      )}
      {last_day.starts_refused > 0 && (
        <Dimmed>{t('refused', { n: last_day.starts_refused, all: last_day.starts })}</Dimmed>
      )}
      {paused_models.length > 0 && (
        <Stack gap={6}>
          <Dimmed>{t('common:nav.models')}</Dimmed>
          {paused_models.map((each) => (
            <Group key={each.model} justify="space-between" gap="xs">
              <Text size="sm" style={{ overflowWrap: 'anywhere', flex: '1 1 260px' }}>
                <Code>{each.model}</Code> {t('until')}{' '}
                {each.paused_until !== null && <When at={each.paused_until} />}
                {each.last_error !== null && `: ${each.last_error}`}
              </Text>
              <Wake name={upstream.name} model={each.model} label="wake_model" />
            </Group>
          ))}
        </Stack>
      )}
    </CardFoot>
  );
}

/** Each key with its running jobs, and why it is paused. */
function Keys({ keys }: { keys: UpstreamKey[] }) {
  const { t } = useTranslation('operator_upstreams');
  return (
    <CardFoot gap={6}>
      <Dimmed>{t('common:nav.keys')}</Dimmed>
      <Stack gap={6} role="list" aria-label={t('common:nav.keys')}>
        {keys.map((each) => (
          <Text key={each.key} size="sm" role="listitem" className="wrap">
            <Code>{each.key}</Code> {t('key_jobs', { count: each.in_use })}
            {each.paused_until !== null && (
              <>
                {' · '}
                {t('paused_until')} <When at={each.paused_until} />
              </>
            )}
            {each.paused_models.map(({ model, paused_until }) => (
              <span key={model}>
                {' · '}
                <Code>{model}</Code> {t('paused_until')}{' '}
                {paused_until !== null && <When at={paused_until} />}
              </span>
            ))}
            {each.last_error !== null && (
              <Text span inherit c="dimmed">
                {' · '}
                {each.last_error}
              </Text>
            )}
          </Text>
        ))}
      </Stack>
    </CardFoot>
  );
}
