import { Anchor, Button, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlayerPlay, IconRotate } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { OperatorChain } from '../../api-types.ts';
import { CardFoot, Dimmed, Dot, Heading, RowButton, Tag } from '../../components/styles.ts';
import { Ago, Took, useLocale, When } from '../../components/text.tsx';
import { Figure } from '../Figure.tsx';
import './chains-texts.ts';
import { RescanDialog, ResumeDialog } from './ReadDialog.tsx';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

const colors: Record<OperatorChain['state'], string> = {
  read: 'fare',
  starting: 'blue',
  retrying: 'yellow',
  behind: 'orange',
  refused: 'red',
  stopped: 'red',
  not_set_up: 'gray',
};

/** One chain: how far it is read, and its problems. */
export function ChainCard({ chain }: { chain: OperatorChain }) {
  const { t } = useTranslation('operator_chains');
  const actions = useRightProps();
  const [opened, { open, close }] = useDisclosure(false);
  const { chain: name, title, chain_id, state } = chain;
  const Dialog = state === 'stopped' ? ResumeDialog : RescanDialog;
  return (
    <Card withBorder padding="lg" component="article" aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="sm" mb="md">
        <Stack gap={4} style={{ minWidth: 0 }}>
          <Group gap="xs">
            <Heading>{title}</Heading>
            <Dot color={colors[state]}>{t(`state.${state}`)}</Dot>
            {chain.is_play && <Tag>{t('play')}</Tag>}
          </Group>
          <Dimmed className="wrap">{t('name', { name, id: chain_id })}</Dimmed>
        </Stack>
        {state === 'stopped' && (
          <Button
            size="xs"
            leftSection={<IconPlayerPlay size={16} />}
            onClick={open}
            {...actions('money')}
          >
            {t('resume')}
          </Button>
        )}
        {state !== 'stopped' && chain.scanned_height !== null && chain.endpoints > 0 && (
          <RowButton leftSection={<IconRotate size={16} />} onClick={open} {...actions('money')}>
            {t('rescan')}
          </RowButton>
        )}
      </Group>
      <Figures chain={chain} />
      <Problems chain={chain} />
      {opened && <Dialog chain={chain} onClose={close} />}
    </Card>
  );
}

function Figures({ chain }: { chain: OperatorChain }) {
  const { t } = useTranslation('operator_chains');
  const { lag_blocks, lag_seconds, endpoints, held } = chain;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="md">
      <Figure label={t('head')}>
        <Height of={chain.head_height} />
      </Figure>
      <Figure
        label={t('scanned')}
        note={lag_blocks !== null && t('behind_by', { count: lag_blocks })}
      >
        <Height of={chain.scanned_height} />
      </Figure>
      <Figure label={t('lag')} note={t('lag_note')}>
        {lag_seconds === null ? '—' : <Took ms={lag_seconds * 1000} />}
      </Figure>
      <Figure
        label={t('read_at')}
        note={
          chain.failures > 0 &&
          chain.wake_at !== null && (
            <>
              {t('next')} <When at={chain.wake_at} />
            </>
          )
        }
      >
        {chain.read_at === null ? t('never') : <Ago at={chain.read_at} />}
      </Figure>
      <Figure label={t('endpoints')} note={endpoints === 1 && !chain.is_play && t('single')}>
        {endpoints}
      </Figure>
      <Figure label={t('held')}>
        {held === 0 ? (
          held
        ) : (
          <Anchor
            component={Link}
            to={`/operator/deposits?state=held&chain=${chain.chain}`}
            inherit
            underline="always"
          >
            {held}
          </Anchor>
        )}
      </Figure>
    </SimpleGrid>
  );
}

function Height({ of }: { of: number | null }) {
  const format = new Intl.NumberFormat(useLocale());
  return of === null ? '—' : format.format(of);
}

function Problems({ chain }: { chain: OperatorChain }) {
  const { t } = useTranslation('operator_chains');
  const { stopped_why, refused_why, key_differs, failures, last_error, state } = chain;
  const { rescan_from, rescan_to, rescan_late, rescanned_height } = chain;
  const height = new Intl.NumberFormat(useLocale());
  // While the chain is stopped or refused, the last error only repeats the reason for this.
  const error = stopped_why === null && refused_why === null ? last_error : null;
  const problems: [what: string, message: string][] = [
    ...(stopped_why === null ? [] : [problem('stopped', stopped_why)]),
    ...(refused_why === null ? [] : [problem('refused', refused_why)]),
    ...(key_differs ? [problem('key_differs', '')] : []),
    ...(state === 'not_set_up' ? [problem('not_set_up', '')] : []),
    ...(error === null ? [] : [problem('failures', error)]),
    ...(rescan_late ? [problem('rescan_late', '')] : []),
    ...(rescan_from === null ? [] : [problem('rescan', '')]),
  ];
  if (problems.length === 0) return null;
  return (
    <CardFoot>
      {problems.map(([what, message]) => (
        <Text key={what} size="sm" className="wrap">
          {t(`problem.${what}`, {
            count: failures,
            said: message,
            from: height.format(rescan_from ?? 0),
            to: height.format(rescan_to ?? 0),
            rescanned: height.format(rescanned_height ?? 0),
          })}
        </Text>
      ))}
    </CardFoot>
  );
}

function problem(what: string, message: string): [string, string] {
  return [what, message];
}
