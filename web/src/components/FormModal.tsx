import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PlainButton } from './styles.ts';
import { Modal } from './Dialog.tsx';
import { Failure } from './Failure.tsx';

/** A form in a dialog. Stays open and shows the reason when the action fails. */
export function FormModal(props: {
  onClose: () => void;
  title: string;
  /** Label of the submit button. */
  submit: string;
  danger?: boolean;
  disabled?: boolean;
  onSubmit: () => Promise<unknown>;
  children: ReactNode;
}) {
  const { t } = useTranslation('common');
  const send = useMutation({ mutationFn: props.onSubmit });
  const close = () => {
    send.reset();
    props.onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <Modal opened onClose={close} title={props.title}>
      <form onSubmit={submit} noValidate={false}>
        <Stack>
          {send.error && <Failure error={send.error} />}
          {props.children}
          <Group justify="flex-end" gap="sm">
            <PlainButton onClick={close}>{t('cancel')}</PlainButton>
            <Button
              type="submit"
              loading={send.isPending}
              disabled={props.disabled ?? false}
              color={props.danger ? 'red.9' : 'fare'}
            >
              {props.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
