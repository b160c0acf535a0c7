import { Group, Stack, Text } from '@mantine/core';
import type { CatalogRowDetail, ModelHistoryEntry } from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { Dimmed, Heading, Note, RowButton } from '../../components/styles.ts';
import { When } from '../../components/text.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { useAction, usePress } from '../action.ts';
import { useRightProps } from '../rights.ts';
import './catalog-texts.ts';
import { priceText, routesText } from './sale.ts';
import { useTranslation } from '../../i18n.ts';
import type { Translate } from '../../texts/format.ts';

/** The changes of how a row is sold, newest first; each can be undone by one press. */
export function History({ row }: { row: CatalogRowDetail }) {
  const { t } = useTranslation('operator_catalog');
  const found = useOperatorQuery('GET /models/:model_id/history', {
    params: { model_id: row.id },
    query: { limit: 50 },
  });
  const entries = found.data?.data.filter(({ after }) => after !== null);
  return (
    <section aria-label={t('history')}>
      <Heading mb="sm">{t('history')}</Heading>
      {found.error && <Failure error={found.error} retry={() => void found.refetch()} />}
      {entries?.length === 0 && <Dimmed>{t('history_none')}</Dimmed>}
      <Stack gap={0} role="list" aria-label={t('history')}>
        {entries?.map((entry) => (
          <Entry key={entry.log_id} row={row} entry={entry} />
        ))}
      </Stack>
    </section>
  );
}

function Entry({ row, entry }: { row: CatalogRowDetail; entry: ModelHistoryEntry }) {
  const { t } = useTranslation('operator_catalog');
  const act = useAction();
  const undo = usePress(() => {
    const body = { ...entry.before, reason: t('undo_reason') };
    return act('PATCH /models/*', { params: { '*': row.id }, body }, t('undone'));
  });
  const { at, by, reason } = entry;
  const actions = useRightProps();
  return (
    <Group
      role="listitem"
      justify="space-between"
      gap="sm"
      py="xs"
      style={{ borderBottom: '1px solid var(--n5)' }}
    >
      <Stack gap={2} flex="1 1 260px" miw={0}>
        <Text size="sm" className="wrap">
          {changeText(entry, t).join(' · ')}
        </Text>
        <Note className="wrap">
          <When at={at} /> · {by === 'command line' ? t('command_line') : by}
          {reason !== null && ` · ${reason}`}
        </Note>
      </Stack>
      <RowButton loading={undo.isPending} onClick={() => undo.mutate()} {...actions('catalog')}>
        {t('undo')}
      </RowButton>
    </Group>
  );
}

/** The change in words, a part for each field. */
function changeText({ before, after }: ModelHistoryEntry, t: Translate): string[] {
  type Sale = Partial<CatalogRowDetail['sold']> & { status?: string; status_note?: string | null };
  const [was, is]: [Sale, Sale] = [before ?? {}, after ?? {}];
  const price = (of: Sale) => (of.price == null ? t('file_price') : priceText(of.price));
  const routes = (of: Sale) => (of.upstreams == null ? t('file_routes') : routesText(of.upstreams));
  return [
    ...(is.status === 'stopped'
      ? [t('was_stopped')]
      : is.status === 'live'
        ? [t('was_resumed')]
        : []),
    ...('status_note' in is && is.status_note ? [t('note_is', { note: is.status_note })] : []),
    ...('price' in is ? [t('was_priced', { from: price(was), to: price(is) })] : []),
    ...('upstreams' in is ? [t('was_routed', { from: routes(was), to: routes(is) })] : []),
  ];
}
