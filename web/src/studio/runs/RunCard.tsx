import { Box, Checkbox, Group, Menu, Progress, Stack, Text } from '@mantine/core';
import {
  IconBraces,
  IconDice5,
  IconDots,
  IconDownload,
  IconExternalLink,
  IconForms,
  IconTransform,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState, type MouseEvent } from 'react';
import { useTranslation } from '../../i18n.ts';
import { useMutation } from '@tanstack/react-query';
import { Dimmed, Note, QuietIcon, RowButton } from '../../components/styles.ts';
import { notice } from '../../components/frame/notice.ts';
import { messageOf, showFailure } from '../../components/Failure.tsx';
import { StatusBadge, Usd, usePercent, When } from '../../components/text.tsx';
import { isFinal } from '../../../../client/src/watch.ts';
import { briefUsd } from '../../money.ts';
import { useMay } from '../../session.tsx';
import { download } from '../../components/download.ts';
import type { Input } from '../form/draft.ts';
import { DownloadLink } from './DownloadLink.tsx';
import { Shown, Words } from './Shown.tsx';
import classes from './Runs.module.css';
import {
  isExpired,
  shownAs,
  useCancel,
  useCard,
  useOutput,
  useStatus,
  type Medium,
  type Run,
  type StatusNow,
} from './runs.ts';
import { errorText } from '../../i18n.ts';

/** The menu of a run fills or runs the form of its model's page. */
export interface RunActions {
  fill: (input: Input) => void;
  /** Runs again with another seed; null if the model has no seed or the user may not run it. */
  rerun: ((input: Input, shown: string) => void) | null;
}

const Viewer = lazy(() => import('./Viewer.tsx'));
const UseAsInput = lazy(() => import('./UseAsInput.tsx'));

/** One request: status, outputs, cost and actions. */
export function RunCard(props: {
  run: Run;
  isChosen: boolean;
  onChoose: (on: boolean) => void;
  actions: RunActions;
}) {
  const { run, isChosen, onChoose, actions } = props;
  const { t } = useTranslation('studio');
  const now = useStatus(run);
  const status = isFinal(run) ? run.status : now.status;
  const card = useCard(run.request_id);
  const output = useOutput({ request_id: run.request_id, status });
  const [viewed, setViewed] = useState<Medium | null>(null);
  const [used, setUsed] = useState<number | null>(null);
  const media = output.data?.media ?? [];
  const prompt = card.data?.input.prompt;
  const name = typeof prompt === 'string' && prompt !== '' ? prompt : t('a_run');

  return (
    <article
      className={classes.card}
      aria-label={name}
      data-chosen={isChosen || undefined}
      data-run={run.request_id}
      data-status={status}
    >
      <Stage
        run={run}
        now={{ ...now, status }}
        media={media}
        fields={output.data?.fields}
        failure={output.error}
        onView={setViewed}
      />
      <Stack gap={6} p="sm" flex={1}>
        <Text size="sm" lineClamp={2} title={typeof prompt === 'string' ? prompt : undefined}>
          {name}
        </Text>
        <Note>
          <When at={run.created_at} />
        </Note>
        <Group justify="space-between" gap={6} mt="auto" wrap="nowrap">
          <Cost run={run} status={status} />
          <Group gap={2} wrap="nowrap">
            {status === 'COMPLETED' && output.data && (
              <Checkbox
                size="sm"
                mr={6}
                checked={isChosen}
                onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
                aria-label={t('choose_to_compare', { name })}
                title={t('compare_hint')}
              />
            )}
            {media.length === 1 && <DownloadLink medium={media[0]!} />}
            <Actions
              run={run}
              input={card.data?.input}
              media={media}
              actions={actions}
              onUse={setUsed}
            />
          </Group>
        </Group>
      </Stack>
      <Suspense>
        {viewed && (
          <Viewer
            media={media}
            first={viewed}
            seed={output.data?.fields.seed}
            onClose={() => setViewed(null)}
          />
        )}
        {used !== null && (
          <UseAsInput
            request_id={run.request_id}
            index={used}
            medium={media[used]!}
            onClose={() => setUsed(null)}
          />
        )}
      </Suspense>
    </article>
  );
}

/** The reserved price while it runs; afterwards the charge. */
function Cost({ run, status }: { run: Run; status: Run['status'] }) {
  const { t } = useTranslation('studio');
  const { charged_usd_micro: charged, quoted_usd_micro: quoted } = run;
  if (status === 'FAILED' || status === 'CANCELLED')
    return <Text size="sm">{t('nothing_charged')}</Text>;
  return (
    <Text size="sm" fw={500} data-charged={charged ?? undefined}>
      <Usd micro={charged ?? quoted} />{' '}
      <Note span fw={400}>
        {charged === null ? t('reserved') : t('common:charged')}
      </Note>
    </Text>
  );
}

