import { Group } from '@mantine/core';
import './accounts-texts.ts';
import { Dot, Tag } from '../../components/styles.ts';
import { useTranslation } from '../../i18n.ts';

/** An account's status, with badges for an operator's account, own prices and no keys by API. */
export function AccountBadges(props: {
  account: {
    status: 'active' | 'suspended';
    is_operator: boolean;
    price_ppm: number;
    keys_by_api: boolean;
  };
}) {
  const { t } = useTranslation('operator_accounts');
  const { status, is_operator, price_ppm, keys_by_api } = props.account;
  return (
    <Group gap={6} wrap="wrap">
      <Dot color={status === 'active' ? 'fare' : 'red'}>{t(`state.${status}`)}</Dot>
      {is_operator && <Tag>{t('operator')}</Tag>}
      {price_ppm !== 1_000_000 && <Tag>{t('price', { factor: price_ppm / 1e6 })}</Tag>}
      {!keys_by_api && <Tag>{t('no_keys_by_api')}</Tag>}
    </Group>
  );
}
