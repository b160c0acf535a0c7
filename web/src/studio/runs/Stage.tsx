import { Group, Skeleton, Text, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSparkles } from '@tabler/icons-react';
import {
  lazy,
  Suspense,
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import type { Model, RequestDetail } from '../../api-types.ts';
import { QueryLink } from '../../address.ts';
import { Failure } from '../../components/Failure.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Note } from '../../components/styles.ts';
import { useRequest } from '../../requests/request-data.ts';
import type { PendingSubmit } from '../form/pending-submits.ts';
import { Refused } from './Refused.tsx';
import { Result } from './Result.tsx';
import { RunButtons, type RunActions } from './RunButtons.tsx';
import { useRunFacts } from './run-facts.tsx';
import { keptOutputsOf, promptOf, useRuns } from './runs.ts';
import classes from './Stage.module.css';
import { Strip } from './Strip.tsx';
import { stepOf } from './step.ts';
import { useTranslation } from '../../i18n.ts';

const Viewer = lazy(() => import('./Viewer.tsx'));
const UseAsInput = lazy(() => import('./UseAsInput.tsx'));

interface Props {
  model: Model;
  presses: PendingSubmit[];
  again: (press: PendingSubmit) => void;
  drop: (press: PendingSubmit) => void;
  actions: RunActions;
  /** The run to show; null: the newest. */
  chosen: string | null;
  onChoose: (request_id: string) => void;
}

/** One run of the model as large as it fits, its facts and acts, and the strip of all runs. */
export function Stage({ model, presses, again, drop, actions, chosen, onChoose }: Props) {
  const { t } = useTranslation('studio');
  const [used, setUsed] = useState<number | null>(null);
  const { list, runs, id, request, error, refetch, at, show, ...moves } = useShownRun(
    model.id,
    chosen,
    onChoose,
  );
  const { stage, isViewing, viewer, view, stepOutput, byKey } = moves;
  const isSending = presses.some((press) => press.isSending);
  const entry = runs.find((each) => each.request_id === request?.request_id);
  const own = { at, entry, actions, onUse: setUsed };
  const buttons = request && <RunButtons request={request} {...own} />;
  const medium = request && used !== null && keptOutputsOf(request)[used];

  return (
    <section
      ref={stage}
      className={classes.stage}
      aria-label={t('results')}
      onKeyDown={byKey}
      data-stage={request?.request_id}
      data-status={isSending ? 'SENDING' : request?.status}
    >
      {presses
        .filter((press) => press.error !== null)
        .map((press) => (
          <Refused
            key={press.key}
            press={press}
            again={() => again(press)}
            drop={() => drop(press)}
          />
        ))}
      {list.error && <Failure error={list.error} retry={() => void list.retry()} />}
      {error && <Failure error={error} retry={() => void refetch()} />}
      <VisuallyHidden role="status">
        {isSending ? t('sending') : request && t(`common:status.${request.status}`)}
      </VisuallyHidden>
      <div className={classes.place} data-empty={list.runs?.length === 0 || undefined}>
        {isSending ? (
          <Skeleton className={classes.fill} aria-label={t('sending')} />
        ) : request ? (
          <Result key={request.request_id} request={request} onView={view} />
        ) : id === undefined && list.runs ? (
          <Empty icon={<IconSparkles />} title={t('no_runs_title')} text={t('no_runs_text')} />
        ) : (
          !error && !list.error && <Skeleton className={classes.fill} />
        )}
      </div>
      <Foot request={isSending ? undefined : request} at={at} acts={buttons} />
      <Group gap="xs" wrap="nowrap" mih={68}>
        {list.runs ? (
          <Strip runs={runs} chosen={id} onChoose={show} onView={() => view(at)} />
        ) : (
          Array.from({ length: 6 }, (_, i) => <Skeleton key={i} w={60} h={60} radius="md" />)
        )}
        {list.hasMore && (
          <QueryLink to="/dashboard/requests" search={{ model: model.id }} className={classes.all}>
            {t('all_runs')}
          </QueryLink>
        )}
      </Group>
      <Suspense>
        {isViewing && (
          <Viewer
            request={request}
            at={at}
            onMove={stepOutput}
            onClose={viewer.close}
            acts={buttons}
          />
        )}
        {medium && (
          <UseAsInput
            request_id={request.request_id}
            index={medium.index}
            medium={medium}
            onClose={() => setUsed(null)}
          />
        )}
      </Suspense>
    </section>
  );
}

/** The run on the stage, which of its outputs is seen, and how one moves to others. */
function useShownRun(model_id: string, chosen: string | null, onChoose: (id: string) => void) {
  const list = useRuns(model_id);
  const runs = list.runs ?? [];
  const id = chosen ?? runs[0]?.request_id;
  const { data: request, error, refetch } = useRequest(id);
  const [at, setAt] = useState(0);
  const [isViewing, viewer] = useDisclosure(false);
  const stage = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isViewing) return;
    // The viewer may have gone on to another run than the one that opened it.
    const focusShown = () =>
      stage.current?.querySelector<HTMLElement>('[data-tile][aria-current]')?.focus();
    return () => void setTimeout(focusShown);
  }, [isViewing]);

  const show = (next: string) => {
    setAt(0);
    onChoose(next);
  };
  const stepRun = (step: number) => {
    const next = runs[runs.findIndex(({ request_id }) => request_id === id) + step];
    if (next) show(next.request_id);
  };
  const stepOutput = (step: number) => {
    const has = request && keptOutputsOf(request)[at + step] !== undefined;
    if (has) setAt(at + step);
    else stepRun(step);
  };
  const byKey = (event: KeyboardEvent<HTMLElement>) => {
    const step = stepOf(event);
    // A dialog's keys come here too, although it is not inside.
    if (step === 0 || !event.currentTarget.contains(event.target as Node)) return;
    event.preventDefault();
    stepRun(step);
  };
  const view = (index: number) => {
    setAt(index);
    viewer.open();
  };
  const moves = { stage, isViewing, viewer, view, stepOutput, byKey };
  return { list, runs, id, request, error, refetch, at, show, ...moves };
}

/** Keeps its height while it has nothing to say. */
function Foot(props: { request: RequestDetail | undefined; at: number; acts: ReactNode }) {
  const { request, at, acts } = props;
  return (
    <div className={classes.foot}>
      {request && (
        <>
          <About request={request} at={at} />
          <Group gap={6} justify="flex-end">
            {acts}
          </Group>
        </>
      )}
    </div>
  );
}

function About({ request, at }: { request: RequestDetail; at: number }) {
  const { t } = useTranslation('studio');
  const prompt = promptOf(request);
  const facts = useRunFacts(request, at);
  return (
    <div className={classes.about}>
      <Text size="sm" lineClamp={2} title={prompt ?? undefined}>
        {prompt ?? t('a_run')}
      </Text>
      <Note component="div" className={classes.facts}>
        {facts.map(({ name, value, isClear }) => (
          <span key={name} title={name}>
            {!isClear && `${name} `}
            {value}
          </span>
        ))}
      </Note>
    </div>
  );
}
