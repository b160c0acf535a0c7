import { Alert, List, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { UpstreamCheck } from '../../api-types.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Failure } from '../../components/Failure.tsx';
import { useAction } from '../action.ts';
import { Facts } from '../../components/Facts.tsx';
import { useTranslation } from '../../i18n.ts';
import './upstreams-texts.ts';

/** Tests an upstream and shows the result. */
export function UpstreamTest({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation('operator_upstreams');
  const act = useAction();
  // Runs one test each time the dialog opens.
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
  const facts: [string, string][] = [
    [t('common:address'), t(answers === null ? 'not_asked' : answers ? 'answers' : 'no_answer')],
  ];
  if (answers && keys.length === 0) facts.push([t('credential'), t(credentialWord(look))]);
  if (answers)
    for (const { key, taken } of keys) facts.push([t('key', { name: key }), t(takenWord(taken))]);
  const known = listed === null ? '' : `; ${t('listed', { n: listed })}`;
  facts.push([t('common:nav.catalog'), `${t('rows', { count: rows })}${known}`]);
  return (
    <Stack gap="sm">
      <Alert color={ok ? 'fare' : 'red'} role="status">
        <Text fw={600} size="sm">
          {t(ok ? 'test_ok' : 'test_bad')}
        </Text>
        <Text size="sm">{t('test_text')}</Text>
      </Alert>
      <Facts rows={facts} />
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