function Stage(props: {
  run: Run;
  now: StatusNow;
  media: Medium[];
  fields: Record<string, unknown> | undefined;
  failure: Error | null;
  onView: (medium: Medium) => void;
}) {
  const { run, now, media, fields, failure, onView } = props;
  const { t } = useTranslation('studio');
  if (now.status === 'COMPLETED' && !failure) {
    return (
      <Box className={classes.stage} data-several={media.length > 1 || undefined}>
        {media.map((medium) => (
          <Shown key={medium.url} medium={medium} onView={() => onView(medium)} />
        ))}
        {fields && media.length === 0 && <Words fields={fields} />}
      </Box>
    );
  }
  return (
    <Box className={`${classes.stage} ${classes.center}`}>
      <StatusBadge status={now.status} />
      {now.status === 'COMPLETED' && (
        <Dimmed>{isExpired(failure) ? t('expired') : messageOf(failure)}</Dimmed>
      )}
      {now.status === 'FAILED' && <WhyFailed run={run} />}
      {!isFinal(now) && <UnderWay run={run} now={now} />}
    </Box>
  );
}

function WhyFailed({ run }: { run: Run }) {
  const card = useCard(run.request_id);
  return (
    <Text size="sm" data-failure>
      {card.data?.error ? errorText(card.data.error) : run.error_code}
    </Text>
  );
}

function UnderWay({ run, now }: { run: Run; now: StatusNow }) {
  const { t } = useTranslation('studio');
  const cancel = useMutation({ mutationFn: useCancel(run), onError: showFailure });
  const mayCancel = useMay('build');
  const position = now.queue_position;
  const percent = usePercent();
  const { progress } = now;
  return (
    <>
      <Dimmed aria-live="polite">
        {now.status === 'IN_QUEUE'
          ? position
            ? t('queue_position', { count: position })
            : t('queue_next')
          : progress === undefined
            ? t('common:status.IN_PROGRESS')
            : t('running_share', { percent: percent(progress * 1_000_000) })}
      </Dimmed>
      <Progress
        w="70%"
        size="sm"
        value={now.status === 'IN_QUEUE' ? 0 : (progress ?? 1) * 100}
        animated={now.status === 'IN_PROGRESS'}
        aria-label={t('progress')}
      />
      {now.status === 'IN_QUEUE' && mayCancel && (
        <RowButton loading={cancel.isPending} onClick={() => cancel.mutate()}>
          {t('common:cancel')}
        </RowButton>
      )}
    </>
  );
}

function Actions(props: {
  run: Run;
  input: Record<string, unknown> | undefined;
  media: Medium[];
  actions: RunActions;
  onUse: (index: number) => void;
}) {
  const { run, input, media, actions, onUse } = props;
  const { t } = useTranslation('studio');
  const copy = async () => {
    await navigator.clipboard.writeText(JSON.stringify(input, null, 2));
    notice({ message: t('common:copied') });
  };
  const several = media.length > 1;
  return (
    <Menu position="bottom-end" width={250} keepMounted={false}>
      <Menu.Target>
        <QuietIcon aria-label={t('actions')}>
          <IconDots size={18} />
        </QuietIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconForms size={16} />}
          disabled={!input}
          onClick={() => input && actions.fill(input)}
        >
          {t('fill')}
        </Menu.Item>
        {actions.rerun && (
          <Menu.Item
            leftSection={<IconDice5 size={16} />}
            disabled={!input}
            rightSection={<Note className="number">{briefUsd(run.quoted_usd_micro, 'up')}</Note>}
            onClick={() => input && actions.rerun?.(input, run.quoted_usd_micro)}
          >
            {t('rerun')}
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<IconBraces size={16} />}
          disabled={!input}
          onClick={() => void copy().catch(showFailure)}
        >
          {t('copy_settings')}
        </Menu.Item>
        {media.map(
          (medium, i) =>
            shownAs(medium) !== null && (
              <Menu.Item
                key={medium.url}
                leftSection={<IconTransform size={16} />}
                onClick={() => onUse(i)}
              >
                {several ? t('use_nth', { n: i + 1 }) : t('use')}
              </Menu.Item>
            ),
        )}
        {several &&
          media.map((medium, i) => (
            <Menu.Item
              key={medium.url}
              component="a"
              href={medium.url}
              download={medium.file_name}
              leftSection={<IconDownload size={16} />}
              onClick={(event: MouseEvent<HTMLAnchorElement>) => download(event, medium)}
            >
              {t('download_nth', { n: i + 1 })}
            </Menu.Item>
          ))}
        <Menu.Divider />
        <Menu.Item
          component={Link}
          to={`/dashboard/requests/${run.request_id}`}
          leftSection={<IconExternalLink size={16} />}
        >
          {t('open_request')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
