import { Button, Menu } from '@mantine/core';
import {
  IconArrowRight,
  IconBraces,
  IconDice5,
  IconDots,
  IconDownload,
  IconExternalLink,
  IconForms,
  IconRefresh,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { MouseEvent } from 'react';
import { isFinal } from '../../../../client/src/watch.ts';
import type { RequestDetail, RequestEntry } from '../../api-types.ts';
import { download } from '../../components/download.ts';
import { DownloadButton } from '../../components/DownloadButton.tsx';
import { showFailure } from '../../components/Failure.tsx';
import { notice } from '../../components/frame/notice.ts';
import { Note, PlainButton, QuietIcon } from '../../components/styles.ts';
import { briefUsd } from '../../money.ts';
import type { Input } from '../form/draft.ts';
import { Star } from '../Star.tsx';
import { keptOutputsOf, shownAs } from './runs.ts';
import { useTranslation } from '../../i18n.ts';

/** The acts of a run fill or run the form of its model's page. */
export interface RunActions {
  fill: (input: Input) => void;
  /** Runs the same again, at the price of then; null if the user may not run it. */
  again: ((input: Input, shown: string) => void) | null;
  /** The same with another seed; null if the model has no seed, too. */
  reseed: ((input: Input, shown: string) => void) | null;
}

/** The acts of a run; the first fits how it ended. */
export function RunButtons(props: {
  request: RequestDetail;
  /** Its line in the list of runs, once that is loaded. */
  entry: RequestEntry | undefined;
  /** The output that is in front. */
  at: number;
  actions: RunActions;
  onUse: (at: number) => void;
}) {
  const { request, entry, at, actions, onUse } = props;
  const { t } = useTranslation('studio');
  const { status, input, quoted_usd_micro: quoted, cleared_at } = request;
  const living = keptOutputsOf(request);
  const shown = living[at];
  const again = cleared_at === null ? actions.again : null;
  if (!isFinal(request)) return <More {...props} />;
  if (status !== 'COMPLETED') {
    return (
      <>
        {again && (
          <Button
            leftSection={<IconRefresh size={16} />}
            onClick={({ detail }) => detail < 2 && again(input, quoted)}
          >
            {t('common:retry')}
          </Button>
        )}
        <More {...props} />
      </>
    );
  }
  return (
    <>
      {shown && <DownloadButton file={shown} px="xs" />}
      {shown && shownAs(shown) !== null && (
        <PlainButton px="xs" leftSection={<IconArrowRight size={16} />} onClick={() => onUse(at)}>
          {t('use')}
        </PlainButton>
      )}
      {again && (
        <QuietIcon
          variant="default"
          size={36}
          aria-label={t('again')}
          title={`${t('again')} · ${briefUsd(quoted, 'up')}`}
          onClick={({ detail }: MouseEvent) => detail < 2 && again(input, quoted)}
        >
          <IconRefresh size={18} />
        </QuietIcon>
      )}
      {entry && <Star entry={entry} variant="default" size={36} />}
      <More {...props} />
    </>
  );
}

function More(props: { request: RequestDetail; actions: RunActions }) {
  const { request, actions } = props;
  const { t } = useTranslation('studio');
  const { request_id, input, cleared_at, quoted_usd_micro: quoted } = request;
  const living = keptOutputsOf(request);
  const copy = async () => {
    await navigator.clipboard.writeText(JSON.stringify(input, null, 2));
    notice({ message: t('common:copied') });
  };
  return (
    <Menu position="bottom-end" width={250} keepMounted={false}>
      <Menu.Target>
        <QuietIcon variant="default" size={36} aria-label={t('actions')}>
          <IconDots size={18} />
        </QuietIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {cleared_at === null && (
          <>
            <Menu.Item leftSection={<IconForms size={16} />} onClick={() => actions.fill(input)}>
              {t('fill')}
            </Menu.Item>
            {actions.reseed && (
              <Menu.Item
                leftSection={<IconDice5 size={16} />}
                rightSection={<Note className="number">{briefUsd(quoted, 'up')}</Note>}
                onClick={() => actions.reseed?.(input, quoted)}
              >
                {t('rerun')}
              </Menu.Item>
            )}
            <Menu.Item
              leftSection={<IconBraces size={16} />}
              onClick={() => void copy().catch(showFailure)}
            >
              {t('copy_settings')}
            </Menu.Item>
          </>
        )}
        {living.length > 1 &&
          living.map((each, i) => (
            <Menu.Item
              key={each.index}
              component="a"
              href={each.url}
              download={each.file_name}
              leftSection={<IconDownload size={16} />}
              onClick={(event: MouseEvent<HTMLAnchorElement>) => download(event, each)}
            >
              {t('download_nth', { n: i + 1 })}
            </Menu.Item>
          ))}
        <Menu.Item
          component={Link}
          to={`/dashboard/requests/${request_id}`}
          leftSection={<IconExternalLink size={16} />}
        >
          {t('open_request')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
