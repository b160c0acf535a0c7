import { TextInput } from '@mantine/core';

/** Inputs of several actions, with the lengths that the service takes. */

export const ReferenceInput = TextInput.withProps({
  required: true,
  maxLength: 255,
  autoComplete: 'off',
});
export const ReasonInput = TextInput.withProps({ maxLength: 1000, autoComplete: 'off' });
