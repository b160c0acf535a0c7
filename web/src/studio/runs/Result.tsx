import { Stack, Text, UnstyledButton } from '@mantine/core';
import { IconClockOff, IconFile } from '@tabler/icons-react';
import type { RequestDetail } from '../../api-types.ts';
import { Playable } from '../../components/Media.tsx';
import { Dimmed } from '../../components/styles.ts';
import { CancelRequest } from '../../requests/CancelRequest.tsx';
import { Why } from '../../requests/RequestPage.tsx';
import { UnderWay } from '../../requests/UnderWay.tsx';
import classes from './Stage.module.css';
import { keptOutputsOf, shownAs, type KeptOutput } from './runs.ts';
import { Words } from './Shown.tsx';
import { useTranslation } from '../../i18n.ts';

/** A request as large as its place allows: its outputs, or how it goes. */
export function Result(props: { request: RequestDetail; onView: (index: number) => void }) {
  const { request, onView } = props;
  const { t } = useTranslation('studio');
  const { status, outputs, output, cleared_at } = request;
  const living = keptOutputsOf(request);
  if (status === 'IN_QUEUE' || status === 'IN_PROGRESS') {
    return (
      <div className={classes.centre}>
        <UnderWay request={request} />
        <CancelRequest request={request} isQuick />
      </div>
    );
  }
  if (status === 'FAILED') {
    return (
      <div className={classes.centre} data-failure>
        <Why request={request}>
          <Dimmed mt={4}>{t('nothing_charged')}</Dimmed>
        </Why>
      </div>
    );
  }
  if (living.length > 0) {
    return (
      <div className={classes.media} data-count={Math.min(living.length, 4)}>
        {living.map((each, i) => (
          <Shown key={each.index} output={each} onView={() => onView(i)} />
        ))}
      </div>
    );
  }
  const isGone = outputs.length > 0 || cleared_at !== null;
  if (status === 'COMPLETED' && output !== null && !isGone) return <Words fields={output} />;
  return (
    <div className={classes.centre}>
      {isGone && <IconClockOff size={32} stroke={1.4} />}
      <Text>{isGone ? t('expired') : t(`common:status.${status}`)}</Text>
    </div>
  );
}

/** An output in full; an image opens the viewer. */
function Shown({ output, onView }: { output: KeptOutput; onView: () => void }) {
  const { t } = useTranslation('studio');
  const { url, file_name, content_type } = output;
  const isImage = shownAs(output) === 'image';
  const player = (
    <Playable url={url} content_type={content_type} alt={file_name} className={classes.medium} loop>
      <Stack className={classes.centre} gap={4}>
        <IconFile size={32} stroke={1.4} />
        <Text size="sm">{file_name}</Text>
      </Stack>
    </Playable>
  );
  if (!isImage) return <div className={classes.cell}>{player}</div>;
  return (
    <UnstyledButton
      className={classes.cell}
      data-opens
      onClick={onView}
      aria-label={t('open_file', { name: file_name })}
    >
      {player}
    </UnstyledButton>
  );
}
