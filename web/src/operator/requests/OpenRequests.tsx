import { Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconStack2 } from '@tabler/icons-react';
import { useState } from 'react';
import { AccountLink, RequestLink } from '../links.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { Note, Heading, PlainButton, RowButton } from '../../components/styles.ts';
import type { OpenRequest } from '../../api-types.ts';
import { Duration, StatusBadge, usePercent, When } from '../../components/text.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { RequestName } from '../../requests/columns.tsx';
import { useAction } from '../action.ts';
import { liveMs } from '../live.ts';
import './queue-texts.ts';
import { offered, useAddress } from '../search.ts';
import { useOperatorPages } from '../../queries.ts';
import { type PagedRows, PagedList } from '../../components/list/PagedList.tsx';
import { FilterSelect } from '../../components/list/FilterSelect.tsx';
import { useRightProps } from '../rights.ts';
import { ModelName } from '../../requests/model-names.tsx';
import { useTranslation } from '../../i18n.ts';

/** Every unfinished request, oldest first. */
export function OpenRequests({ upstreams }: { upstreams: string[] }) {
  const { t } = useTranslation('operator_queue');
  const [{ upstream, status, older, account }, setAddress] = useAddress('/operator/queue');
  const older_seconds = older === undefined ? undefined : Number(older);
  const query = { upstream, status, older_seconds, account_id: account };
  const found = useOperatorPages('GET /queue/requests', { query }, liveMs);
  const isFiltered = Boolean(upstream || status || older || account);
  return (
    <section>
      <Heading mb="sm">{t('open')}</Heading>
      <Group mb="md" gap="sm">
        <FilterSelect
          label={t('common:upstream')}
          all={t('all_upstreams')}
          data={[...new Set([...upstreams, ...(upstream ? [upstream] : [])])].toSorted()}
          value={upstream}
          onChange={(value) => setAddress({ upstream: value })}
          width={190}
        />
        <SegmentedControl
          aria-label={t('status')}
          value={status ?? 'all'}
          onChange={(value) => setAddress({ status: value === 'all' ? undefined : value })}
          data={[
            { value: 'all', label: t('all') },
            { value: 'IN_QUEUE', label: t('waiting') },
            { value: 'IN_PROGRESS', label: t('running') },
          ]}
        />
        <FilterSelect
          label={t('age')}
          all={t('any_age')}
          data={offered.ages.map((value) => ({ value, label: t(`older.${value}`) }))}
          value={older}
          onChange={(value) => setAddress({ older: value })}
          width={210}
        />
        {account !== undefined && (
          <PlainButton onClick={() => setAddress({ account: undefined })}>
            {t('only_account')} · {t('clear')}
          </PlainButton>
        )}
      </Group>
      <Requests of={found} isFiltered={isFiltered} />
    </section>
  );
}

function Requests({ of, isFiltered }: { of: PagedRows<OpenRequest>; isFiltered: boolean }) {
  const { t } = useTranslation('operator_queue');
  const actions = useRightProps();
  const [chosen, setChosen] = useState<OpenRequest | null>(null);
  const columns: Column<OpenRequest>[] = [
    column.plain(t('request'), ({ request_id, model_id }) => (
      <RequestName request_id={request_id}>
        <RequestLink id={request_id}>
          <ModelName id={model_id} />
        </RequestLink>
      </RequestName>
    )),
    column.plain(t('common:account'), (row) => <AccountLink of={row} />),
    column.plain(t('common:upstream'), (row) => <Text fz="sm">{row.upstream}</Text>),
    column.plain(t('status'), (row) => <StatusBadge status={row.status} />),
    column.plain(t('waits_for'), (row) => <WaitsFor row={row} />),
    column.figure(t('age'), (row) => <Duration from={row.created_at} to={null} />),
    column.usd(t('common:reserved'), (row) => row.quoted_usd_micro),
    column.actions(
      (row) =>
        row.status === 'IN_QUEUE' && (
          <RowButton onClick={() => setChosen(row)} {...actions('money')}>
            {t('cancel')}
          </RowButton>
        ),
    ),
  ];
  return (
    <>
      <PagedList
        of={of}
        empty={{
          icon: <IconStack2 />,
          title: t(isFiltered ? 'nothing_title' : 'none_title'),
          text: t(isFiltered ? 'nothing_text' : 'none_text'),
        }}
        label={t('open')}
        columns={columns}
        keyOf={(row) => row.request_id}
      />
      {chosen && <CancelDialog row={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function WaitsFor({ row }: { row: OpenRequest }) {
  const { t } = useTranslation('operator_queue');
  const percent = usePercent();
  const { what, until } = row.waits_for;
  return (
    <Stack gap={0}>
      <Text fz="sm">
        {t(`for.${what}`)}
        {row.progress !== null && `, ${t('progress', { n: percent(row.progress * 1_000_000) })}`}
      </Text>
      {until !== null && (
        <Note>
          {t(`by.${what === 'pause' || what === 'retry' ? what : 'other'}`)} <When at={until} />
        </Note>
      )}
      {row.message !== null && (
        <Note lineClamp={2} title={row.message}>
          {row.message}
        </Note>
      )}
    </Stack>
  );
}

function CancelDialog({ row, onClose }: { row: OpenRequest; onClose: () => void }) {
  const { t } = useTranslation('operator_queue');
  const act = useAction();
  const params = { request_id: row.request_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('cancel_title')}
      submit={t('cancel')}
      danger
      onSubmit={() => act('POST /requests/:request_id/cancel', { params }, t('cancelled'))}
    >
      <Text fw={600} className="wrap">
        <ModelName id={row.model_id} />
      </Text>
      <Text size="sm" className="wrap">
        {row.email}
      </Text>
      <Text size="sm">{t('cancel_text')}</Text>
    </FormModal>
  );
}
