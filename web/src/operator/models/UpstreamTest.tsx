import { Alert, Group, List, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Dimmed } from '../../components/styles.ts';
import type { UpstreamCheck } from '../../api-types.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Failure } from '../../components/Failure.tsx';
import { useAction } from '../action.ts';
import './upstreams-words.ts';

/** Tests an upstream and shows the result. */
export function UpstreamTest({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation('operator_upstreams');
  const act = useAction();
  // One test each time the dialog opens.
  const found = useQuery({
    queryKey: ['upstream-test', name],
    queryFn: () => act('POST /upstreams/:upstream/test', { params: { upstream: name } }),
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const { data: look, error } = found;
  return (
    <Modal opened onClose={onClose} title={t('test_title', { name })}>
      {error && <Failure error={error} retry={() => void found.refetch()} />}
      {!look && !error && (
        <Stack gap="sm" role="status" aria-busy="true" aria-label={t('test')}>
          <Skeleton h={44} />
          <Skeleton h={20} />
          <Skeleton h={20} />
        </Stack>
      )}
      {look && <Result look={look} />}
    </Modal>
  );
}

function Result({ look }: { look: UpstreamCheck }) {
  const { t } = useTranslation('operator_upstreams');
  const { ok, answers, rows, listed, missing, problems, keys } = look;
  const wrong = [...problems, ...missing.map((each) => t('missing', { ...each }))];
  return (
    <Stack gap="sm">
      <Alert color={ok ? 'fare' : 'red'} variant="light" role="status">
        <Text fw={600} size="sm">
          {t(ok ? 'test_ok' : 'test_bad')}
        </Text>
        <Text size="sm">{t('test_text')}</Text>
      </Alert>
      <Line
        label={t('address')}
        text={t(answers === null ? 'not_asked' : answers ? 'answers' : 'no_answer')}
      />
      {answers && keys.length === 0 && (
        <Line label={t('credential')} text={t(credentialWord(look))} />
      )}
      {answers &&
        keys.map(({ key, taken }) => (
          <Line key={key} label={t('key', { name: key })} text={t(takenWord(taken))} />
        ))}
      <Line
        label={t('catalog')}
        text={`${t('rows', { count: rows })}${listed === null ? '' : `; ${t('listed', { n: listed })}`}`}
      />
      {wrong.length > 0 && (
        <List size="sm" spacing={4}>
          {wrong.map((text) => (
            <List.Item key={text} className="wrap">
              {text}
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}

function credentialWord({ credential_taken, has_credential }: UpstreamCheck): string {
  return credential_taken && !has_credential ? 'none_needed' : takenWord(credential_taken);
}

function takenWord(taken: boolean | null): string {
  if (taken === null) return 'not_tried';
  return taken ? 'taken' : 'not_confirmed';
}

function Line({ label, text }: { label: string; text: string }) {
  return (
    <Group justify="space-between" gap="md" wrap="nowrap" align="baseline">
      <Dimmed>{label}</Dimmed>
      <Text size="sm" ta="right">
        {text}
      </Text>
    </Group>
  );
}
