import { Anchor, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { QueryLink } from '../../address.ts';
import type { RefusedCalls } from '../../api-types.ts';
import { useTranslation } from '../../i18n.ts';
import './refused-texts.ts';

/** Calls of a key that were refused, one line per reason, which leads to these calls. */
export function Refused({ refused }: { refused: RefusedCalls[] }) {
  const { t } = useTranslation('refused');
  return refused.map(({ key_id, code, calls }) => (
    <Text key={code} size="sm" data-refused={code} className="wrap">
      <IconAlertTriangle
        size={15}
        color="var(--warn)"
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
