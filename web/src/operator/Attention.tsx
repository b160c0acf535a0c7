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

interface Kind {
  /** The page on which the problem is solved; null: none. */
  place: Place | null;
  /** Money or results are in danger while it lasts. */
  isBad?: true;
  /** `of` always names all: `count` may count something else, such as jobs. */
  namesAll?: true;
}

const upstreams = { to: '/operator/upstreams' };
const chains = { to: '/operator/chains' };
const catalog = { to: '/operator/catalog' };
const books = { to: '/operator', hash: 'books' };

const kinds: Record<AttentionLine['what'], Kind> = {
  restored_copy: { place: null },
  books_broken: { place: books, isBad: true },
  books_old: { place: books },
  disk_low: { place: null, isBad: true },
  storage_away: { place: null, isBad: true },
  clock_skew: { place: null },
  credential_refused: { place: upstreams, isBad: true },
  credit_used_up: { place: upstreams, isBad: true },
  upstream_paused: { place: upstreams },
  model_paused: { place: upstreams },
  jobs_stranded: {
    place: { to: '/operator/queue', search: { status: 'IN_PROGRESS' } },
    isBad: true,
    namesAll: true,
  },
  queue_old: { place: { to: '/operator/queue', search: { status: 'IN_QUEUE' } } },
  xpub_differs: { place: chains, isBad: true },
  chain_stopped: { place: chains, isBad: true },
  chain_refused: { place: chains },
  chain_behind: { place: chains },
  chain_rescan_late: { place: chains },
  chain_single_endpoint: { place: chains },
  deposits_held: { place: { to: '/operator/deposits' }, namesAll: true },
  unknown_outcomes: { place: { to: '/operator/unknown' }, namesAll: true },
  events_unsent: { place: null, namesAll: true },
  catalog_problems: { place: catalog, namesAll: true },
  rows_left_out: { place: { ...catalog, search: { state: 'problem' } } },
  sold_below_cost: { place: catalog },
  models_stopped: { place: { ...catalog, search: { state: 'stopped' } } },
  costs_exceed_charges: { place: catalog, isBad: true },
};

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
          isBad: kinds[line.what].isBad ?? false,
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
  const { place, namesAll } = kinds[what];
  if (!place) return null;
  const one = count === 1 || (of.length === 1 && namesAll) ? of[0] : undefined;
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
      {of.length > 0 && of.length < count && !kinds[what].namesAll && ' …'}
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
