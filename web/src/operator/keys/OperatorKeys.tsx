import { Button, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import type { OperatorKey } from '../../api-types.ts';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { PagedList } from '../../components/list/PagedList.tsx';
import { Dimmed, Dot, RowButton, RowName } from '../../components/styles.ts';
import { When } from '../../components/text.tsx';
import { useOperatorPages } from '../../queries.ts';
import { useAction } from '../action.ts';
import { NewOperatorKey } from './NewOperatorKey.tsx';
import './operator-keys-texts.ts';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

export function OperatorKeys() {
  const { t } = useTranslation('operator_keys');
  const actions = useRightProps();
  const [making, { open, close }] = useDisclosure(false);
  const [chosen, setChosen] = useState<OperatorKey | null>(null);
  return (
    <>
      <PageTitle title={t('common:nav.operator_keys')} text={t('text')}>
        <Button leftSection={<IconPlus size={18} />} onClick={open} {...actions('own')}>
          {t('new')}
        </Button>
      </PageTitle>
      <KeyList onRevoke={setChosen} />
      {making && <NewOperatorKey onClose={close} />}
      {chosen !== null && <Revoke of={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function KeyList(props: { onRevoke: (key: OperatorKey) => void }) {
  const { t } = useTranslation('operator_keys');
  const actions = useRightProps();
  const found = useOperatorPages('GET /operator-keys', {});
  const columns: Column<OperatorKey>[] = [
    column.plain(t('name'), (row) => (
      <Stack gap={0}>
        <RowName>{row.name}</RowName>
        <Dimmed ff="monospace" fw={400}>
          {row.hint}
        </Dimmed>
      </Stack>
    )),
    column.plain(t('scopes'), (row) => (
      <Text fz="sm">{row.scopes.map((each) => t(`scope.${each}`)).join(', ')}</Text>
    )),
    column.plain(t('state'), (row) => <State row={row} />),
    column.plain(t('by'), (row) => (
      <Stack gap={0}>
        <Text fz="sm" className="wrap">
          {row.created_by}
        </Text>
        {row.maker_left && (
          <Text fz="xs" c="dimmed">
            {t('maker_left')}
          </Text>
        )}
      </Stack>
    )),
    column.when(t('made'), (row) => row.created_at, true),
    column.actions(
      (row) =>
        row.revoked_at === null && (
          <RowButton
            onClick={() => props.onRevoke(row)}
            aria-label={`${t('revoke')}: ${row.name}`}
            {...actions('own')}
          >
            {t('revoke')}
          </RowButton>
        ),
    ),
  ];
  return (
    <PagedList
      of={found}
      empty={{ icon: <IconKey />, title: t('none_title'), text: t('none_text') }}
      label={t('common:nav.operator_keys')}
      columns={columns}
      keyOf={(row) => row.operator_key_id}
    />
  );
}

function State({ row: { revoked_at, last_used_at } }: { row: OperatorKey }) {
  const { t } = useTranslation('operator_keys');
  if (revoked_at !== null) return <Dot color="red">{t('revoked')}</Dot>;
  return (
    <Stack gap={2} align="flex-start">
      <Dot color="fare">{t('active')}</Dot>
      <Text fz="xs" c="dimmed">
        {last_used_at === null ? (
          t('unused')
        ) : (
          <>
            {t('used')} <When at={last_used_at} as="date" />
          </>
        )}
      </Text>
    </Stack>
  );
}

function Revoke({ of: key, onClose }: { of: OperatorKey; onClose: () => void }) {
  const { t } = useTranslation('operator_keys');
  const act = useAction();
  const params = { operator_key_id: key.operator_key_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('revoke_title')}
      submit={t('revoke')}
      danger
      onSubmit={() => act('DELETE /operator-keys/:operator_key_id', { params }, t('revoked_now'))}
    >
      <Text fw={600} className="wrap">
        {key.name} · {key.hint}
      </Text>
      <Text size="sm">{t('revoke_text')}</Text>
    </FormModal>
  );
}
