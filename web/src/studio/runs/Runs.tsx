import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconColumns, IconSparkles } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from '../../i18n.ts';
import { Dimmed, Heading, RowButton } from '../../components/styles.ts';
import { ApiFailure } from '../../api.ts';
import { Empty } from '../../components/list/Empty.tsx';
import { More } from '../../components/list/More.tsx';
import { Failure, messageOf } from '../../components/Failure.tsx';
import type { Model } from '../../api-types.ts';
import type { Press } from '../form/presses.ts';
import { RunCard, type RunActions } from './RunCard.tsx';
import classes from './Runs.module.css';
import { useRuns, type Run } from './runs.ts';

const Compare = lazy(() => import('./Compare.tsx'));

const comparedMax = 4;

/** The requests to this model, newest first. */
export function Runs(props: {
  model: Model;
  presses: Press[];
  again: (press: Press) => void;
  drop: (press: Press) => void;
  actions: RunActions;
}) {
  const { model, presses, again, drop, actions } = props;
  const { t } = useTranslation('studio');
  const runs = useRuns(model.id);
  const [chosen, setChosen] = useState<Run[]>([]);
  const [isComparing, setComparing] = useState(false);
  const list = runs.rows ?? [];
  const choose = (run: Run, on: boolean) =>
    setChosen((before) => {
      const others = before.filter(({ request_id }) => request_id !== run.request_id);
      return on ? [...others, run].slice(-comparedMax) : others;
    });
  const isEmpty = runs.rows?.length === 0 && presses.length === 0;

  return (
    <Stack gap="md">
      <Group justify="space-between" mih={36}>
        <Heading>{t('results')}</Heading>
        {chosen.length > 0 && (
          <Group gap="xs">
            <Button variant="subtle" color="gray" size="xs" onClick={() => setChosen([])}>
              {t('choose_none')}
            </Button>
            <Button
              size="xs"
              leftSection={<IconColumns size={16} />}
              disabled={chosen.length < 2}
              onClick={() => setComparing(true)}
            >
              {chosen.length < 2 ? t('compare_more') : t('compare', { count: chosen.length })}
            </Button>
          </Group>
        )}
      </Group>
      {runs.error && <Failure error={runs.error} retry={runs.retry} />}
      {presses
        .filter(({ error }) => error !== null)
        .map((press) => (
          <Refused
            key={press.key}
            press={press}
            again={() => again(press)}
            drop={() => drop(press)}
          />
        ))}
      {isEmpty && (
        <Empty icon={<IconSparkles />} title={t('no_runs_title')} text={t('no_runs_text')} />
      )}
      <div className={classes.grid}>
        {presses
          .filter(({ isSending }) => isSending)
          .map(({ key }) => (
            <Skeleton key={key} h={250} radius="md" aria-label={t('sending')} />
          ))}
        {!runs.rows &&
          !runs.error &&
          Array.from({ length: 4 }, (_, i) => <Skeleton key={i} h={250} radius="md" />)}
        {list.map((run) => (
          <RunCard
            key={run.request_id}
            run={run}
            isChosen={chosen.some(({ request_id }) => request_id === run.request_id)}
            onChoose={(on) => choose(run, on)}
            actions={actions}
          />
        ))}
      </div>
      <More of={runs} mt={0} />
      {isComparing && (
        <Suspense>
          <Compare runs={chosen} onClose={() => setComparing(false)} />
        </Suspense>
      )}
    </Stack>
  );
}

/** A submit that was refused, or whose reply was lost. */
function Refused(props: { press: Press; again: () => void; drop: () => void }) {
  const { press, again, drop } = props;
  const { t } = useTranslation('studio');
  const isLost = !(press.error instanceof ApiFailure);
  return (
    <Alert
      color={isLost ? 'orange' : 'red'}
      icon={<IconAlertTriangle />}
      title={isLost ? t('lost_title') : t('refused_title')}
      role="alert"
      withCloseButton
      closeButtonLabel={t('common:close')}
      onClose={drop}
    >
      <Text size="sm">{isLost ? t('lost_text') : messageOf(press.error)}</Text>
      {!isLost && <Dimmed>{t('nothing_charged')}</Dimmed>}
      <RowButton mt="sm" onClick={again}>
        {t('common:retry')}
      </RowButton>
    </Alert>
  );
}
