import { Badge, Text } from '@mantine/core';
import type { Model } from '../api-types.ts';
import { stoppedText } from './models.ts';
import { useTranslation } from '../i18n.ts';
import type { Translate } from '../texts/format.ts';

/** Short facts about a model, beside its name. */

/** The maximum of one request, and the resolutions. */
export function facts({ max, max_unit, resolutions, kind }: Model, t: Translate): string[] {
  const most = max > 0 && kind !== 'text' ? [t(`up_to.${max_unit}`, { count: max })] : [];
  return resolutions.length > 0 ? [...most, resolutions.join(', ')] : most;
}

/** Shows that the operator stopped the model, with the operator's note. */
export function StoppedNote({ model }: { model: Model }) {
  const { t } = useTranslation('studio');
  const words = stoppedText(model, t);
  return (
    words !== null && (
      <Text fz={13} fw={500} c="var(--warn)" className="wrap" data-stopped>
        {words}
      </Text>
    )
  );
}

export function Uncensored() {
  const { t } = useTranslation('studio');
  return (
    <Badge variant="default" title={t('uncensored_text')} flex="none">
      {t('uncensored')}
    </Badge>
  );
}
