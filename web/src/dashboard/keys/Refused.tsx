import { Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { RefusedCalls } from '../../api-types.ts';
import './refused-words.ts';

/** Calls that were refused, one line per reason; nothing if there were none. */
export function Refused({ refused, named }: { refused: RefusedCalls[]; named?: boolean }) {
  const { t } = useTranslation('refused');
  return refused.map(({ key_id, name, code, calls }) => (
    <Text key={`${key_id} ${code}`} size="sm" data-refused={code} className="wrap">
      <IconAlertTriangle
        size={15}
        color="var(--mantine-color-orange-filled)"
        style={{ verticalAlign: -2, marginRight: 6 }}
        aria-hidden
      />
      {named && <b>{name}: </b>}
      {t('calls', { count: calls })}: {t(`why.${code}`, { defaultValue: code })}
    </Text>
  ));
}
