import { Badge, Box, Group, Text } from '@mantine/core';
import { IconShieldCheck } from '@tabler/icons-react';
import type { Refusal } from '../../api-types.ts';
import { Copy } from '../../components/Copy.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { PagedList } from '../../components/list/PagedList.tsx';
import { Dimmed, Note } from '../../components/styles.ts';
import { When } from '../../components/text.tsx';
import '../keys/refused-texts.ts';
import { useModelNames } from '../../requests/model-names.tsx';
import type { Search } from './request-entries.ts';
import { useKeyName, useRefusals } from './requests-data.ts';
import { useTranslation } from '../../i18n.ts';

/** Calls that were refused, with the reason and what to do about it. */
export function Refusals({ search }: { search: Search }) {
  const { t } = useTranslation('requests');
  const found = useRefusals(search);
  const columns: Column<Refusal>[] = [
    column.plain(t('refused.what'), (row) => <What row={row} />),
    column.plain(t('refused.why'), (row) => <Why row={row} />),
    column.plain(t('column.key'), (row) => <KeyName id={row.key_id} />),
    column.when(t('column.time'), (row) => row.at),
  ];
  return (
    <>
      <Dimmed mb="sm" maw={720}>
        {t('refused.text')}
      </Dimmed>
      <PagedList
        of={found}
        empty={{
          icon: <IconShieldCheck />,
          title: t('refused.none'),
          text: t('refused.none_text'),
        }}
        label={t('state.REFUSED')}
        columns={columns}
        keyOf={({ call_id }) => call_id}
        card={(row) => <RefusalCard row={row} />}
        tableFrom={820}
      />
    </>
  );
}

function RefusalCard({ row }: { row: Refusal }) {
  return (
    <>
      <Why row={row} />
      <Box mt={6}>
        <What row={row} />
      </Box>
      <Group justify="space-between" gap="xs" mt={6} c="dimmed">
        <KeyName id={row.key_id} />
        <Text size="xs" span>
          <When at={row.at} />
        </Text>
      </Group>
    </>
  );
}

function What({ row: { model_id, path, call_id } }: { row: Refusal }) {
  const { t } = useTranslation('requests');
  const nameOf = useModelNames();
  return (
    <Box miw={160} maw={320}>
      <Text size="sm" fw={500} className="wrap" c={model_id === null ? 'dimmed' : undefined}>
        {model_id === null ? t('refused.no_model') : nameOf(model_id)}
      </Text>
      <Group gap={2} wrap="nowrap">
        <Note truncate ff="monospace" title={t('refused.call', { id: call_id })}>
          {path}
        </Note>
        <Copy text={call_id} what={t('refused.call', { id: call_id })} />
      </Group>
    </Box>
  );
}

/** The error, and what to do about it. */
function Why({ row: { status, code, reason } }: { row: Refusal }) {
  const { t } = useTranslation('refused');
  return (
    <Box maw={460} data-refused={code}>
      <Group gap={6} mb={2}>
        <Badge variant="light" color={status === 402 || status === 429 ? 'orange' : 'red'}>
          {status}
        </Badge>
        <Text span size="sm" ff="monospace">
          {code}
          {reason !== null && <Note span>{` ${reason}`}</Note>}
        </Text>
      </Group>
      <Dimmed className="wrap">{t(`todo.${code}`, { defaultValue: t('todo.other') })}</Dimmed>
    </Box>
  );
}

function KeyName({ id }: { id: string }) {
  return (
    <Text size="sm" truncate maw={180}>
      {useKeyName(id)}
    </Text>
  );
}
