import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormModal } from '../components/FormModal.tsx';
import type { AccountDetail } from './Account.tsx';
import './account-words.ts';
import { useDeed } from './acting.ts';

export function PriceDialog({ account, onClose }: { account: AccountDetail; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const deed = useDeed();
  const [factor, setFactor] = useState(String(account.price_ppm / 1e6));
  const price_ppm = ppmOf(factor);
  const submit = async () => {
    const path = `/accounts/${account.account_id}/price`;
    await deed(path, { method: 'PUT', body: { price_ppm } }, t('price_set'));
    onClose();
  };
  return (
    <FormModal
      opened
      onClose={onClose}
      title={t('price_title')}
      submit={t('change_price')}
      disabled={price_ppm === null || price_ppm === account.price_ppm}
      onSubmit={submit}
    >
      <TextInput
        label={t('price_label')}
        description={t('price_hint')}
        value={factor}
        onChange={(event) => setFactor(event.currentTarget.value)}
        inputMode="decimal"
        autoComplete="off"
        data-autofocus
        required
        leftSection="×"
        error={price_ppm === null}
      />
      <Text size="sm">{t('price_text')}</Text>
    </FormModal>
  );
}

/** `0.85` → 850000 millionths; null for what is no multiplier. */
function ppmOf(text: string): number | null {
  const [, whole, decimals = ''] = /^\s*(\d{1,3})(?:[.,](\d{1,6}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const ppm = Number(whole) * 1e6 + Number(decimals.padEnd(6, '0'));
  return ppm <= 100_000_000 ? ppm : null;
}
