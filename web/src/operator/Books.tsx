import { Badge, Card, Code, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Dimmed, Heading, PlainButton } from '../components/styles.ts';
import { notice } from '../components/frame/notice.ts';
import { IconCheck } from '@tabler/icons-react';
import type { AuditResult } from '../api-types.ts';
import { useLocale, When } from '../components/text.tsx';
import { showFailure } from '../components/Failure.tsx';
import { useAction } from './action.ts';
import { useTranslation } from '../i18n.ts';
import './overview-texts.ts';

/**
 * The latest audit of the books, and a button that starts another. `verdict` is undefined while
 * loading.
 */
export function Books({ verdict }: { verdict: AuditResult | null | undefined }) {
  const { t } = useTranslation('operator_overview');
  const act = useAction();
  const prove = useMutation({
    mutationFn: () => act('POST /audit', {}),
    onSuccess: ({ proved }) => notice({ message: t(proved ? 'proved_now' : 'proving') }),
    onError: showFailure,
  });
  return (
    <Card withBorder p="md" id="books">
      <Group justify="space-between" align="flex-start">
        <Stack gap={6} style={{ flex: '1 1 280px' }}>
          <Heading>{t('books')}</Heading>
          {verdict === undefined ? <Skeleton h={44} /> : <Said verdict={verdict} />}
        </Stack>
        <PlainButton onClick={() => prove.mutate()} loading={prove.isPending}>
          {t('prove')}
        </PlainButton>
      </Group>
      {verdict?.violations.map(({ law, says, found }) => (
        <Stack key={law} gap={4} mt="md">
          <Text fw={600} c="red">
            {law}
          </Text>
          <Text size="sm">{says}</Text>
          <Code block style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {found.map((row) => JSON.stringify(row)).join('\n')}
          </Code>
        </Stack>
      ))}
    </Card>
  );
}

function Said({ verdict }: { verdict: AuditResult | null }) {
  const { t } = useTranslation('operator_overview');
  const locale = useLocale();
  if (verdict === null) {
    return (
      <Dimmed>
        {t('books_never')}. {t('books_never_text')}
      </Dimmed>
    );
  }
  const { ok, checked, took_ms, proved_at } = verdict;
  const number = new Intl.NumberFormat(locale);
  const { laws = 0, transfers = 0, requests = 0, accounts = 0 } = checked;
  const seconds = number.format(Math.round(took_ms / 10) / 100);
  return (
    <>
      <Badge
        variant="light"
        color={ok ? 'fare' : 'red'}
        {...(ok && { leftSection: <IconCheck size={12} /> })}
      >
        {t(ok ? 'books_ok' : 'books_broken')}
      </Badge>
      <Dimmed>
        {t('books_checked', {
          laws,
          transfers: number.format(transfers),
          requests: number.format(requests),
          accounts: number.format(accounts),
          seconds,
        })}
      </Dimmed>
      <Dimmed>
        {t('proved')} <When at={proved_at} />
      </Dimmed>
    </>
  );
}
