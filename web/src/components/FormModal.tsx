import { Fragment, useState, type ReactNode } from 'react';
import { Modal } from './Dialog.tsx';
import { Failure } from './Failure.tsx';
import { Form } from './Form.tsx';

/** A form in a dialog. Stays open and shows the reason when the action fails. */
export function FormModal<Made>(props: {
  onClose: () => void;
  title: string;
  /** Label of the submit button. */
  submit: string;
  danger?: boolean;
  /** Label of the other button, which then has the focus first; left out: Cancel. */
  keep?: string;
  disabled?: boolean;
  onSubmit: () => Promise<Made>;
  /** Shown in place of the dialog after the action; left out: nothing. */
  made?: (made: Made) => ReactNode;
  children: ReactNode;
}) {
  const { onClose, title, submit, onSubmit, made, ...form } = props;
  const [shown, setShown] = useState<ReactNode>(null);
  const send = async () => {
    const reply = await onSubmit();
    if (made) setShown(made(reply));
    else onClose();
  };
  if (shown !== null) return <Fragment key="made">{shown}</Fragment>;
  return (
    <Modal opened onClose={onClose} title={title}>
      <Form
        {...form}
        onSubmit={send}
        action={submit}
        onCancel={onClose}
        inDialog
        problem={(error) => <Failure error={error} />}
      />
    </Modal>
  );
}
