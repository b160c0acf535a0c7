import {
  Button,
  Card,
  Group,
  Skeleton,
  Stack,
  Text,
  ThemeIcon,
  VisuallyHidden,
} from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { QueryLink } from '../../address.ts';
import type { ReactNode } from 'react';
import { Dimmed, Heading, RowButton } from '../../components/styles.ts';
import type { Overview } from '../../api-types.ts';
import { useAccountQuery } from '../../queries.ts';
import { useMay } from '../../session.tsx';
import { useTranslation } from '../../i18n.ts';

/** The steps a new account still has to take; shown in place of its numbers. */
export function FirstSteps({ steps }: { steps: Overview['steps'] }) {
  const { t } = useTranslation('overview');
  const pays = useMay('pay');
  const { data: ways, isPending } = useAccountQuery('GET /top-up', {}, { staleTime: 60_000 });
  const way = ways?.takes_usdt ? 'usdt' : ways?.text ? 'text' : 'voucher';
  const builds = useMay('build');
  // Its first step says how to pay.
  if (isPending) return <Skeleton h={480} />;
  return (
    <Card withBorder padding="lg">
      <Heading>{t('steps')}</Heading>
      <Dimmed mb="lg">{t('steps_text')}</Dimmed>
      <Stack component="ol" gap="lg" m={0} p={0} style={{ listStyle: 'none' }}>
        <Step
          number={1}
          done={steps.topped_up}
          title={t('step_money')}
          text={`${ways ? t(`step_money_ways.${way}`) : ''} ${t('step_money_text')}`}
        >
          {pays && (
            <Button
              component={Link}
              to="/dashboard/money/top-up"
              size="xs"
              variant={steps.topped_up ? 'default' : 'filled'}
            >
              {t('top_up')}
            </Button>
          )}
        </Step>
        <Step number={2} done={steps.has_key} title={t('step_key')} text={t('step_key_text')}>
          {builds && (
            <Button
              component={QueryLink}
              to="/dashboard/keys"
              search={{ create: true }}
              size="xs"
              variant={steps.topped_up && !steps.has_key ? 'filled' : 'default'}
            >
              {t('keys_make')}
            </Button>
          )}
        </Step>
        <Step
          number={3}
          done={steps.has_request}
          title={t('step_request')}
          text={t('step_request_text')}
        >
          <RowButton component={Link} to="/studio">
            {t('step_studio')}
          </RowButton>
          <RowButton component={Link} to="/dashboard/docs">
            {t('step_docs')}
          </RowButton>
        </Step>
      </Stack>
    </Card>
  );
}

function Step(props: {
  number: number;
  done: boolean;
  title: string;
  text: string;
  children: ReactNode;
}) {
  const { t } = useTranslation('overview');
  const { number, done, title, text, children } = props;
  return (
    <Group component="li" align="flex-start" wrap="nowrap" gap="md">
      <ThemeIcon
        radius="xl"
        size={32}
        variant={done ? 'filled' : 'default'}
        aria-hidden
        style={{ flexShrink: 0 }}
      >
        {done ? <IconCheck size={18} /> : <Text fw={600}>{number}</Text>}
      </ThemeIcon>
      <Stack gap={6}>
        <Text fw={600} c={done ? 'dimmed' : undefined}>
          {title}
          <VisuallyHidden>: {done ? t('common:done') : t('to_do')}</VisuallyHidden>
        </Text>
        {!done && (
          <>
            <Dimmed maw={520}>{text}</Dimmed>
            <Group gap="xs">{children}</Group>
          </>
        )}
      </Stack>
    </Group>
  );
}
