import { TextInput, type NumberInputProps } from '@mantine/core';
import { lazy, Suspense } from 'react';

const Loaded = lazy(() => import('./LoadedNumberInput.tsx'));

/** A field for a number. Its code is loaded with the first one; its place is kept until then. */
export function NumberInput(props: NumberInputProps) {
  const { label, description, size, w, flex, value, 'aria-label': name } = props;
  const shared = { label, description, size, w, flex, value, 'aria-label': name };
  return (
    <Suspense fallback={<TextInput {...shared} disabled />}>
      <Loaded {...props} />
    </Suspense>
  );
}
