import { PasswordInput, TextInput } from '@mantine/core';

/** Inputs of several forms, with the lengths that the service takes. */

export const EmailInput = TextInput.withProps({
  type: 'email',
  autoComplete: 'off',
  required: true,
  maxLength: 254,
});
export const NameInput = TextInput.withProps({ required: true, maxLength: 100 });
export const Password = PasswordInput.withProps({
  autoComplete: 'current-password',
  required: true,
});
export const NewPassword = PasswordInput.withProps({
  autoComplete: 'new-password',
  required: true,
});
