import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { PlainButton } from './styles.ts';
import { Modal } from './Dialog.tsx';
import { showFailure } from './Failure.tsx';
import { useTranslation } from '../i18n.ts';

/** Asks before an action that cannot be undone. */
export function Confirm(props: {
  opened: boolean;
  title: string;
  children: ReactNode;
  /** Label of the button. */
  action: string;
  /** Label of the other button; left out: Cancel. */
  keep?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const { t } = useTranslation('common');
  const confirm = useMutation({
    mutationFn: props.onConfirm,
    onSuccess: props.onClose,
    onError: showFailure,
  });
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={props.title}>
      <Stack>
        <Text size="sm">{props.children}</Text>
        <Group justify="flex-end">
          <PlainButton onClick={props.onClose} data-autofocus>
            {props.keep ?? t('cancel')}
          </PlainButton>
          <Button color="red" loading={confirm.isPending} onClick={() => confirm.mutate()}>
            {props.action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
