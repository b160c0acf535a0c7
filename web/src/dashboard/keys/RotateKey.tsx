import { Alert, Select, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Key, NewKey } from '../../api-types.ts';
import { useFields } from '../../components/Form.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { Dimmed } from '../../components/styles.ts';
import { When } from '../../components/text.tsx';
import { useKeyChange } from './key-data.ts';
import { useTranslation } from '../../i18n.ts';

const overlaps = ['0', '1', '24', '72', '168'];

/** Gives a key a new secret and lets the previous one expire. */
export function RotateKey(props: {
  rotated: Key;
  onClose: () => void;
  onMade: (key: NewKey) => void;
}) {
  const { t } = useTranslation('keys');
  const { rotated, onClose, onMade } = props;
  const { values, field } = useFields({ overlap: '24' });
  const rotate = useKeyChange((overlap_hours: number, api) =>
    api('POST /keys/:key_id/rotate', {
      params: { key_id: rotated.key_id },
      body: { overlap_hours, last4: rotated.last4 },
    }),
  );
  return (
    <FormModal
      onClose={onClose}
      title={t('rotate_title', { name: rotated.name })}
      submit={t('rotate')}
      onSubmit={async () => onMade(await rotate.mutateAsync(Number(values.overlap)))}
    >
      <Text size="sm">{t('rotate_text')}</Text>
      <Select
        label={t('overlap')}
        data={overlaps.map((value) => ({ value, label: t(`overlap_${value}`) }))}
        allowDeselect={false}
        {...field('overlap')}
      />
      <Dimmed>{t(values.overlap === '0' ? 'overlap_none_text' : 'overlap_text')}</Dimmed>
      {rotated.previous_until !== null && (
        <Alert color="yellow" icon={<IconAlertTriangle />}>
          {t('overlap_running')} <When at={rotated.previous_until} as="exact" />
        </Alert>
      )}
    </FormModal>
  );
}
