import { Badge, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import './accounts-words.ts';

/** An account's status, and badges for an operator or for prices of its own. */
export function AccountBadges(props: {
  account: { status: 'active' | 'suspended'; is_operator: boolean; price_ppm: number };
}) {
  const { t } = useTranslation('operator_accounts');
  const { status, is_operator, price_ppm } = props.account;
  return (
    <Group gap={6} wrap="wrap">
      <Badge variant="dot" color={status === 'active' ? 'fare' : 'red'} tt="none" fw={500}>
        {t(`state.${status}`)}
      </Badge>
      {is_operator && (
        <Badge variant="outline" color="gray" tt="none" fw={500} c="var(--mantine-color-text)">
          {t('operator')}
        </Badge>
      )}
      {price_ppm !== 1_000_000 && (
        <Badge variant="outline" color="gray" tt="none" fw={500} c="var(--mantine-color-text)">
          {t('price', { factor: price_ppm / 1e6 })}
        </Badge>
      )}
    </Group>
  );
}
