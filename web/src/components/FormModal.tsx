import { Button, Group, Stack } from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PlainButton } from './styles.ts';
import { Modal } from './Dialog.tsx';
import { Failure } from './Failure.tsx';

/** A form in a dialog. Stays open and shows the reason when the action fails. */
export function FormModal(props: {
  opened: boolean;
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
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const close = () => {
    setFailure(null);
    props.onClose();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      await props.onSubmit();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={props.opened} onClose={close} title={props.title}>
      <form onSubmit={(event) => void submit(event)} noValidate={false}>
        <Stack>
          {failure !== null && <Failure error={failure} />}
          {props.children}
          <Group justify="flex-end" gap="sm">
            <PlainButton onClick={close}>{t('cancel')}</PlainButton>
            <Button
              type="submit"
              loading={busy}
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
