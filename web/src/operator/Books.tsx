import { Badge, Card, Code, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Dimmed, Heading, PlainButton } from '../components/styles.ts';
import { notice } from '../components/frame/notice.ts';
import { IconCheck } from '@tabler/icons-react';
import type { AuditResult } from '../api-types.ts';
import { useLocale, When } from '../components/text.tsx';
import { useAction, usePress } from './action.ts';
import { useTranslation } from '../i18n.ts';
import './overview-texts.ts';

/**
 * The latest audit of the books, and a button that starts another. `verdict` is undefined while
 * loading.
 */
export function Books({ verdict }: { verdict: AuditResult | null | undefined }) {
  const { t } = useTranslation('operator_overview');
  const act = useAction();
  const prove = usePress(
    () => act('POST /audit', {}),
    ({ proved }) => notice({ message: t(proved ? 'proved_now' : 'proving') }),
  );
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

/** The name of the text that says how the books are. */
export function booksState(verdict: AuditResult | null) {
  if (verdict === null) return 'books_never';
  if (!verdict.ok) return 'books_broken';
  return verdict.is_behind ? 'books_read' : 'books_ok';
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
  const { ok, checked, took_ms, proved_at, whole_at } = verdict;
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
        {t(booksState(verdict))}
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
        {t('proved')} <When at={proved_at} />.{' '}
        {whole_at === null ? (
          t('whole_never')
        ) : (
          <>
            {t('whole')} <When at={whole_at} />
          </>
        )}
      </Dimmed>
    </>
  );
}
