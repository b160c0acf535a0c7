import { Alert, Button, Group, Stack, type StackProps } from '@mantine/core';
import { useMutation, type UseMutationOptions } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { messageOf } from './Failure.tsx';
import { PlainButton } from './styles.ts';
import { useTranslation } from '../i18n.ts';

interface InputEvent {
  currentTarget: { value: string };
}

/** The values of a form's fields, and the props that tie an input to one of them. */
export function useFields<Values extends object>(initial: Values | (() => Values)) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Values>) => setValues((before) => ({ ...before, ...change }));
  return {
    values,
    set,
    /** For an input that tells its value, or an event with its text. Null, no choice, is ignored. */
    field: <Name extends keyof Values>(name: Name) => ({
      value: values[name],
      onChange: (given: Values[Name] | InputEvent | null) => {
        if (given === null) return;
        // The event is over by the time the state is set.
        const value = valueOf(given);
        setValues((before) => ({ ...before, [name]: value }));
      },
    }),
    /** For a checkbox or a switch. */
    tick: (name: keyof Values) => ({
      checked: values[name] === true,
      onChange: (event: { currentTarget: { checked: boolean } }) => {
        const { checked } = event.currentTarget;
        setValues((before) => ({ ...before, [name]: checked }));
      },
    }),
  };
}

function valueOf<Value>(given: Value | InputEvent): Value | string {
  const isEvent = typeof given === 'object' && given !== null && 'currentTarget' in given;
  return isEvent ? given.currentTarget.value : given;
}

/** Sends a form; `submit` is for its `onSubmit`. */
export function useSubmit<Made, Given = never>(
  mutationFn: (given?: Given) => Promise<Made>,
  options: UseMutationOptions<Made, Error, Given | undefined> = {},
) {
  const send = useMutation({ mutationFn, ...options });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate(undefined);
  };
  return { ...send, submit };
}

/** A form that shows the error if it could not be sent. */
export function Form(props: {
  onSubmit: () => Promise<unknown>;
  /** Label of the submit button. */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  /** Makes the button as wide as the form. */
  wide?: boolean;
  onCancel?: () => void;
  inWords?: (error: unknown) => string;
  /** How the error is shown; left out: in words, without a title. */
  problem?: (error: Error) => ReactNode;
  gap?: StackProps['gap'];
  children: ReactNode;
}) {
  const { action, disabled = false, danger = false, wide, onCancel, inWords = messageOf } = props;
  const { problem = (error) => <Problem text={inWords(error)} /> } = props;
  const { t } = useTranslation('common');
  const { submit, isPending, error } = useSubmit(props.onSubmit);
  const button = (
    <Button
      type="submit"
      loading={isPending}
      disabled={disabled}
      {...(danger && { color: 'red.9' })}
    >
      {action}
    </Button>
  );
  return (
    <form onSubmit={submit}>
      <Stack gap={props.gap ?? 'md'}>
        {error && problem(error)}
        {props.children}
        {wide ? (
          button
        ) : (
          <Group justify="flex-end" gap="sm">
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
