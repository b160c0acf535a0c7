import { Alert, Button, Group, Stack, type StackProps } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { messageOf } from './Failure.tsx';
import { PlainButton } from './styles.ts';

/** A form that shows the error if it could not be sent. */
export function Form(props: {
  onSubmit: () => Promise<unknown>;
  /** Label of the submit button. */
  action: string;
  disabled?: boolean;
  /** Makes the button as wide as the form. */
  wide?: boolean;
  onCancel?: () => void;
  inWords?: (error: unknown) => string;
  gap?: StackProps['gap'];
  children: ReactNode;
}) {
  const { onSubmit, action, disabled = false, wide, onCancel, inWords = messageOf } = props;
  const { t } = useTranslation('common');
  const send = useMutation({ mutationFn: onSubmit });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate();
  };
  const button = (
    <Button type="submit" loading={send.isPending} disabled={disabled}>
      {action}
    </Button>
  );
  return (
    <form onSubmit={submit}>
      <Stack gap={props.gap ?? 'md'}>
        {send.error && <Problem text={inWords(send.error)} />}
        {props.children}
        {wide ? (
          button
        ) : (
          <Group justify="flex-end">
            {onCancel && <PlainButton onClick={onCancel}>{t('cancel')}</PlainButton>}
            {button}
          </Group>
        )}
      </Stack>
    </form>
  );
}

export function Problem({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <Alert color="red" role="alert">
      {text}
      {children}
    </Alert>
  );
}
