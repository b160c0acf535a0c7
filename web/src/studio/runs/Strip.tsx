import { Loader, UnstyledButton } from '@mantine/core';
import { IconAlertTriangle, IconStarFilled, IconX } from '@tabler/icons-react';
import { useEffect, useRef, type KeyboardEvent } from 'react';
import type { RequestEntry } from '../../api-types.ts';
import { useMoment } from '../../components/text.tsx';
import { Thumb } from '../../components/Thumb.tsx';
import classes from './Stage.module.css';
import { useTranslation } from '../../i18n.ts';

/** A model's runs as small pictures, newest first; the chosen one is on the stage. */
export function Strip(props: {
  runs: RequestEntry[];
  chosen: string | undefined;
  onChoose: (request_id: string) => void;
  onView: () => void;
}) {
  const { runs, chosen, onChoose, onView } = props;
  const { t } = useTranslation('studio');
  const strip = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tile = strip.current?.querySelector<HTMLElement>('[aria-current]');
    tile?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    // The arrow keys move the focus with the choice.
    if (strip.current?.contains(document.activeElement)) tile?.focus({ preventScroll: true });
  }, [chosen]);
  const open = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    onView();
  };
  return (
    <div ref={strip} className={classes.strip} data-strip role="group" aria-label={t('strip')}>
      {runs.map((run) => (
        <Tile
          key={run.request_id}
          run={run}
          isChosen={run.request_id === chosen}
          onChoose={() => onChoose(run.request_id)}
          onKeyDown={open}
        />
      ))}
    </div>
  );
}

function Tile(props: {
  run: RequestEntry;
  isChosen: boolean;
  onChoose: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}) {
  const { run, isChosen, onChoose, onKeyDown } = props;
  const { t } = useTranslation('studio');
  const moment = useMoment();
  const { status, created_at, prompt, outputs, favorite } = run;
  const state = t(`common:status.${status}`);
  const mark = favorite ? `, ${t('is_favorite')}` : '';
  return (
    <UnstyledButton
      className={classes.tile}
      onClick={onChoose}
      onKeyDown={onKeyDown}
      tabIndex={isChosen ? 0 : -1}
      aria-current={isChosen || undefined}
      aria-label={`${prompt ?? t('a_run')}: ${state}, ${moment(created_at)}${mark}`}
      title={prompt ?? state}
      data-tile={status}
    >
      {status === 'FAILED' ? (
        <IconAlertTriangle size={20} color="var(--bad)" />
      ) : status === 'CANCELLED' ? (
        <IconX size={20} />
      ) : status === 'COMPLETED' ? (
        <Thumb preview={outputs[0] ?? null} kind={run.kind} size={56} />
      ) : (
        <Loader size={20} />
      )}
      {favorite && <IconStarFilled size={14} className={classes.marked} />}
    </UnstyledButton>
  );
}
