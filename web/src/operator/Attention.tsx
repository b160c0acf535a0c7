import { Anchor, Box, Card, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useTranslation } from '../i18n.ts';
import { QueryLink } from '../address.ts';
import { RowName, Heading } from '../components/styles.ts';
import type { AttentionLine } from '../api-types.ts';
import { Failure } from '../components/Failure.tsx';
import { When } from '../components/text.tsx';
import { live } from './live.ts';
import './attention-texts.ts';
import { useOperatorQuery } from '../queries.ts';

interface Place {
  to: string;
  search?: Record<string, string>;
  hash?: string;
}

/** The page on which each problem is solved. A full disk has none. */
const places: Partial<Record<AttentionLine['what'], Place>> = {
  books_broken: { to: '/operator', hash: 'books' },
  books_old: { to: '/operator', hash: 'books' },
  credential_refused: { to: '/operator/upstreams' },
  credit_used_up: { to: '/operator/upstreams' },
  upstream_paused: { to: '/operator/upstreams' },
  model_paused: { to: '/operator/upstreams' },
  jobs_stranded: { to: '/operator/queue', search: { status: 'IN_PROGRESS' } },
  queue_old: { to: '/operator/queue', search: { status: 'IN_QUEUE' } },
  xpub_differs: { to: '/operator/chains' },
  chain_stopped: { to: '/operator/chains' },
  chain_refused: { to: '/operator/chains' },
  chain_behind: { to: '/operator/chains' },
  chain_rescan_late: { to: '/operator/chains' },
  chain_single_endpoint: { to: '/operator/chains' },
  deposits_held: { to: '/operator/deposits' },
  unknown_outcomes: { to: '/operator/unknown' },
  catalog_problems: { to: '/operator/catalog' },
  rows_left_out: { to: '/operator/catalog', search: { state: 'problem' } },
  sold_below_cost: { to: '/operator/catalog' },
  models_stopped: { to: '/operator/catalog', search: { state: 'stopped' } },
  costs_exceed_charges: { to: '/operator/catalog' },
};

/** Problems whose `of` always names all: `count` may count something else, such as jobs. */
const namesAll = new Set<AttentionLine['what']>([
  'catalog_problems',
  'deposits_held',
  'events_unsent',
  'jobs_stranded',
  'unknown_outcomes',
]);

/** Problems that need the operator. */
export function Attention() {
  const { data, error, dataUpdatedAt, refetch } = useOperatorQuery('GET /attention', {}, live);
  return (
    <>
      {error && (
        <Box mb="lg">
          <Failure error={error} retry={() => void refetch()} since={dataUpdatedAt} />
        </Box>
      )}
      {/* After an error, old data must not say that nothing needs attention now. */}
      {data && (data.data.length > 0 || !error) && <Said lines={data.data} />}
    </>
  );
}

function Said({ lines }: { lines: AttentionLine[] }) {
  const { t } = useTranslation('operator_attention');
  if (lines.length === 0) {
    return (
      <Group gap={6} mb="md" mt={-8} wrap="nowrap" c="dimmed">
        <IconCircleCheck size={17} style={{ flexShrink: 0 }} aria-hidden />
        <Text size="sm">{t('nothing')}</Text>
      </Group>
    );
  }
  return (
    <Card withBorder p="md" mb="lg" component="section" aria-label={t('title')}>
      <Group gap={8} mb="sm" wrap="nowrap">
        <IconAlertTriangle size={20} color="var(--warn)" style={{ flexShrink: 0 }} aria-hidden />
        <Heading>{t('title')}</Heading>
      </Group>
      <Stack gap={6} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {lines.map((line) => (
          <li key={line.what}>
            <Waiting line={line} />
          </li>
        ))}
      </Stack>
    </Card>
  );
}

function Waiting({ line: { what, count, of, since } }: { line: AttentionLine }) {
  const { t, i18n } = useTranslation('operator_attention');
  const place = places[what];
  const text = t(`of.${what}`, { count });
  const names = new Intl.ListFormat(i18n.language, { type: 'unit' }).format(of);
  return (
    <Text size="sm" className="wrap">
      {place ? (
        <Anchor
          component={QueryLink}
          to={place.to}
          search={place.search ?? {}}
          {...(place.hash !== undefined && { hash: place.hash })}
          fz="sm"
          fw={500}
          underline="always"
        >
          {text}
        </Anchor>
      ) : (
        <RowName span>{text}</RowName>
      )}
      {names !== '' && `: ${names}`}
      {of.length > 0 && of.length < count && !namesAll.has(what) && ' …'}
      {since !== undefined && (
        <>
          {` · ${t('since')} `}
          <When at={since} />
        </>
      )}
    </Text>
  );
}
