import { Anchor, Box, Button, Group, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { QueryLink } from '../../address.ts';
import { Dimmed } from '../../components/styles.ts';
import { Usd, useMoment } from '../../components/text.tsx';
import { useMay } from '../../session.tsx';
import { useModels } from '../price.ts';
import classes from './Library.module.css';
import type { Entry } from './library-data.ts';
import { Star } from '../Star.tsx';
import { useTranslation } from '../../i18n.ts';

/** Requests whose files are deleted: what they asked for stays, and can be made again. */
export function Lines({ entries }: { entries: Entry[] }) {
  const { t } = useTranslation('library');
  return (
    <Box component="section" aria-label={t('earlier')}>
      <Group gap={8} mb={4} align="baseline">
        <Text component="h2" fz={14} fw={500} m={0}>
          {t('earlier')}
        </Text>
        <Dimmed>{t('earlier_text')}</Dimmed>
      </Group>
      {entries.map((entry) => (
        <Line key={entry.request_id} entry={entry} />
      ))}
    </Box>
  );
}

function Line({ entry }: { entry: Entry }) {
  const { t } = useTranslation('library');
  const moment = useMoment({ dateStyle: 'medium' });
  const { request_id, model_id, created_at, prompt } = entry;
  const models = useModels().data;
  const name = models?.find(({ id }) => id === model_id)?.name ?? model_id;
  return (
    <div className={classes.line} data-line={request_id}>
      <Group gap={4} wrap="nowrap" miw={0}>
        <Anchor
          component={Link}
          to={`/dashboard/requests/${request_id}`}
          c="inherit"
          underline="hover"
          size="sm"
          truncate
          dir="auto"
          title={prompt || undefined}
        >
          {prompt || t('a_run')}
        </Anchor>
        <Star entry={entry} />
      </Group>
      <Dimmed truncate title={model_id}>
        {name}
      </Dimmed>
      <Dimmed className="number">
        <time dateTime={created_at}>{moment(created_at)}</time>
      </Dimmed>
      <Text size="sm" ta="right">
        <Usd micro={entry.charged_usd_micro ?? '0'} />
      </Text>
      <MakeAgain entry={entry} />
    </div>
  );
}

/** Opens the form of its model with the same values. */
export function MakeAgain({ entry }: { entry: Entry }) {
  const { t } = useTranslation('library');
  const models = useModels().data;
  const mayRun = useMay('build');
  const { request_id, model_id, prompt } = entry;
  if (!mayRun) return <span />;
  const isOffered = models?.some(({ id }) => id === model_id) ?? true;
  if (!isOffered) return <Dimmed ta="right">{t('not_offered')}</Dimmed>;
  return (
    <Button
      component={QueryLink}
      to={`/studio/${model_id}`}
      search={{ from: request_id }}
      variant="default"
      size="xs"
      leftSection={<IconRefresh size={14} />}
      aria-label={t('again_of', { what: prompt || t('a_run') })}
    >
      {t('again')}
    </Button>
  );
}
