import { TextInput, type TextInputProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { isTooLarge, parseUsd } from '../money.ts';

/** An amount in USD as typed; `parseUsd` reads it. */
export function MoneyInput(
  props: Omit<TextInputProps, 'value' | 'onChange' | 'error'> & {
    value: string;
    onChange: (text: string) => void;
    /** Allows a minus sign. */
    signed?: boolean;
  },
) {
  const { t } = useTranslation('common');
  const { value, onChange, signed = false, ...rest } = props;
  const fault = isTooLarge(value)
    ? 'too_large_amount'
    : signed
      ? 'bad_signed_amount'
      : 'bad_amount';
  const isWrong = value.trim() !== '' && !isAmount(value, signed);
  return (
    <TextInput
      {...rest}
      value={value}
      inputMode={signed ? 'text' : 'decimal'}
      autoComplete="off"
      leftSection="$"
      error={isWrong ? t(fault) : null}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function isAmount(text: string, signed = false): boolean {
  const amount = parseUsd(text);
  return amount !== null && (signed ? amount !== 0n : amount > 0n);
}
