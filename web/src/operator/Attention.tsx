import { Anchor, Box, Group, Text } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useTranslation } from '../i18n.ts';
import { QueryLink } from '../address.ts';
import type { AttentionLine } from '../api-types.ts';
import { Failure } from '../components/Failure.tsx';
import { Todo } from '../components/Home.tsx';
import { RowButton } from '../components/styles.ts';
import { When } from '../components/text.tsx';
import { AttentionAction, hasAction } from './AttentionAction.tsx';
import './attention-texts.ts';
import { liveQuery } from './live.ts';
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

/** Money or results are in danger while these last. */
const bad = new Set<AttentionLine['what']>([
  'books_broken',
  'disk_low',
  'storage_away',
  'credential_refused',
  'credit_used_up',
  'xpub_differs',
  'chain_stopped',
  'jobs_stranded',
  'costs_exceed_charges',
]);

/** Problems that need the operator, each with its act. */
export function Attention() {
  const { t } = useTranslation('operator_attention');
  const { data, error, dataUpdatedAt, refetch } = useOperatorQuery('GET /attention', {}, liveQuery);
  const lines = data?.data ?? [];
  return (
    <>
      {error && (
        <Box mb="lg">
          <Failure error={error} retry={() => void refetch()} since={dataUpdatedAt} />
        </Box>
      )}
      {/* After an error, old data must not say that nothing needs attention now. */}
      {data && lines.length === 0 && !error && (
        <Group gap={6} wrap="nowrap" c="dimmed" mih={60} align="flex-start">
          <IconCircleCheck size={17} style={{ flexShrink: 0, marginTop: 2 }} aria-hidden />
          <Text size="sm">{t('nothing')}</Text>
        </Group>
      )}
      <Todo
        lines={lines.map((line) => ({
          id: line.what,
          title: <Title line={line} />,
          text: <About line={line} />,
          isBad: bad.has(line.what),
          act: hasAction(line) ? <AttentionAction line={line} /> : <Way line={line} />,
        }))}
      />
    </>
  );
}

/** Leads to its page, unless a button beside it does. */
function Title({ line }: { line: AttentionLine }) {
  const { t } = useTranslation('operator_attention');
  const place = hasAction(line) && placeOf(line);
  const text = t(`of.${line.what}`, { count: line.count });
  if (!place) return text;
  return (
    <Anchor component={QueryLink} {...place} inherit c="inherit">
      {text}
    </Anchor>
  );
}

function Way({ line }: { line: AttentionLine }) {
  const { t } = useTranslation('operator_attention');
  const place = placeOf(line);
  if (place === null) return null;
  const name = t(`of.${line.what}`, { count: line.count });
  return (
    <RowButton component={QueryLink} {...place} aria-label={`${t('common:open')}: ${name}`}>
      {t('common:open')}
    </RowButton>
  );
}

/** The page on which the problem is solved; that of the one thing that has it, if there is one. */
function placeOf({ what, count, of }: AttentionLine): (Place & { search: object }) | null {
  const place = places[what];
  if (!place) return null;
  const one = count === 1 || (of.length === 1 && namesAll.has(what)) ? of[0] : undefined;
  const search = place.search ?? {};
  if (one === undefined) return { ...place, search };
  if (place.to === '/operator/upstreams')
    return { to: `${place.to}/${one.split(/[# ]/)[0]}`, search };
  if (place.to === '/operator/queue') return { ...place, search: { ...search, upstream: one } };
  if (ofModels.has(what)) return { to: `/operator/catalog/row/${one}`, search: {} };
  return { ...place, search };
}

const ofModels = new Set<AttentionLine['what']>(['sold_below_cost', 'costs_exceed_charges']);

function About({ line: { what, count, of, since } }: { line: AttentionLine }) {
  const { t, language } = useTranslation('operator_attention');
  const names = new Intl.ListFormat(language, { type: 'unit' }).format(of);
  if (names === '' && since === undefined) return null;
  return (
    <>
      {names}
      {of.length > 0 && of.length < count && !namesAll.has(what) && ' …'}
      {since !== undefined && (
        <>
          {names !== '' && ' · '}
          {`${t('since')} `}
          <When at={since} />
        </>
      )}
    </>
  );
}
