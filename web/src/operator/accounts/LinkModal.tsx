import type { ReactNode } from 'react';
import { Modal } from '../../components/Dialog.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';

/** A form that makes a link, which is then shown once. */
export function LinkModal(props: {
  title: string;
  submit: string;
  make: () => Promise<{ link: string }>;
  /** Texts for the dialog with the link; `once` says that the link is shown only once. */
  made: { title: string; once: string; text: string; what: string };
  onClose: () => void;
  children: ReactNode;
}) {
  const { made, make, ...form } = props;
  const { title, once, ...shown } = made;
  return (
    <FormModal
      {...form}
      onSubmit={make}
      made={({ link }) => (
        <Modal opened onClose={form.onClose} title={title}>
          <ShownOnce title={once} secret={link} {...shown} />
        </Modal>
      )}
    />
  );
}
