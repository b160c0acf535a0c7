import { Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { RefusedCalls } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';
import './refused-texts.ts';

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
      <Anchor
        component={QueryLink}
        to="/dashboard/requests"
        search={{ status: 'REFUSED', key: key_id, code }}
        inherit
        c="inherit"
      >
        {t('calls', { count: calls })}: {t(`why.${code}`, { defaultValue: code })}
      </Anchor>
    </Text>
  ));
}
