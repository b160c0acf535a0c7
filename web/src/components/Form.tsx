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

/**
 * A value that is edited while somebody else may change it. It follows theirs until it is touched;
 * then it stays, and `isOther` says that theirs has become another one.
 */
export function useDraft<Value>(theirs: Value) {
  const [began, setBegan] = useState(theirs);
  const [value, setValue] = useState(theirs);
  const isChanged = !isSame(theirs, began);
  const isTouched = !isSame(value, began);
  const take = () => {
    setBegan(theirs);
    setValue(theirs);
  };
  if (isChanged && (!isTouched || isSame(value, theirs))) take();
  return { value, set: setValue, take, isOther: isChanged && isTouched };
}

/** Says that somebody else has changed what is edited here; nothing that was typed is lost. */
export function ForeignChange({ now, take }: { now: string; take: () => void }) {
  const { t } = useTranslation('common');
  return (
    <Alert color="yellow" role="alert">
      <Group gap="sm" justify="space-between">
        <span className="wrap">{t('changed_meanwhile', { now })}</span>
        <PlainButton size="xs" onClick={take}>
          {t('take_theirs')}
        </PlainButton>
      </Group>
    </Alert>
  );
}

/** Whether both are written the same. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
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
  /** Its buttons stand at the right, as in every dialog; on a page at the left. */
  inDialog?: boolean;
  /** Label of the other button, which then has the focus first; left out: Cancel. */
  keep?: string | undefined;
  /** A further button, left of the submit button. */
  aside?: ReactNode;
  inWords?: (error: unknown) => string;
  /** How the error is shown; left out: in words, without a title. */
  problem?: (error: Error) => ReactNode;
  gap?: StackProps['gap'];
  children: ReactNode;
}) {
  const { action, disabled = false, danger = false, wide, onCancel, inWords = messageOf } = props;
  const { inDialog = false, keep } = props;
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
          <Group gap="sm" {...(inDialog && { justify: 'flex-end' })}>
            {!inDialog && button}
            {onCancel && (
              <PlainButton onClick={onCancel} data-autofocus={keep !== undefined || undefined}>
                {keep ?? t('cancel')}
              </PlainButton>
            )}
            {props.aside}
            {inDialog && button}
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
