import { ActionIcon, Group, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useState, type KeyboardEvent } from 'react';
import { Dimmed } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { DownloadLink } from './DownloadLink.tsx';
import classes from './Runs.module.css';
import { shownNumber } from '../../exact-json.ts';
import type { Medium } from './runs.ts';
import { useTranslation } from '../../i18n.ts';

/** A request's images, as large as the window allows. */
export default function Viewer(props: {
  media: Medium[];
  first: Medium;
  seed: unknown;
  onClose: () => void;
}) {
  const { media, first, seed, onClose } = props;
  const { t } = useTranslation('studio');
  const [at, setAt] = useState(Math.max(0, media.indexOf(first)));
  const medium = media[at]!;
  const move = (step: number) => setAt((at + step + media.length) % media.length);
  const byKey = ({ key }: KeyboardEvent) => {
    if (key === 'ArrowRight') move(1);
    if (key === 'ArrowLeft') move(-1);
  };
  const { width, height, file_size } = medium;
  return (
    <Modal
      opened
      onClose={onClose}
      size="auto"
      centered
      onKeyDown={byKey}
      title={
        <Group gap="sm">
          <Dimmed className="number">
            {[
              width && height ? `${width} × ${height}` : null,
              `${Math.ceil(file_size / 1024)} KiB`,
              shownNumber(seed) === '' ? null : `${t('field.seed')} ${shownNumber(seed)}`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </Dimmed>
          <DownloadLink medium={medium} />
        </Group>
      }
    >
      <img src={medium.url} alt={medium.file_name} className={classes.large} />
      {media.length > 1 && (
        <Group justify="center" mt="sm">
          <ActionIcon variant="default" onClick={() => move(-1)} aria-label={t('previous')}>
            <IconChevronLeft size={18} />
          </ActionIcon>
          <Text size="sm" className="number">
            {at + 1} / {media.length}
          </Text>
          <ActionIcon variant="default" onClick={() => move(1)} aria-label={t('next')}>
            <IconChevronRight size={18} />
          </ActionIcon>
        </Group>
      )}
    </Modal>
  );
}
