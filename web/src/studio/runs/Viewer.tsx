import { ActionIcon, Group, ScrollArea, Stack, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import type { KeyboardEvent, ReactNode } from 'react';
import type { RequestDetail } from '../../api-types.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Facts } from '../../components/Facts.tsx';
import { Playable } from '../../components/Media.tsx';
import { Dimmed } from '../../components/styles.ts';
import { keptOutputsOf, promptOf } from './runs.ts';
import { useRunFacts } from './run-facts.tsx';
import classes from './Stage.module.css';
import { stepOf } from './step.ts';
import { useTranslation } from '../../i18n.ts';

/** One output on the whole screen, its prompt and facts beside it; arrow keys lead to the others. */
export default function Viewer(props: {
  /** Undefined while it is loaded. */
  request: RequestDetail | undefined;
  /** The index of the shown output. Beyond the first and the last come other runs. */
  at: number;
  onMove: (step: -1 | 1) => void;
  onClose: () => void;
  acts: ReactNode;
}) {
  const { request, at, onMove, onClose, acts } = props;
  const { t } = useTranslation('studio');
  const shown = request && keptOutputsOf(request)[at];
  const byKey = (event: KeyboardEvent) => {
    const step = stepOf(event);
    if (step === 0) return;
    event.preventDefault();
    onMove(step);
  };
  return (
    <Modal
      opened
      fullScreen
      onClose={onClose}
      onKeyDown={byKey}
      title={t('viewer')}
      classNames={{ body: classes.viewer, content: classes.viewerContent }}
    >
      <div className={classes.screen}>
        {shown ? (
          <Playable
            key={shown.url}
            url={shown.url}
            content_type={shown.content_type}
            alt={shown.file_name}
            className={classes.medium}
            loop
          >
            <Text>{shown.file_name}</Text>
          </Playable>
        ) : (
          request && <Dimmed>{t('nothing_shown')}</Dimmed>
        )}
        <ActionIcon
          variant="default"
          size={40}
          className={classes.previous}
          aria-label={t('previous')}
          onClick={() => onMove(-1)}
        >
          <IconChevronLeft size={20} />
        </ActionIcon>
        <ActionIcon
          variant="default"
          size={40}
          className={classes.next}
          aria-label={t('next')}
          onClick={() => onMove(1)}
        >
          <IconChevronRight size={20} />
        </ActionIcon>
      </div>
      <ScrollArea className={classes.beside} type="auto">
        {request && (
          <Beside request={request} at={at}>
            {acts}
          </Beside>
        )}
      </ScrollArea>
    </Modal>
  );
}

function Beside(props: { request: RequestDetail; at: number; children: ReactNode }) {
  const { request, at, children } = props;
  const { t } = useTranslation('studio');
  const facts = useRunFacts(request, at);
  const count = keptOutputsOf(request).length;
  return (
    <Stack gap="md" p="md">
      <Text className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
        {promptOf(request) ?? t('a_run')}
      </Text>
      {count > 1 && (
        <Dimmed className="number">
          {at + 1} / {count}
        </Dimmed>
      )}
      <Facts rows={facts.map(({ name, value }) => [name, value])} />
      <Group gap="xs">{children}</Group>
    </Stack>
  );
}
