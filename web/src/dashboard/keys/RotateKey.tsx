import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dimmed, PlainButton } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Failure } from '../../components/Failure.tsx';
import { When } from '../../components/text.tsx';
import type { Key, NewKey } from '../../api-types.ts';
import { useKeyChange } from './key-data.ts';

const overlaps = ['0', '1', '24', '72', '168'];

/** Gives a key a new secret and lets the previous one expire. */
export function RotateKey(props: {
  rotated: Key | null;
  onClose: () => void;
  onMade: (key: NewKey) => void;
}) {
  const { t } = useTranslation('keys');
  const { rotated, onClose } = props;
  return (
    <Modal
      opened={rotated !== null}
      onClose={onClose}
      title={rotated && t('rotate_title', { name: rotated.name })}
      transitionProps={{ duration: 0 }}
    >
      {rotated && <Asked {...props} rotated={rotated} />}
    </Modal>
  );
}

function Asked({ rotated, onClose, onMade }: Parameters<typeof RotateKey>[0] & { rotated: Key }) {
  const { t } = useTranslation('keys');
  const [overlap, setOverlap] = useState('24');
  const rotate = useKeyChange((overlap_hours: number, api) =>
    api('POST /keys/:key_id/rotate', {
      params: { key_id: rotated.key_id },
      body: { overlap_hours, last4: rotated.last4 },
    }),
  );
  const data = overlaps.map((value) => ({ value, label: t(`overlap_${value}`) }));
  return (
    <Stack>
      <Text size="sm">{t('rotate_text')}</Text>
      <Select
        label={t('overlap')}
        data={data}
        value={overlap}
        allowDeselect={false}
        onChange={(value) => setOverlap(value ?? '24')}
      />
      <Dimmed>{t(overlap === '0' ? 'overlap_none_text' : 'overlap_text')}</Dimmed>
      {rotated.previous_until !== null && (
        <Alert color="yellow" icon={<IconAlertTriangle />}>
          {t('overlap_running')} <When at={rotated.previous_until} />
        </Alert>
      )}
      {rotate.error && <Failure error={rotate.error} />}
      <Group justify="flex-end">
        <PlainButton onClick={onClose}>{t('common:cancel')}</PlainButton>
        <Button
          loading={rotate.isPending}
          onClick={() => rotate.mutate(Number(overlap), { onSuccess: onMade })}
        >
          {t('rotate')}
        </Button>
      </Group>
    </Stack>
  );
}
