import { Modal } from '../../components/Dialog.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';

/** A new link to hand over, shown once. */
export function LinkMade(props: {
  title: string;
  /** Says that the link is shown once; `text` says what it is for. */
  once: string;
  text: string;
  link: string;
  what: string;
  onClose: () => void;
}) {
  const { title, once, text, link, what, onClose } = props;
  return (
    <Modal opened onClose={onClose} title={title}>
      <ShownOnce title={once} text={text} secret={link} what={what} />
    </Modal>
  );
}
