import { Group, Text } from '@mantine/core';
import type { Model } from '../../api-types.ts';
import { rates } from '../models.ts';
import { useTranslation } from '../../i18n.ts';

/** A model's unit price for this account. */
export function Rate({ model, size = 'sm' }: { model: Model; size?: 'sm' | 'md' }) {
  const { t } = useTranslation('studio');
  const [first, last] = rates(model);
  const text =
    typeof model.price === 'object'
      ? t('rate.tokens', { input: first, output: last })
      : `${last === undefined ? first : `${first} – ${last}`} ${t(`rate.${model.unit}`)}`;
  return (
    <Group gap={6}>
      <Text size={size} fw={500} className="number" style={{ whiteSpace: 'normal' }}>
        {text}
      </Text>
    </Group>
  );
}
