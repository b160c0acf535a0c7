import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { typed } from '../../components/typed.ts';
import { FormModal } from '../../components/FormModal.tsx';
import type { OperatorAccount } from '../../api-types.ts';
import './account-words.ts';
import { useAction } from '../action.ts';

export function PriceDialog({
  account,
  onClose,
}: {
  account: OperatorAccount;
  onClose: () => void;
}) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const [factor, setFactor] = useState(String(account.price_ppm / 1e6));
  const price_ppm = ppmOf(factor);
  const submit = async () => {
    const params = { account_id: account.account_id };
    const body = { price_ppm: price_ppm! };
    await act('PUT /accounts/:account_id/price', { params, body }, t('price_set'));
    onClose();
  };
  return (
    <FormModal
      onClose={onClose}
      title={t('price_title')}
      submit={t('change_price')}
      disabled={price_ppm === null || price_ppm === account.price_ppm}
      onSubmit={submit}
    >
      <TextInput
        label={t('price_label')}
        description={t('price_hint')}
        inputMode="decimal"
        autoComplete="off"
        data-autofocus
        required
        leftSection="×"
        error={price_ppm === null}
        {...typed(factor, setFactor)}
      />
      <Text size="sm">{t('price_text')}</Text>
    </FormModal>
  );
}

/** `0.85` → 850000 millionths; null if it is not a multiplier. */
function ppmOf(text: string): number | null {
  const [, whole, decimals = ''] = /^\s*(\d{1,3})(?:[.,](\d{1,6}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const ppm = Number(whole) * 1e6 + Number(decimals.padEnd(6, '0'));
  return ppm <= 100_000_000 ? ppm : null;
}
