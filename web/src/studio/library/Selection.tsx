import { Button, CloseButton, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconDownload, IconTrash } from '@tabler/icons-react';
import { Confirm } from '../../components/Confirm.tsx';
import { notice } from '../../components/frame/notice.ts';
import { Dimmed, PlainButton } from '../../components/styles.ts';
import { useAccountPath, useMay } from '../../session.tsx';
import classes from './Library.module.css';
import { selectedMax, useDeleteFiles } from './library-data.ts';
import { useTranslation } from '../../i18n.ts';

/** The actions on the chosen requests. */
export function Selection(props: {
  /** In the order of the wall. */
  ids: string[];
  onAll: () => void;
  onChange: (ids: string[]) => void;
  onDone: () => void;
}) {
  const { ids, onAll, onChange, onDone } = props;
  const { t } = useTranslation('library');
  const path = useAccountPath();
  const mayDelete = useMay('build');
  const [isAsking, { open: ask, close }] = useDisclosure(false);
  const deleteFiles = useDeleteFiles();
  const count = ids.length;
  const remove = async () => {
    const deleted = new Set(await deleteFiles(ids));
    const left = ids.filter((id) => !deleted.has(id));
    onChange(left);
    if (deleted.size > 0) notice({ message: t('deleted', { count: deleted.size }) });
    if (left.length > 0)
      notice({ color: 'red', message: t('delete_failed', { count: left.length }) });
  };
  return (
    <Group
      className={classes.bar}
      justify="space-between"
      gap="xs"
      role="toolbar"
      aria-label={t('select')}
    >
      <Group gap="sm">
        <Text size="sm" fw={500} aria-live="polite" className="number">
          {t('selected', { count })}
        </Text>
        <Button
          variant="subtle"
          color="gray"
          size="xs"
          onClick={count > 0 ? () => onChange([]) : onAll}
        >
          {count > 0 ? t('select_none') : t('select_all')}
        </Button>
        {count >= selectedMax && <Dimmed>{t('select_max', { max: selectedMax })}</Dimmed>}
      </Group>
      <Group gap="xs">
        {count > 0 && (
          <PlainButton
            component="a"
            size="xs"
            href={path(`/library/zip?ids=${ids.join(',')}`)}
            download
            leftSection={<IconDownload size={16} />}
          >
            {t('zip')}
          </PlainButton>
        )}
        {mayDelete && (
          <Button
            size="xs"
            color="red"
            variant="light"
            disabled={count === 0}
            leftSection={<IconTrash size={16} />}
            onClick={ask}
          >
            {t('delete')}
          </Button>
        )}
        <CloseButton aria-label={t('done')} onClick={onDone} />
      </Group>
      <Confirm
        opened={isAsking}
        title={t('delete_title', { count })}
        action={t('delete')}
        onConfirm={remove}
        onClose={close}
      >
        {t('delete_text')}
      </Confirm>
    </Group>
  );
}
