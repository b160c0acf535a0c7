import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from '../i18n.ts';
import { FormModal } from './FormModal.tsx';

/** Asks before an action that cannot be undone; the other button has the focus first. */
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
  if (!props.opened) return null;
  return (
    <FormModal
      onClose={props.onClose}
      title={props.title}
      submit={props.action}
      keep={props.keep ?? t('cancel')}
      danger
      onSubmit={props.onConfirm}
    >
      <Text size="sm" component="div">
        {props.children}
      </Text>
    </FormModal>
  );
}
