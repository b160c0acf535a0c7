import { Button, Group, Stack, Text } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PlainButton } from './styles.ts';
import { Modal } from './Dialog.tsx';
import { showFailure } from './Failure.tsx';

/** Asks before an action that cannot be undone. */
export function Confirm(props: {
  opened: boolean;
  title: string;
  children: ReactNode;
  /** Label of the button. */
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const { t } = useTranslation('common');
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try {
      await props.onConfirm();
      props.onClose();
    } catch (error) {
      showFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={props.title}>
      <Stack>
        <Text size="sm">{props.children}</Text>
        <Group justify="flex-end">
          <PlainButton onClick={props.onClose} data-autofocus>
            {t('cancel')}
          </PlainButton>
          <Button color="red" loading={busy} onClick={() => void go()}>
            {props.action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
