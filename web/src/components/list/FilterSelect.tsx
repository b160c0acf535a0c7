import { Select, type SelectProps } from '@mantine/core';

/** Chooses one value to filter a list by. Without a choice, everything is shown. */
export function FilterSelect(
  props: Omit<SelectProps, 'value' | 'onChange'> & {
    label: string;
    /** Shown while nothing is chosen; also the label of the button that clears the choice. */
    all: string;
    value: string | undefined;
    onChange: (value: string | undefined) => void;
    width: number;
  },
) {
  const { label, all, value, onChange, width, ...rest } = props;
  return (
    <Select
      aria-label={label}
      placeholder={all}
      value={value ?? null}
      clearable
      clearButtonProps={{ 'aria-label': all }}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      w={{ base: 'calc(50% - 6px)', xs: width }}
      {...rest}
    />
  );
}
