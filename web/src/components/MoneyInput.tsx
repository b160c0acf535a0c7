import { TextInput, type TextInputProps } from '@mantine/core';
import { isTooLarge, parseUsd } from '../money.ts';
import { useTranslation } from '../i18n.ts';

/** Which amounts are allowed: `change` means any but 0. */
type AmountRange = 'above_zero' | 'from_zero' | 'change';

/** An amount in USD as typed; `parseUsd` reads it. */
export function MoneyInput(
  props: Omit<TextInputProps, 'value' | 'onChange' | 'error'> & {
    value: string;
    onChange: (text: string) => void;
    allows?: AmountRange;
  },
) {
  const { t } = useTranslation('common');
  const { value, onChange, allows = 'above_zero', ...rest } = props;
  const fault = isTooLarge(value) ? 'too_large' : allows;
  const isWrong = value.trim() !== '' && !isAmount(value, allows);
  return (
    <TextInput
      {...rest}
      value={value}
      inputMode={allows === 'change' ? 'text' : 'decimal'}
      autoComplete="off"
      leftSection="$"
      error={isWrong ? t(`bad_amount.${fault}`) : null}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function isAmount(text: string, allows: AmountRange = 'above_zero'): boolean {
  const amount = parseUsd(text);
  if (amount === null) return false;
  return allows === 'change' ? amount !== 0n : amount > 0n || (allows === 'from_zero' && !amount);
}
