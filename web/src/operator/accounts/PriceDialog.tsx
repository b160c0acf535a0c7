import { Text, TextInput } from '@mantine/core';
import { useFields } from '../../components/Form.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import type { OperatorAccount } from '../../api-types.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';
import { useTranslation } from '../../i18n.ts';

export function PriceDialog(props: { account: OperatorAccount; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const { account, onClose } = props;
  const act = useAction();
  const { values, field } = useFields({ factor: String(account.price_ppm / 1e6) });
  const price_ppm = readPpm(values.factor);
  const given = { params: { account_id: account.account_id }, body: { price_ppm: price_ppm! } };
  return (
    <FormModal
      onClose={onClose}
      title={t('price_title')}
      submit={t('change_price')}
      disabled={price_ppm === null || price_ppm === account.price_ppm}
      onSubmit={() => act('PUT /accounts/:account_id/price', given, t('price_set'))}
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
        {...field('factor')}
      />
      <Text size="sm">{t('price_text')}</Text>
    </FormModal>
  );
}

/** `0.85` → 850000 millionths; null if it is not a multiplier. */
function readPpm(text: string): number | null {
  const [, whole, decimals = ''] = /^\s*(\d{1,3})(?:[.,](\d{1,6}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const ppm = Number(whole) * 1e6 + Number(decimals.padEnd(6, '0'));
  return ppm <= 100_000_000 ? ppm : null;
}
