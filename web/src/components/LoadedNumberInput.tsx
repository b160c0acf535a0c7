import { NumberInput, type NumberInputProps } from '@mantine/core';

/** Apart, because `NumberInput.tsx` loads it with the first field. */
export default function LoadedNumberInput(props: NumberInputProps) {
  return <NumberInput {...props} />;
}
