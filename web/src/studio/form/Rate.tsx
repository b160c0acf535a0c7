import { Group, Text } from '@mantine/core';
import type { Model } from '../../api-types.ts';
import { formatDuration } from '../../components/text.tsx';
import { rates } from '../models.ts';
import { useTranslation } from '../../i18n.ts';

/** How long a run of the model usually takes, such as `~4 s`; null if nobody knows. */
export function useSeconds({ median_seconds: seconds }: Model): string | null {
  const { language } = useTranslation();
  if (seconds === null) return null;
  const ms = seconds < 10 ? Math.max(seconds, 0.1) * 1000 : Math.round(seconds) * 1000;
  return `~${formatDuration(ms, language)}`;
}

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
